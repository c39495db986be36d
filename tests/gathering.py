"""What create_vm asks before it creates anything: one list for the stories and the scenarios of faults."""

from typing import Final

FIRST: Final = ("DescribeImages", "DescribeInstanceTypes", "DescribeSubnets")
"""Whatever the VM is."""
GATHERED: Final = (*FIRST, "DescribeSecurityGroups")
"""For a VM without special properties."""
