"""Builds the BOSH release of the CPI; not part of the CPI itself."""
