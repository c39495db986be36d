"""The methods for VMs."""
