"""Facts about instance types without a call to EC2."""

from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.model import Image, InstanceTypeFacts

XEN_FAMILIES = frozenset(
    {"c1", "c3", "c4", "cc1", "cc2", "cg1", "cr1", "d2", "f1", "g2", "g3", "g3s", "h1", "hi1", "hs1"}
    | {"i2", "i3", "m1", "m2", "m3", "m4", "p2", "p3", "r3", "r4", "t1", "t2", "x1", "x1e"}
)
"""The families that run on Xen, where a guest sees an EBS volume under its device name.

From the "instances built on the Nitro System" page of the EC2 user guide, by exclusion: AWS has
introduced no Xen type since 2018, so the list is complete, and all other families run on Nitro. The
bare-metal sizes of these families (i3.metal) are Nitro, too.
"""

_SIXTH_GENERATION = {
    "large": 118,
    "xlarge": 237,
    "2xlarge": 474,
    "4xlarge": 950,
    "8xlarge": 1900,
    "12xlarge": 1425,
    "16xlarge": 1900,
    "24xlarge": 1425,
    "32xlarge": 1900,
}

_FIRST_INSTANCE_STORE_GIB = {
    "m1": {"small": 160, "medium": 410, "large": 420, "xlarge": 420},
    "c1": {"medium": 350, "xlarge": 420},
    "cc2": {"8xlarge": 840},
    "cg1": {"4xlarge": 840},
    "m2": {"xlarge": 420, "2xlarge": 850, "4xlarge": 840},
    "cr1": {"8xlarge": 120},
    "hi1": {"4xlarge": 1024},
    "hs1": {"8xlarge": 2000},
    "m3": {"medium": 4, "large": 32, "xlarge": 40, "2xlarge": 80},
    "c3": {"large": 16, "xlarge": 40, "2xlarge": 80, "4xlarge": 160, "8xlarge": 320},
    "r3": {"large": 32, "xlarge": 80, "2xlarge": 160, "4xlarge": 320, "8xlarge": 320},
    "g2": {"2xlarge": 60, "8xlarge": 120},
    "i2": {"xlarge": 800, "2xlarge": 800, "4xlarge": 800, "8xlarge": 800},
    "i3": {"large": 475, "xlarge": 950, "2xlarge": 1900, "4xlarge": 1900, "8xlarge": 1900, "16xlarge": 1900},
    "i3en": {
        "large": 1250,
        "xlarge": 2500,
        "2xlarge": 2500,
        "3xlarge": 7500,
        "6xlarge": 7500,
        "12xlarge": 7500,
        "24xlarge": 7500,
    },
    "i4i": {
        "large": 468,
        "xlarge": 937,
        "2xlarge": 1875,
        "4xlarge": 3750,
        "8xlarge": 3750,
        "16xlarge": 3750,
        "32xlarge": 3750,
    },
    "d2": {"xlarge": 2000, "2xlarge": 2000, "4xlarge": 2000, "8xlarge": 2000},
    "x1": {"16xlarge": 1920, "32xlarge": 1920},
    "m6id": _SIXTH_GENERATION,
    "m6idn": _SIXTH_GENERATION,
    "c6id": _SIXTH_GENERATION,
    "r6id": _SIXTH_GENERATION,
    "r6idn": _SIXTH_GENERATION,
}
"""Size of the first instance-store disk by family and size.

It lists only the types for which the Ruby CPI's default ephemeral disk has the size of the instance store:
replacing that release must not change the disk of any VM. As there, all other types have 10 GiB.
"""

DEFAULT_EPHEMERAL_GIB = 10


def tabled_facts(name: str) -> InstanceTypeFacts | None:
    """The facts about a type from the built-in tables; None for a type that is in neither."""
    from bosh_aws_cpi.plan import type_table  # noqa: PLC0415 - not needed where EC2 answers

    if (row := type_table.facts(name)) is None:
        from bosh_aws_cpi.plan.unlisted_instance_types import UNLISTED_TYPES  # noqa: PLC0415 - seldom needed

        if (row := UNLISTED_TYPES.get(name)) is None:
            return None
    return InstanceTypeFacts(
        name,
        ebs_needs_nvme_path=row[1],
        architectures=frozenset(row[0].split()),
        ebs_optimized=row[2],
        is_burstable=row[3],
        store_disks=row[4],
        store_gib=row[5],
        store_is_nvme=row[6],
        max_ebs_attachments=row[7],
    )


def static_facts(name: str) -> InstanceTypeFacts:
    """The facts about a type without EC2: from the built-in tables, or derived from its name."""
    if (tabled := tabled_facts(name)) is not None:
        return tabled
    family, _, size = name.partition(".")
    return InstanceTypeFacts(name, ebs_needs_nvme_path=family not in XEN_FAMILIES or size == "metal")


def default_ephemeral_gib(name: str, *, is_store_raw: bool = False) -> int:
    """The size of the ephemeral disk when the manifest gives none, in GiB.

    Args:
        name: The instance type.
        is_store_raw: Whether the agent gets the raw disks of the instance store: then the ephemeral
            disk is not a substitute for the instance store.
    """
    family, _, size = name.partition(".")
    if is_store_raw:
        return DEFAULT_EPHEMERAL_GIB
    return _FIRST_INSTANCE_STORE_GIB.get(family, {}).get(size, DEFAULT_EPHEMERAL_GIB)


def check_architecture(image: Image, facts: InstanceTypeFacts) -> None:
    """Check that a type can run an AMI; if an architecture is unknown, EC2 checks it.

    Raises:
        CloudError: The AMI is for another architecture.
    """
    if facts.architectures and image.architecture and image.architecture not in facts.architectures:
        message = (
            f"AMI '{image.ami_id}' is for {image.architecture}, but instance type '{facts.name}' runs "
            f"{' and '.join(sorted(facts.architectures))}: use a matching type or stemcell"
        )
        raise CloudError(message)
