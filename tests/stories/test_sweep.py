"""`cpi sweep` lists leaked resources, deletes them on request, and touches nothing else."""

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from testbed.cloud import FakeAws
from testbed.executable import DIRECTOR_UUID, Cpi
from testbed.killing import act_at, interrupt_at
from testbed.rules import REQUEST_ID
from testbed.world import World
from tests.stories.operators import (
    ALIVE,
    ANY_AGE,
    GONE,
    METADATA,
    OTHER_DIRECTOR,
    SPREAD,
    Sweep,
    TaggedResources,
)
from tests.stories.stemcell_images import Heavy

READS = {
    "DescribeImages",
    "DescribeInstances",
    "DescribeNetworkInterfaces",
    "DescribePlacementGroups",
    "DescribeSnapshots",
    "DescribeSubnets",
    "DescribeVolumes",
}
GROUP = f"bosh-{DIRECTOR_UUID}-{SPREAD['bosh_spread_group']}"
PAGE = Path(__file__).parents[2] / "docs/sweep.md"
REFUSED = {"code": "UnauthorizedOperation", "message": "You may not.", "status": 403}


def test_listed(tagged: TaggedResources, sweep: Sweep, fake_aws: FakeAws, world: World) -> None:
    """Each stray is listed, nothing that only looks like one is, and nothing is changed."""
    tagged.disguise()
    ids = tagged.fill()
    before = world.state()
    answer = sweep(*ANY_AGE)
    printed = answer.stdout.decode().splitlines()
    lines = [line.split()[:2] for line in printed if not line.startswith(" ")]
    assert lines == [
        ["KIND", "ID"],
        ["AMI", ids["failed image"]],
        ["AMI", ids["image"]],
        ["snapshot", ids["snapshot of the failed image"]],
        ["snapshot", ids["snapshot"]],
        ["snapshot", ids["snapshot of a copy"]],
        ["snapshot", ids["snapshot of a volume"]],
        ["volume", ids["disk"]],
        ["volume", ids["upload"]],
        ["volume", ids["volume"]],
        ["interface", ids["interface"]],
        ["interface", ids["somebody's interface"]],
        ["placement", "group"],
        ["instance", ids["instance"]],
        [],
        ["13", "listed,"],
        ["Looked", "at"],
    ]
    assert (answer.returncode, answer.stderr) == (1, "")
    assert set(fake_aws.actions()) == READS
    assert world.state() == before


def test_removed(tagged: TaggedResources, sweep: Sweep, fake_aws: FakeAws, world: World) -> None:
    """Certain strays are deleted: volumes by name, interfaces in the second run; all else is kept."""
    tagged.disguise()
    spared = world.state()
    ids = tagged.fill()
    doubtful = (ids["image"], ids["snapshot of a volume"])
    gone = ("failed image", "snapshot of the failed image", "snapshot", "snapshot of a copy")
    marked = [ids[name] for name in ("interface", "placement group")]
    disks = [ids[name] for name in ("disk", "upload", "volume")]
    assert sweep.outcomes("--delete", *ANY_AGE) == {
        **dict.fromkeys((ids[name] for name in gone), "removed"),
        **dict.fromkeys(doubtful, "left to you"),
        ids["instance"]: "left to you: name it with --instance",
        **dict.fromkeys((*marked, ids["somebody's interface"]), "marked"),
        **dict.fromkeys(disks, "left to you: name it with --disk"),
    }
    called = set(fake_aws.actions())
    named = [word for disk in disks for word in ("--disk", disk)]
    assert sweep.outcomes("--delete", *named, "--instance", ids["instance"], *ANY_AGE) == {
        **dict.fromkeys((*doubtful, ids["somebody's interface"]), "left to you"),
        **dict.fromkeys((*marked, *disks, ids["instance"]), "removed"),
    }
    told = set(re.findall(r"ec2:(\w+)", PAGE.read_text()))
    assert told == called | set(fake_aws.actions())
    world.ec2.deregister_image(ImageId=ids["image"])
    world.ec2.delete_snapshot(SnapshotId=ids["snapshot of a volume"])
    world.ec2.delete_network_interface(NetworkInterfaceId=ids["somebody's interface"])
    assert list(sweep.outcomes("--delete", *ANY_AGE, status=0).values()) == ["removed"]  # the AMI's snapshot
    assert world.state() == spared


