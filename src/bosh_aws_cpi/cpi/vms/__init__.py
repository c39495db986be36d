"""The verbs for VMs."""
