"""The parts of `cpi diagnose`; all are pure."""