def test_too_young(tagged: TaggedResources, sweep: Sweep, world: World) -> None:
    """A stray of any kind that is younger than a day, or was marked in the last one, is listed and kept."""
    ids = tagged.fill()
    before = world.state()
    young = dict.fromkeys(ids.values(), "too young")
    unmarked = {ids["interface"], ids["somebody's interface"], ids["placement group"]}
    assert sweep.outcomes(status=0) == {**young, **dict.fromkeys(unmarked, "age unknown")}
    named = ("--delete", "--disk", ids["disk"])
    assert sweep.outcomes(*named, status=0) == {**young, **dict.fromkeys(unmarked, "marked")}
    assert sweep.outcomes(*named, status=0) == young
    assert world.state() == before


def test_beside_create_stemcell(heavy: Heavy, sweep: Sweep, fake_aws: FakeAws) -> None:
    """The snapshot that a running create_stemcell writes is no stray, of whatever age."""

    def sweep_all() -> None:
        assert sweep.outcomes("--delete", *ANY_AGE, status=0) == {}

    act_at(fake_aws, heavy.start, sweep_all, action="CompleteSnapshot").ok()


def test_nothing(tagged: TaggedResources, sweep: Sweep) -> None:
    """Without strays, the report says where it looked; a warning says if no resource has the tag."""
    answer = sweep("--json")
    assert "No resource has the tag of director" in answer.stderr
    assert "UUID, region (us-east-1) or account may be wrong" in answer.stderr
    tagged.instance(**ALIVE, **METADATA)
    answer = sweep("--delete")
    looked = "0 AMIs, 0 snapshots, 1 volume, 1 interface, 0 subnets, 0 placement groups, 1 instance"
    said = f"No strays of director {DIRECTOR_UUID}\nLooked at in us-east-1: {looked}\n"
    assert (answer.returncode, answer.stdout.decode(), answer.stderr) == (0, said, "")


def test_refused(tagged: TaggedResources, sweep: Sweep, fake_aws: FakeAws, world: World) -> None:
    """If AWS refuses to delete a stray, the report has its message, and the others are deleted."""
    refused, other = (tagged.seen(tagged.interface(**GONE)) for _ in range(2))
    where = {"NetworkInterfaceId": refused}
    fake_aws.rule(action="DeleteNetworkInterface", where=where, error=REFUSED)
    answer = sweep("--delete", "--json")
    told = {stray["id"]: (stray["outcome"], stray["error"]) for stray in answer.document["strays"]}
    said = told[refused][1]
    assert (answer.returncode, told) == (1, {refused: ("failed", said), other: ("removed", None)})
    assert "DeleteNetworkInterface failed with UnauthorizedOperation: You may not." in said
    assert REQUEST_ID in said
    assert world.state()["interfaces"] == [refused]


@pytest.mark.parametrize(
    ("shown", "changed", "outcome"),
    [
        ("<status>available<", "<status>in-use<", "spared"),
        (DIRECTOR_UUID, "director-2", "spared"),
        ("<volumeSet>(?s:.*)</volumeSet>", "<volumeSet/>", "gone"),
    ],
    ids=["attached", "another Director's", "gone"],
)
def test_changed_before_the_second_look(
    tagged: TaggedResources, sweep: Sweep, fake_aws: FakeAws, shown: str, changed: str, outcome: str
) -> None:
    """Each stray is looked up again right before it is deleted."""
    volume_id = tagged.volume(bosh_call="call-1")
    fake_aws.rule(action="DescribeVolumes", nth=2, replace=[[shown, changed]])
    named = ("--disk", volume_id, *ANY_AGE)
    assert sweep.outcomes("--delete", *named, status=0) == {volume_id: outcome}
    assert "DeleteVolume" not in fake_aws.actions()


