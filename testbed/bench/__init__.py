"""The benchmark: `python -m testbed.bench`; docs/performance.md says how to read it."""
