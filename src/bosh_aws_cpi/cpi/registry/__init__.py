"""Agent settings outside user_data, for old stemcells."""
