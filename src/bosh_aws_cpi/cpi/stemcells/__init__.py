"""The verbs for stemcells."""
