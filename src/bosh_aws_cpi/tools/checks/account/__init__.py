"""Checks what a cloud config names in AWS: that it exists, and fits. One listing for each kind of thing."""