def test_deletion_that_ec2_does_not_confirm(tagged: TaggedResources, sweep: Sweep, fake_aws: FakeAws) -> None:
    """A volume counts as removed only once EC2 says that it is gone."""
    volume_id = tagged.volume(bosh_call="call-1")
    fake_aws.rule(action="DescribeVolumes", nth=3, times=None, error=REFUSED)
    assert sweep.outcomes("--delete", "--disk", volume_id, *ANY_AGE) == {volume_id: "failed"}
    assert "DeleteVolume" in fake_aws.actions()


AVAILABLE = [["<imageState>failed<", "<imageState>available<"]]


@pytest.mark.parametrize(
    ("rule", "outcome", "status"),
    [
        ({"action": "DeregisterImage", "error": REFUSED}, "failed", 1),
        ({"action": "DescribeImages", "nth": 2, "replace": AVAILABLE}, "spared", 0),
    ],
)
def test_image_that_stays(
    tagged: TaggedResources, sweep: Sweep, fake_aws: FakeAws, rule: dict[str, Any], outcome: str, status: int
) -> None:
    """The snapshot of an AMI that AWS refuses to deregister, or that has become available, is kept."""
    snapshot_id = tagged.snapshot(bosh_stemcell="call-1")
    ami_id = tagged.image(snapshot_id, "failed: no such key", bosh_stemcell="call-1")
    fake_aws.rule(**rule)
    expected = {ami_id: outcome, snapshot_id: "spared"}
    assert sweep.outcomes("--delete", *ANY_AGE, status=status) == expected
    assert "DeleteSnapshot" not in fake_aws.actions()


@pytest.mark.parametrize(("user", "outcome"), [("", "removed"), ("ami-0123456789abcdef2", "spared")])
def test_snapshot_in_use(
    tagged: TaggedResources, sweep: Sweep, fake_aws: FakeAws, user: str, outcome: str
) -> None:
    """A snapshot whose AMI EC2 has just forgotten is deleted at last; one that another AMI uses is kept."""
    snapshot_id = tagged.snapshot(bosh_stemcell="call-1")
    ami_id = tagged.image(snapshot_id, "failed: no such key", bosh_stemcell="call-1")
    message = f"The snapshot {snapshot_id} is currently in use by {user or ami_id}"
    fake_aws.refuse("DeleteSnapshot", "InvalidSnapshot.InUse", message, times=1)
    expected = {ami_id: "removed", snapshot_id: outcome}
    assert sweep.outcomes("--delete", *ANY_AGE, status=0) == expected


@pytest.fixture
def swept_while(sweep: Sweep, fake_aws: FakeAws) -> Callable[..., tuple[int, Any]]:
    """Return a function that sweeps and, before a call of it reaches AWS, does something else."""

    def run(act: Callable[[], object], action: str, *named: str, **rule: int) -> tuple[int, Any]:
        start = partial(sweep.start, "--delete", "--json", *named)
        answer = act_at(fake_aws, start, act, action=action, **rule)
        strays = answer.document["strays"]
        return answer.returncode, [(stray["id"], stray["outcome"]) for stray in strays]

    return run


def test_interface_that_is_attached(
    tagged: TaggedResources, swept_while: Callable[..., Any], fake_aws: FakeAws, world: World
) -> None:
    """An interface that is attached right before its deletion is kept, without a wait for its release."""
    nic_id, vm = tagged.seen(tagged.interface(**GONE)), tagged.instance(**ALIVE, **METADATA)
    action = "DeleteNetworkInterface"
    assert swept_while(lambda: tagged.attach(nic_id, vm), action) == (0, [(nic_id, "spared")])
    assert fake_aws.actions().count(action) == 1
    assert nic_id in world.state()["interfaces"]


