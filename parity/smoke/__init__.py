"""Short training runs of both sides, compared step by step."""
