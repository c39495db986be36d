"""The verbs for persistent disks."""
