"""The parity harness: run two branches side by side, compare what they send, build and learn."""
