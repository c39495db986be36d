"""Tags that anybody may have written: nothing is deleted or adopted because of them alone."""

from collections.abc import Callable
from typing import Any

import pytest

from testbed.cloud import FakeAws
from testbed.executable import DIRECTOR_UUID, Cpi
from testbed.killing import kill_at
from testbed.world import World
from tests.stories.operators import ANY_AGE, GONE, LONG_AGO, METADATA, Sweep, TaggedResources
from tests.stories.stemcell_images import Heavy
from tests.stories.story import Story

KEY = "arn:aws:kms:us-east-1:123456789012:key/own"
NOBLE = {"name": "bosh-noble", "version": "1.2"}
NO_AMI = "ami-0123456789abcdef0"
OF_COPY = {"bosh_kms_key": "default", "bosh_stemcell_name": "bosh-noble/1.2"}
FORGED = {
    "bosh_agent_id": "agent-gone",
    "bosh_ami": NO_AMI,
    "bosh_call": "call-1",
    "bosh_created": LONG_AGO,
    "bosh_delete_failed": LONG_AGO,
    "bosh_network": "managed",
    "bosh_replaced_by": "vol-0123456789abcdef0",
    "bosh_replaces": "vol-0123456789abcdef0 known",
    "bosh_skip_os_shutdown": "true",
    "bosh_source_ami": NO_AMI,
    "bosh_spread_group": "bosh-1-db-etcd",
    "bosh_stemcell": "call-1",
    "bosh_sweep_seen": LONG_AGO,
    **OF_COPY,
}
"""A value for each of the CPI's tags, besides the Director's UUID."""
DISK = {"director": "bosh-1", "instance_id": "0f", "instance_index": "0", "instance_name": "db/0f"}
NAMED_COPY = f"Copied for DestinationAmi {NO_AMI} from SourceAmi ami-1 for SourceSnapshot snap-1."


@pytest.fixture
def forge(world: World) -> Callable[[str, dict[str, str]], str]:
    """Return a function that writes tags on a resource, also the Director's UUID."""

    def write(resource_id: str, tags: dict[str, str]) -> str:
        listed = [{"Key": key, "Value": value} for key, value in tags.items()]
        director = {"Key": "bosh_director_uuid", "Value": DIRECTOR_UUID}
        world.ec2.create_tags(Resources=[resource_id], Tags=[director, *listed])
        return resource_id

    return write


def test_every_tag(
    cpi: Cpi, tagged: TaggedResources, world: World, sweep: Sweep, forge: Callable[[str, dict[str, str]], str]
) -> None:
    """All tags together don't make `cpi sweep --delete` or delete_stemcell delete somebody's resource."""
    known = cpi.call("create_disk", 1024, {}, None).ok()
    cpi.call("set_disk_metadata", known, METADATA).ok()
    taken = {"director_name": "bosh-1", "deployment": "web", "job": "db", "index": 0}
    somebodys = {
        "snapshot of a disk": cpi.call("snapshot_disk", known, taken).ok(),
        "disk": known,
        "disk of the Ruby release": tagged.volume(**{**METADATA, **DISK}),
        "volume": tagged.volume(),
        "snapshot of a disk of the Ruby release": tagged.snapshot_of_volume(**DISK),
        "its copy by a backup tool": tagged.snapshot(**DISK),
        "snapshot": tagged.snapshot_of_volume(NAMED_COPY),
        "interface": tagged.interface(""),
        "AMI": tagged.image(tagged.snapshot(bosh_director_uuid="")),
        "placement group": tagged.group("somebody's"),
    }
    kinds = {forge(resource_id, FORGED): kind for kind, resource_id in somebodys.items()}
    before = world.state()
    for _ in range(2):  # the first run marks interfaces and groups
        strays = sweep("--delete", "--json", *ANY_AGE).document["strays"]
        assert [kinds[stray["id"]] for stray in strays if stray["outcome"] in {"removed", "failed"}] == []
    assert cpi.call("delete_stemcell", NO_AMI).ok() is None
    assert world.state() == before


