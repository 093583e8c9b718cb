"""verl's own trainer on a CPU: what a smoke run drives, and what stands where a GPU would."""
