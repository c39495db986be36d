"""The benchmark: `python -m testbed.bench` measures the executable beside two yardsticks.

Nothing here is needed by tests; docs/performance.md says how to read what comes out.
"""
