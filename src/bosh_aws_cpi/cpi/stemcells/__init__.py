"""The methods for stemcells."""
