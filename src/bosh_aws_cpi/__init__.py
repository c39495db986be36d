"""The AWS CPI for BOSH: one process per call, JSON on stdin, JSON on stdout."""