def test_disk_that_is_attached(
    tagged: TaggedResources, swept_while: Callable[..., Any], fake_aws: FakeAws, world: World
) -> None:
    """A disk that is attached right before its deletion is kept, too."""
    disk, vm = tagged.volume(bosh_call="call-1"), tagged.instance(**ALIVE, **METADATA)
    outcome = swept_while(lambda: tagged.attach(disk, vm), "DeleteVolume", "--disk", disk, *ANY_AGE)
    assert outcome == (0, [(disk, "spared")])
    assert fake_aws.actions().count("DeleteVolume") == 1
    assert disk in world.state()["volumes"]


def test_group_that_is_used_again(
    tagged: TaggedResources, swept_while: Callable[..., Any], world: World
) -> None:
    """A placement group into which a VM is launched right before its deletion is kept, whosever it is."""
    group_id = tagged.seen(tagged.group(**SPREAD))
    outcome = swept_while(lambda: tagged.instance_in(GROUP, bosh_director_uuid=""), "DeletePlacementGroup")
    assert outcome == (0, [(group_id, "spared")])
    assert world.state()["placement groups"] == [GROUP]


def test_group_that_was_created_again(
    tagged: TaggedResources, swept_while: Callable[..., Any], world: World
) -> None:
    """A placement group that create_vm has created again under the same name lacks the mark, and is kept."""
    group_id = tagged.seen(tagged.group(**SPREAD))

    def create_again() -> None:
        world.ec2.delete_placement_group(GroupName=GROUP)
        tagged.group(**SPREAD)

    outcome = swept_while(create_again, "DescribePlacementGroups", nth=2)
    assert outcome == (0, [(group_id, "spared")])
    assert world.state()["placement groups"] == [GROUP]


def test_group_of_ended_vms(tagged: TaggedResources, sweep: Sweep, fake_aws: FakeAws, world: World) -> None:
    """A placement group is a stray only once all of its VMs are terminated."""
    group_id = tagged.seen(tagged.group(**SPREAD))
    vm_cid = tagged.instance_in(GROUP, **ALIVE, **METADATA)
    fake_aws.rule(action="DescribeInstances", nth=1, replace=[["<name>running<", "<name>shutting-down<"]])
    assert sweep.outcomes("--delete", status=0) == {}
    world.ec2.terminate_instances(InstanceIds=[vm_cid])
    assert sweep.outcomes("--delete", status=0) == {group_id: "removed"}
    assert world.state()["placement groups"] == []


def test_interrupted(tagged: TaggedResources, sweep: Sweep, fake_aws: FakeAws) -> None:
    """The report of an interrupted run says what was deleted, and which deletion is not certain."""
    ids = [tagged.seen(tagged.interface(**GONE)) for _ in range(3)]
    action = "DeleteNetworkInterface"
    answer = interrupt_at(fake_aws, lambda: sweep.start("--delete", "--json"), 2, action=action)
    assert answer.returncode == 2
    assert answer.stderr.splitlines()[-1] == "cpi: interrupted by SIGTERM"
    told = [(stray["id"], stray["outcome"]) for stray in answer.document["strays"]]
    assert [outcome for _, outcome in told] == ["removed", "not certain"]
    assert {resource_id for resource_id, _ in told} < set(ids)
    assert answer.document["is_complete"] is False
    assert fake_aws.actions().count(action) == 2


def test_disk_whose_metadata_ec2_refused(cpi: Cpi, world: World, sweep: Sweep, fake_aws: FakeAws) -> None:
    """If EC2 refuses one tag of a disk, the disk gets those by which it is known, and is no stray."""
    disk_cid = cpi.call("create_disk", 1024, {}, None).ok()
    given = {"aws:owner": "team", **METADATA}
    answer = cpi.call("set_disk_metadata", disk_cid, given)
    assert answer.ok() is None
    assert f"Could not tag {disk_cid}: CreateTags failed with " in answer.stderr
    assert "; refused: aws:owner" in answer.stderr
    (volume,) = world.ec2.describe_volumes(VolumeIds=[disk_cid])["Volumes"]
    tags = {tag["Key"]: tag["Value"] for tag in volume["Tags"]}
    assert METADATA.items() <= tags.items()
    assert "aws:owner" not in tags
    failed = {disk_cid: "failed"}
    assert sweep.outcomes("--delete", "--disk", disk_cid, *ANY_AGE) == failed
    assert "DeleteVolume" not in fake_aws.actions()


