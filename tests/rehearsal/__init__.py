"""The product's main job on the branches that `porttool vendor sync verl` makes of the pinned package."""
