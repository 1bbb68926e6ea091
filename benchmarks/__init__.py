"""Measurements that the documentation quotes; run with ``python -m benchmarks.<name>``."""
