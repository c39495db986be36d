"""The launch options that not every instance type supports."""

from typing import Literal

TypeOption = Literal[
    "bandwidth_weighting",
    "cpu_options.amd_sev_snp",
    "cpu_options.nested_virtualization",
    "enclave",
    "hibernation",
    "placement_partition",
    "primary_ipv6",
    "spread",
]
"""The name of the cloud property that asks for the option."""
