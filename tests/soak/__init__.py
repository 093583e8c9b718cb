"""Long runs: the laws under random layouts, trees, histories and bytes; and `infer` on public histories."""
