"""Stands in for what no CPU runs: vLLM, Ray and CUDA. The client and server code in between is the real one."""
