"""The gate: proof, static parity and short training runs, cheapest first, to one verdict."""