def test_forged_mark(
    story: Story,
    tagged: TaggedResources,
    world: World,
    sweep: Sweep,
    forge: Callable[[str, dict[str, str]], str],
) -> None:
    """A mark counts only for the resource that it names: otherwise the age begins with this sweep."""
    marks = [LONG_AGO, f"{LONG_AGO} {tagged.interface()}", f"{LONG_AGO} ", ""]
    ids = [forge(tagged.interface(**GONE), {"bosh_sweep_seen": mark}) for mark in marks]
    groups = [forge(tagged.group(bosh_spread_group=f"g{mark}"), {"bosh_sweep_seen": mark}) for mark in marks]
    assert sweep.outcomes("--delete", status=0) == dict.fromkeys([*ids, *groups], "marked")
    assert {story.tags_of(nic)["bosh_sweep_seen"].partition(" ")[2] for nic in ids} == set(ids)
    assert sweep.outcomes("--delete", status=0) == dict.fromkeys([*ids, *groups], "too young")
    assert set(ids) <= set(world.state()["interfaces"])


@pytest.mark.parametrize("description", ["", NAMED_COPY])
def test_snapshot_that_names_an_ami(
    cpi: Cpi, tagged: TaggedResources, world: World, sweep: Sweep, description: str
) -> None:
    """A snapshot of a volume that names an AMI that is gone stays; the log names it, and a person decides."""
    snapshot_id = tagged.snapshot_of_volume(description, bosh_stemcell="call-1", bosh_ami=NO_AMI)
    answer = cpi.call("delete_stemcell", NO_AMI)
    assert answer.ok() is None
    assert f"Perhaps left behind: {snapshot_id}" in answer.stderr
    assert sweep.outcomes("--delete", *ANY_AGE) == {snapshot_id: "left to you"}
    assert world.state()["snapshots"] == [snapshot_id]


@pytest.fixture
def light(cpi: Cpi, world: World) -> Callable[..., Any]:
    """Return a function that calls create_stemcell for an encrypted copy of the world's AMI."""

    def create(**properties: Any) -> Any:
        stemcell = {"ami": {"us-east-1": world.image_id}, "encrypted": True, **NOBLE, **properties}
        return cpi.call("create_stemcell", "/x/image", stemcell)

    return create


@pytest.mark.parametrize("kind", ["heavy", "copy of another AMI", "without encryption", "with another key"])
def test_image_that_is_no_copy(
    story: Story,
    light: Callable[..., Any],
    tagged: TaggedResources,
    world: World,
    forge: Callable[[str, dict[str, str]], str],
    kind: str,
) -> None:
    """An AMI with all tags of a stemcell's copy is not used unless EC2 shows its source and encryption."""
    wanted = {"kms_key_arn": KEY} if kind == "with another key" else {}
    heavy = tagged.image(tagged.snapshot(bosh_stemcell="call-1"))
    source = heavy if kind == "copy of another AMI" else world.image_id
    copied = {"Name": "a copy", "SourceImageId": source, "SourceRegion": "us-east-1"}
    encrypted = {"Encrypted": kind != "without encryption"}
    forged = heavy if kind == "heavy" else world.ec2.copy_image(**copied, **encrypted)["ImageId"]
    tags = {**OF_COPY, "bosh_kms_key": KEY if wanted else "default", "bosh_source_ami": world.image_id}
    forge(forged, tags)
    answer = light(**wanted)
    assert answer.ok() not in {forged, heavy}
    (image,) = world.ec2.describe_images(ImageIds=[answer.result])["Images"]
    assert (image["SourceImageId"], image["BlockDeviceMappings"][0]["Ebs"]["Encrypted"]) == (
        world.image_id,
        True,
    )
    (warning,) = story.warnings(answer)
    assert warning.startswith(f"AMI '{forged}' is not used: it has the tags of this stemcell's copy")
    assert light(**wanted).ok() == answer.result


def test_image_of_another_snapshot(
    story: Story, cpi: Cpi, heavy: Heavy, tagged: TaggedResources, world: World, fake_aws: FakeAws
) -> None:
    """A retry of a heavy stemcell does not answer an AMI of another snapshot, whatever its tags say."""
    call = ("create_stemcell", *heavy.arguments)
    context = {"director_uuid": DIRECTOR_UUID, "request_id": "cpi-1"}
    kill_at(fake_aws, lambda: cpi.start(*call, context=context), action="CompleteSnapshot", when="after")
    (snapshot_id,) = world.state()["snapshots"]
    forged = tagged.image(tagged.snapshot(), bosh_stemcell=story.tags_of(snapshot_id)["bosh_stemcell"])
    assert cpi.call(*call, context=context).ok() != forged
    assert forged in world.state()["images"]
