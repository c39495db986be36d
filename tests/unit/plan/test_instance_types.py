"""What is known of instance types without asking EC2."""

from functools import partial

import pytest
from botocore.loaders import create_loader

from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.model import Image, InstanceTypeFacts
from bosh_aws_cpi.plan.instance_types import (
    check_image,
    default_ephemeral_gib,
    static_facts,
)
from bosh_aws_cpi.plan.type_table import names

FIRST_DISK_GIB = """
m1.small 160  m1.medium 410  m1.large 420  m1.xlarge 420  c1.medium 350  c1.xlarge 420  cc2.8xlarge 840
cg1.4xlarge 840  m2.xlarge 420  m2.2xlarge 850  m2.4xlarge 840  cr1.8xlarge 120  hi1.4xlarge 1024
hs1.8xlarge 2000  m3.medium 4  m3.large 32  m3.xlarge 40  m3.2xlarge 80
c3.large 16  c3.xlarge 40  c3.2xlarge 80  c3.4xlarge 160  c3.8xlarge 320
r3.large 32  r3.xlarge 80  r3.2xlarge 160  r3.4xlarge 320  r3.8xlarge 320
g2.2xlarge 60  g2.8xlarge 120  i2.xlarge 800  i2.2xlarge 800  i2.4xlarge 800  i2.8xlarge 800
i3.large 475  i3.xlarge 950  i3.2xlarge 1900  i3.4xlarge 1900  i3.8xlarge 1900  i3.16xlarge 1900
i3en.large 1250  i3en.xlarge 2500  i3en.2xlarge 2500  i3en.3xlarge 7500  i3en.6xlarge 7500
i3en.12xlarge 7500  i3en.24xlarge 7500  i4i.large 468  i4i.xlarge 937  i4i.2xlarge 1875  i4i.4xlarge 3750
i4i.8xlarge 3750  i4i.16xlarge 3750  i4i.32xlarge 3750  d2.xlarge 2000  d2.2xlarge 2000  d2.4xlarge 2000
d2.8xlarge 2000  x1.16xlarge 1920  x1.32xlarge 1920
"""
SIXTH_GENERATION_GIB = (
    *(("large", 118), ("xlarge", 237), ("2xlarge", 474), ("4xlarge", 950), ("8xlarge", 1900)),
    *(("12xlarge", 1425), ("16xlarge", 1900), ("24xlarge", 1425), ("32xlarge", 1900)),
)
_WORDS = FIRST_DISK_GIB.split()
GOLDEN = [
    *((name, int(size)) for name, size in zip(_WORDS[::2], _WORDS[1::2], strict=True)),
    *(
        (f"{family}.{name}", size)
        for family in ("m6id", "m6idn", "c6id", "r6id", "r6idn")
        for name, size in SIXTH_GENERATION_GIB
    ),
]


def test_default_ephemeral_size() -> None:
    """The types that have always had a larger default keep it: no VM's disk changes with the release."""
    assert {name: default_ephemeral_gib(static_facts(name)) for name, _ in GOLDEN} == dict(GOLDEN)


@pytest.mark.parametrize(
    "name",
    [
        *("m5.large", "m5d.large", "i3.metal", "i4g.large", "m6id.metal", "i4i.12xlarge", "nonsense", "i3"),
    ],
)
def test_other_ephemeral_sizes(name: str) -> None:
    """Every other type has 10 GiB, those with an instance store too."""
    assert default_ephemeral_gib(static_facts(name)) == 10


@pytest.mark.parametrize(
    ("name", "nvme"),
    [
        *(("m5.large", True), ("p3dn.24xlarge", True), ("i3.metal", True), ("not-made-yet.large", True)),
        *(("t1.micro", False), ("m4.large", False), ("i3.large", False), ("p3.2xlarge", False)),
    ],
)
def test_nvme_paths(name: str, *, nvme: bool) -> None:
    """EBS volumes have NVMe names on every type but the Xen ones, of which the metal sizes are Nitro."""
    assert static_facts(name).ebs_needs_nvme_path is nvme


INTEL = frozenset({"x86_64"})
nitro = partial(InstanceTypeFacts, ebs_needs_nvme_path=True)
xen = partial(InstanceTypeFacts, ebs_needs_nvme_path=False)


@pytest.mark.parametrize(
    "facts",
    [
        nitro("t4g.micro", architectures=frozenset({"arm64"}), is_burstable=True),
        xen("i3.large", architectures=INTEL, store_disks=1, store_gib=475, store_is_nvme=True),
        xen("d2.xlarge", architectures=INTEL, store_disks=3, store_gib=2048),
        xen("c3.xlarge", architectures=INTEL, ebs_optimized="supported", store_disks=2, store_gib=40),
        xen("t2.micro", architectures=INTEL | {"i386"}, ebs_optimized="unsupported", is_burstable=True),
    ],
    ids=lambda facts: facts.name,
)
def test_facts_of_the_table(facts: InstanceTypeFacts) -> None:
    """The built-in table knows of a type what EC2 would say."""
    assert static_facts(facts.name).replace(max_ebs_attachments=0) == facts


@pytest.mark.parametrize("name", ["not-made-yet.large", "", "]\n[", "m5.", "c5.large c5a.large"])
def test_types_of_no_table(name: str) -> None:
    """A type that is in no table counts as Nitro; EC2 knows the rest."""
    assert static_facts(name) == nitro(name)


def test_types_that_ec2_lists_no_more() -> None:
    """The table has types that EC2 no longer describes, and each type once."""
    assert len(names()) == len({*names()})
    assert static_facts("g2.8xlarge") == xen(
        "g2.8xlarge", architectures=INTEL, ebs_optimized="unsupported", store_disks=2, store_gib=120
    )
    assert static_facts("hs1.8xlarge") == xen("hs1.8xlarge", store_disks=24, store_gib=2000)


def test_types_that_no_table_has() -> None:
    """The table has every type that botocore names, but those that no source describes."""
    shapes = create_loader().load_service_model("ec2", "service-2")["shapes"]
    unknown = set(shapes["InstanceType"]["enum"]).difference(names())
    assert unknown <= {"cc1.4xlarge", "m9g.metal-24xl", "m9gd.metal-24xl", "u7ib-12tb.224xlarge"}


def image(architecture: str) -> Image:
    """Describe an AMI."""
    return Image("ami-1", "/dev/xvda", "hvm", architecture, ["/dev/xvda"], ["snap-1"])


@pytest.mark.parametrize(
    ("architecture", "runs"),
    [
        *(("i386", {"i386", "x86_64"}), ("arm64", {"arm64"}), ("arm64", set()), ("", {"x86_64"})),
    ],
)
def test_architecture_that_fits(architecture: str, runs: set[str]) -> None:
    """A type takes the AMIs of its architectures; what is not known is left to EC2."""
    facts = InstanceTypeFacts("m5.large", ebs_needs_nvme_path=True, architectures=frozenset(runs))
    check_image(image(architecture), facts)
    others = {"x86_64", "i386", "arm64", "x86_64_mac"} - runs if runs else set()
    for other in others:
        with pytest.raises(CloudError):
            check_image(image(other), facts)
