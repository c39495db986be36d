"""The methods, by BOSH noun. Each reads as parse, gather, plan, apply."""