def test_named_resource_that_is_no_stray(
    tagged: TaggedResources, sweep: Sweep, fake_aws: FakeAws, world: World
) -> None:
    """Of what the operator names, the report says which condition of a stray it does not meet."""
    vm, known = tagged.instance(**ALIVE), tagged.instance(**GONE, job="etcd")
    bastion = tagged.instance()
    attached = tagged.volume(**GONE)
    tagged.attach(attached, vm)
    reasons = {
        "vol-0123456789abcdef0": "it does not exist",
        tagged.volume(bosh_director_uuid=OTHER_DIRECTOR, **GONE): "bosh_director_uuid is missing, or",
        attached: "its state is in-use",
        tagged.volume(bosh_call="c", id="0f", attached_at="x"): "the tag attached_at, so the Director may",
        tagged.volume(**ALIVE): "its VM exists, or no tag",
        known: "the tag job, so the Director may",
        bastion: "it lacks the tag bosh_agent_id",
    }
    before = world.state()
    named = [word for each in reasons for word in ("--instance" if each[0] == "i" else "--disk", each)]
    strays = sweep("--json", "--delete", *named, *ANY_AGE).document["strays"]
    errors = {each["id"]: each["error"] for each in strays if each["outcome"] == "failed"}
    assert errors.keys() == reasons.keys()
    assert [each for each, why in reasons.items() if why not in errors[each]] == []
    assert world.state() == before
    fake_aws.rule(action="DescribeVolumes", where={"Filter.1.Name": "volume-id"}, error=REFUSED)
    (refused,) = [
        each
        for each in sweep("--json", "--delete", "--disk", attached).document["strays"]
        if each["why"] == "named by you"
    ]
    assert "ec2:DescribeVolumes" in refused["error"]


SNAPSHOTS = ("snapshot of the failed image", "snapshot", "snapshot of a copy", "snapshot of a volume")
INTERFACES = ("interface", "somebody's interface")
UNLISTED: dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    "DescribeImages": ("AMI", ("failed image", "image"), ("5 snapshots", *SNAPSHOTS)),
    "DescribeSnapshots": ("snapshot", SNAPSHOTS, ("1 AMI", "image")),
    "DescribeVolumes": ("volume", ("disk", "upload", "volume"), ("",)),
    "DescribeNetworkInterfaces": ("interface", INTERFACES, ("",)),
    "DescribeSubnets": ("subnet", (), ("",)),
    "DescribePlacementGroups": ("placement group", ("placement group",), ("",)),
    "DescribeInstances": (
        "instance",
        ("instance",),
        ("1 volume, 2 interfaces, 1 placement group", "volume", *INTERFACES, "placement group"),
    ),
}
"""By action: its kind, the strays of it; what is not judged then, in the report's words and by name."""


@pytest.mark.parametrize("action", UNLISTED)
def test_kind_that_can_not_be_listed(
    tagged: TaggedResources, sweep: Sweep, fake_aws: FakeAws, action: str
) -> None:
    """All other kinds are swept but what can't be judged without the missing list, which the report says."""
    kind, unlisted, (said, *unjudged) = UNLISTED[action]
    ids = tagged.fill()
    fake_aws.rule(action=action, replace=[[r"(?s)<(\w+Set)(/>|>.*</\1>)", ""]])
    left = {ids[name] for name in ids.keys() - {*unlisted, *unjudged}}
    answer = sweep(*ANY_AGE)
    lines = answer.stdout.decode().splitlines()
    assert answer.returncode == 1
    assert f"{kind}s not listed" in str(lines)
    assert (f"Not judged without these lists: {said}" in lines) is bool(said)
    assert f"Not listed: {kind}s: " in answer.stderr
    assert f"(ec2:{action}, without " in answer.stderr
    told = sweep("--json", "--delete", *ANY_AGE).document
    assert (told["not_listed"], {stray["id"] for stray in told["strays"]}) == ([kind], left)


