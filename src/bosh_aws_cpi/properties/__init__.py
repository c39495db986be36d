"""Cloud properties and networks as manifests give them."""
