"""Facts about instance types without a call to EC2."""

from collections.abc import Iterable

from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.model import Image, InstanceTypeFacts
from bosh_aws_cpi.plan import type_table

XEN_FAMILIES = frozenset(
    {"c1", "c3", "c4", "cc1", "cc2", "cg1", "cr1", "d2", "f1", "g2", "g3", "g3s", "h1", "hi1", "hs1"}
    | {"i2", "i3", "m1", "m2", "m3", "m4", "p2", "p3", "r3", "r4", "t1", "t2", "x1", "x1e"}
)
"""The families that run on Xen, where a guest sees an EBS volume under its device name.

From the "instances built on the Nitro System" page of the EC2 user guide, by exclusion: AWS has
introduced no Xen type since 2018, so the list is complete, and all other families run on Nitro. The
bare-metal sizes of these families (i3.metal) are Nitro, too.
"""

_STORE_FAMILIES = frozenset(
    {"c1", "c3", "c6id", "cc2", "cg1", "cr1", "d2", "g2", "hi1", "hs1", "i2", "i3", "i3en", "i4i"}
    | {"m1", "m2", "m3", "m6id", "m6idn", "r3", "r6id", "r6idn", "x1"}
)
"""The families for which the Ruby CPI's default ephemeral disk has the size of an instance-store disk.

Replacing that release must not change the disk of any VM. As there, all other types have 10 GiB, also those
of `_LATER_SIZES`, which the Ruby CPI does not know.
"""
_LATER_SIZES = frozenset({"i4i.12xlarge", "i4i.24xlarge"})
_D2_GIB = 2000
"""What the Ruby CPI gives all D2 types; EC2 says 2048."""

DEFAULT_EPHEMERAL_GIB = 10


def tabled_facts(name: str) -> InstanceTypeFacts | None:
    """The facts about a type from the built-in table; None for a type that it lacks."""
    if (row := type_table.row(name)) is None:
        return None
    return InstanceTypeFacts(name, row[1], frozenset(row[0].split()), *row[2:])  # in the order of the fields


def static_facts(name: str) -> InstanceTypeFacts:
    """The facts about a type without EC2: from the built-in table, or derived from its name."""
    family, _, size = name.partition(".")
    is_nitro = family not in XEN_FAMILIES or size == "metal"
    return tabled_facts(name) or InstanceTypeFacts(name, ebs_needs_nvme_path=is_nitro)


def default_ephemeral_gib(of_type: InstanceTypeFacts, *, is_store_raw: bool = False) -> int:
    """The size of the ephemeral disk when the manifest gives none, in GiB.

    Args:
        of_type: The instance type.
        is_store_raw: Whether the agent gets the raw disks of the instance store: then the ephemeral
            disk is not a substitute for the instance store.
    """
    family, _, size = of_type.name.partition(".")
    is_later = size == "metal" or of_type.name in _LATER_SIZES
    if is_store_raw or is_later or family not in _STORE_FAMILIES:
        return DEFAULT_EPHEMERAL_GIB
    return _D2_GIB if family == "d2" else of_type.store_gib or DEFAULT_EPHEMERAL_GIB


def check_common_architecture(types: Iterable[InstanceTypeFacts]) -> None:
    """Check that some AMI can run on each of a VM's types, if the AMI is not known.

    Raises:
        CloudError: None can.
    """
    known = {each.name: each.architectures for each in types if each.architectures}
    if known and not frozenset.intersection(*known.values()):
        listed = (f"'{name}' runs {' and '.join(sorted(its))}" for name, its in known.items())
        raise CloudError(f"no stemcell fits all of the VM's types: {', '.join(listed)}")


def check_image(image: Image, of_type: InstanceTypeFacts) -> None:
    """Check that a type can run an AMI; EC2 checks what the CPI does not know of the two.

    Raises:
        CloudError: It can't (EC2 user guide, "Boot modes" and "Requirements for using NitroTPM").
    """
    name = f"instance type '{of_type.name}'"
    if of_type.architectures and image.architecture and image.architecture not in of_type.architectures:
        what = f"is for {image.architecture}, but {name} runs {' and '.join(sorted(of_type.architectures))}"
    elif (modes := of_type.boot_modes) and image.boot_mode not in {"", "uefi-preferred", *modes}:
        what = f"needs the boot mode {image.boot_mode}, but {name} has only {' and '.join(modes)}"
    elif image.has_tpm and of_type.lacks_tpm:
        what = f"needs a NitroTPM, which {name} lacks"
    else:
        return
    raise CloudError(f"AMI '{image.ami_id}' {what}: use a matching type or stemcell")
