"""Decisions: values in, values out. No I/O, no clock, no randomness, no AWS SDK."""