def test_instances_without_tags(tagged: TaggedResources, sweep: Sweep, fake_aws: FakeAws) -> None:
    """An instance that EC2 finds by a tag and shows without it is not believed: its interface is no stray."""
    tagged.instance(**ALIVE, **METADATA)
    tagged.seen(tagged.interface(**ALIVE))
    fake_aws.rule(action="DescribeInstances", replace=[[r"(?s)<tagSet>.*?</tagSet>", ""]])
    answer = sweep("--json", "--delete")
    assert (answer.document["strays"], answer.document["not_judged"]) == ([], {"interface": 1})
    assert "instances: EC2 shows some without the tag by which it found them" in answer.stderr


def test_snapshots_that_may_not_be_listed(tagged: TaggedResources, sweep: Sweep, fake_aws: FakeAws) -> None:
    """Without the permission DescribeSnapshots, all other kinds are listed; the exit status is 1."""
    volume_id = tagged.volume(**GONE)
    fake_aws.rule(action="DescribeSnapshots", error=REFUSED)
    answer = sweep()
    assert (answer.returncode, volume_id in answer.stdout.decode()) == (1, True)
    assert "snapshots not permitted" in answer.stdout.decode()
    assert "Allow ec2:DescribeSnapshots in the policy" in answer.stderr


@pytest.mark.parametrize("kind", ["instance", "volume"])
def test_disk_that_can_not_be_judged(
    tagged: TaggedResources, sweep: Sweep, fake_aws: FakeAws, kind: str
) -> None:
    """A disk that is named is kept if a list is missing without which it can't be judged."""
    volume_id = tagged.volume(**GONE)
    fake_aws.rule(action=f"Describe{kind.capitalize()}s", nth=1, error=REFUSED)
    (stray,) = sweep("--json", "--delete", "--disk", volume_id, *ANY_AGE).document["strays"]
    assert (stray["id"], stray["outcome"]) == (volume_id, "failed")
    assert f"it was not judged, because these could not be listed: {kind}" in stray["error"]
    assert "DeleteVolume" not in fake_aws.actions()


def test_groups_that_may_not_be_listed(tagged: TaggedResources, sweep: Sweep, fake_aws: FakeAws) -> None:
    """Without DescribePlacementGroups, as in a policy without spread, the report says so; the status is 0."""
    tagged.instance(**ALIVE, **METADATA)
    fake_aws.rule(action="DescribePlacementGroups", error=REFUSED)
    answer = sweep()
    assert answer.returncode == 0
    assert "placement groups not permitted" in answer.stdout.decode()
    assert "Not listed: placement groups: DescribePlacementGroups failed with " in answer.stderr


def test_not_carried_out(cpi: Cpi, sweep: Sweep, fake_aws: FakeAws) -> None:
    """Without a permission, a Director or a configuration, the command says why; the exit status is 2."""
    fake_aws.rule(action="*", error=REFUSED)
    refused = sweep()
    assert (refused.returncode, refused.stdout) == (2, b"")
    assert "Nothing can be listed: snapshots: DescribeSnapshots failed with Unauthorized" in refused.stderr
    wrong = cpi.run("sweep")
    assert (wrong.returncode, wrong.stdout) == (2, b"")
    assert "the following arguments are required: --director" in wrong.stderr
    cpi.config_path.unlink()
    missing = sweep()
    assert (missing.returncode, missing.stdout) == (2, b"")
    assert str(cpi.config_path) in missing.stderr
