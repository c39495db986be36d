"""create_vm: parse, gather, plan, apply."""
