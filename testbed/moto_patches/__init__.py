"""The corrections of moto: where it differs from EC2, and what EC2 does.

The program under test is written for EC2 and makes no allowance for moto, so moto is
corrected here, with one small function for each difference. The function's docstring says
what EC2 does and what moto did.
"""

from importlib import import_module

from testbed.moto_patches.patching import install

MODULES = """
    filters identifiers tags addresses prefixes groups interfaces elastic routes subnets volumes
    modifications snapshots ebs_direct copies sharing images launch network_cards termination options
    placement reserved_markets quotas requests launch_templates idempotency balancers console_and_acls dry_run
"""
"""In the order of installation: a later patch of a method wraps the earlier ones."""


def apply() -> None:
    """Correct the moto of this process. Call it once, before moto serves."""
    for name in MODULES.split():
        for patch in import_module(f"{__name__}.{name}").PATCHES:
            install(patch)
