"""One module per verb: `EXAMPLE`, `arguments(parser)` and `run(args) -> exit code`."""
