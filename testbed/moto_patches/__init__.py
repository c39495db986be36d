"""The corrections of moto: where it differs from EC2, and what EC2 does.

The program under test is written for EC2 and makes no allowance for moto, so moto is
corrected here, with one small function for each difference. The function's docstring says
what EC2 does and what moto did.
"""

from importlib import import_module

from testbed.moto_patches.patching import Patch, install

MODULES = """
    filters identifiers tags addresses prefixes groups interfaces elastic routes subnets volumes
    modifications snapshots ebs_direct copies sharing images launch network_cards termination options
    placement reserved_markets quotas requests launch_templates idempotency balancers console_and_acls dry_run
"""
"""In the order of installation: a later patch of a method wraps the earlier ones."""


def apply() -> list[Patch]:
    """Correct the moto of this process. Call it once, before moto serves.

    Returns:
        The patches, in the order in which they were installed.
    """
    modules = [import_module(f"{__name__}.{name}") for name in MODULES.split()]
    patches = [patch for module in modules for patch in module.PATCHES]
    for patch in patches:
        install(patch)
    return patches
