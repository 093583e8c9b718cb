"""Carries commits between two layouts of one code base, and proves it."""

__version__ = "0.1.0"
