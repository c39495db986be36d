"""What is known of instance types without asking EC2."""

import pytest

from bosh_aws_cpi.model import InstanceTypeFacts
from bosh_aws_cpi.plan.instance_types import default_ephemeral_gib, static_facts

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
    assert {name: default_ephemeral_gib(name) for name, _ in GOLDEN} == dict(GOLDEN)


@pytest.mark.parametrize(
    "name",
    [
        *("m5.large", "c5d.large", "m5d.large", "g4dn.xlarge", "t3.micro", "i3.metal", "i4g.large"),
        *("m6id.metal", "x1e.xlarge", "nonsense", "i3", "", "i3.large.extra"),
    ],
)
def test_other_ephemeral_sizes(name: str) -> None:
    """Every other type has 10 GiB, those with an instance store too."""
    assert default_ephemeral_gib(name) == 10


@pytest.mark.parametrize(
    ("name", "nvme"),
    [
        *(("m5.large", True), ("t3.micro", True), ("c5d.large", True), ("i3en.large", True)),
        *(("m6id.large", True), ("p3dn.24xlarge", True), ("u-6tb1.metal", True), ("m7i-flex.large", True)),
        *(("a1.medium", True), ("i3.metal", True), ("x2idn.16xlarge", True), ("not-made-yet.large", True)),
        *(("t1.micro", False), ("t2.nano", False), ("m4.large", False), ("m3.medium", False)),
        *(("c4.large", False), ("r4.large", False), ("i3.large", False), ("i2.xlarge", False)),
        *(("d2.xlarge", False), ("g3s.xlarge", False), ("p3.2xlarge", False), ("f1.2xlarge", False)),
        *(("h1.2xlarge", False), ("x1e.xlarge", False)),
    ],
)
def test_static_facts(name: str, *, nvme: bool) -> None:
    """EBS volumes have NVMe names on every type but the Xen ones, of which the metal sizes are Nitro."""
    assert static_facts(name) == InstanceTypeFacts(name, ebs_needs_nvme_path=nvme)
