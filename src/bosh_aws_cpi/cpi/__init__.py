"""The verbs, by BOSH noun. Each reads as parse, gather, plan, apply."""
