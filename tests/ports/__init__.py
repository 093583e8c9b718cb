"""Human ports across a layout difference, done again by the engine: `python -m tests.ports FOLDER`."""
