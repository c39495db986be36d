"""The rules of the Director and of bosh-cli, which change with BOSH and not with the CPI."""
