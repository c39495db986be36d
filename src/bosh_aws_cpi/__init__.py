"""The AWS CPI for BOSH: one process per call, JSON on stdin, JSON on stdout."""

VERSION = "200.0.0"
"""The same version as in pyproject.toml: a release has no metadata of the package."""
