"""Faults put into the ported target on purpose: each must be caught with its cause, each control must stay silent."""
