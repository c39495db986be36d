"""What makes a BOSH release of the CPI; no part of the CPI itself."""
