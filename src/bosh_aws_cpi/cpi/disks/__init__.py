"""The methods for persistent disks."""
