"""Which figures a type of EBS volume takes."""

import pytest

from bosh_aws_cpi.plan.ebs import EbsVolume, Origin, of_disk, problems
from bosh_aws_cpi.properties.disk import DiskProperties

Case = tuple[str, int | None, int | None]
OPENING = "EBS would refuse the disk: cloud_properties."


def refusal(
    volume_type: str, iops: int | None, throughput: int | None, size_gib: int | None = None
) -> str | None:
    """Return why a disk would be refused, without the message's opening."""
    volume = EbsVolume(volume_type, iops, throughput, size_gib)
    found = [each.text.removeprefix(OPENING) for each in problems(volume, "disk", Origin("cloud_properties"))]
    return next(iter(found), None)


@pytest.mark.parametrize(
    "given",
    [
        *((name, None, None) for name in ("gp2", "gp3", "st1", "sc1", "standard", "not-made-yet")),
        *(("gp3", 3000, 125), ("gp3", None, 750), ("gp3", 8000, 2000)),
        *(("io1", 100, None), ("io2", 100, None), ("io2", 256_000, None)),
    ],
)
def test_taken(given: Case) -> None:
    """Values up to the border of each rule are accepted; an unknown type is left to EBS."""
    assert refusal(*given) is None


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (("gp2", 3000, None), "iops can't be set for type gp2"),
        (("io2", 500, 125), "throughput can't be set for type io2"),
        (("io1", None, None), "iops is needed for type io1"),
        (("gp3", 2999, None), "iops is 2999, but type gp3 needs at least 3000"),
        (("io1", 99, None), "iops is 99, but type io1 needs at least 100"),
        (("io2", 99, None), "iops is 99, but type io2 needs at least 100"),
        (("gp3", None, 124), "throughput is 124 MiB/s, but type gp3 needs at least 125"),
        (("gp3", None, 751), "throughput of 751 MiB/s needs 3004 iops, but there are only 3000"),
        (("gp3", 80_000, 2001), "throughput is 2001 MiB/s, but type gp3 allows at most 2000"),
    ],
)
def test_refused(given: Case, reason: str) -> None:
    """Values that EBS would refuse are named, with the border."""
    assert str(refusal(*given)).startswith(reason)


@pytest.mark.parametrize(
    ("volume_type", "size", "most"),
    [
        *(("gp3", 1, 3000), ("gp3", 6, 3000), ("gp3", 7, 3500), ("gp3", 160, 80_000)),
        *(("io1", 4, 200), ("io1", 100, 5000)),
        *(("io2", 4, 4000), ("io2", 256, 256_000)),
    ],
)
def test_iops_for_the_size(volume_type: str, size: int, most: int) -> None:
    """A volume takes so many iops per GiB; gp3 has its baseline at any size."""
    assert refusal(volume_type, most, None, size) is None
    reason = str(refusal(volume_type, most + 1, None, size))
    assert all(text in reason for text in (f"iops is {most + 1}", f"{size} GiB", volume_type, f"most {most}"))
    assert refusal(volume_type, most + 1, None) is None


@pytest.mark.parametrize(
    ("given", "least"),
    [
        *((("io1", 200, None), 4), (("io2", 200, None), 4)),
        *(((name, None, None), 125) for name in ("st1", "sc1")),
    ],
)
def test_least_size(given: Case, least: int) -> None:
    """A volume is refused below its type's smallest size; a size that is not known is left to EBS."""
    assert refusal(*given, least) is None
    assert refusal(*given) is None
    reason = f"type {given[0]} needs a size of at least {least} GiB, not {least - 1}"
    assert str(refusal(*given, least - 1)).startswith(reason)


@pytest.mark.parametrize(
    ("volume", "inherited", "begin", "end"),
    [
        (EbsVolume("st1", size_gib=10), {"size"}, "own.type", "(size comes from default.size)"),
        (EbsVolume("gp3", 200), {"type", "size"}, "own.iops", "(type comes from default.type)"),
        (EbsVolume("io1", 600, None, 10), {"type", "size"}, "own.iops", "size comes from default.size)"),
        (EbsVolume("io1", 600, None, 10), {"type", "iops"}, "default.iops", "give the VM its own own.iops"),
    ],
)
def test_inherited(volume: EbsVolume, inherited: set[str], begin: str, end: str) -> None:
    """A property that comes from a default is named as such, whether it is wrong itself or beside another."""
    (found,) = problems(volume, "disk", Origin("own", "default", inherited))
    assert found.text.startswith(f"EBS would refuse the disk: {begin}")
    assert found.text.endswith(end)


@pytest.mark.parametrize(
    ("inherited", "key"),
    [(set(), "root_disk.type"), ({"type"}, "root_disk.size"), ({"type", "size"}, "root_disk.type")],
)
def test_blamed(inherited: set[str], key: str) -> None:
    """The blame is on the wrong property, or on one of the VM's own that does not fit a default."""
    origin = Origin("cloud_properties.root_disk", "aws.default_root_disk", inherited)
    assert [each.key for each in problems(EbsVolume("st1", size_gib=10), "root disk", origin)] == [key]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (("gp3", None, None), {"Iops": 3000, "Throughput": 125}),
        (("gp3", None, 1000), {"Iops": 4000, "Throughput": 1000}),
        (("gp3", 5000, 1000), {"Iops": 5000, "Throughput": 1000}),
        (("io2", 500, None), {"Iops": 500}),
        *(((name, None, None), {}) for name in ("gp2", "st1", "standard", "not-made-yet")),
    ],
)
def test_figures(given: Case, expected: dict[str, int]) -> None:
    """A gp3 volume has figures that are not given: EBS's baseline, and what its throughput takes."""
    assert EbsVolume(*given).figures() == expected


def test_ratio_without_a_size() -> None:
    """Without a size the iops of a ratio are not known, and the rules about them wait for one."""
    given = DiskProperties(iops_per_gib=10, throughput=1000)
    (refused,) = problems(of_disk(given, 399), "disk", Origin("cloud_properties"))
    assert "1000 MiB/s needs 4000 iops, but there are only 3990" in refused.text
    for size_gib in (None, 400):
        assert [*problems(of_disk(given, size_gib), "disk", Origin("cloud_properties"))] == []


@pytest.mark.parametrize(
    ("properties", "reason"),
    [
        ({"iops_per_gib": 501}, "iops_per_gib is 501, but type gp3 allows at most 500"),
        ({"type": "gp2", "iops_per_gib": 1}, "iops_per_gib can't be set for type gp2"),
        ({"type": "io1", "iops_per_gib": 50}, ""),
    ],
)
def test_ratio_of_a_default(properties: dict[str, object], reason: str) -> None:
    """The rules about the type and the ratio need no size."""
    volume = of_disk(DiskProperties.parse(properties), None)
    texts = [each.text for each in problems(volume, "disk", Origin("cloud_properties"))]
    assert [each.startswith(OPENING + reason) for each in texts] == [True] * bool(reason)
