"""Which resources are strays, and which are not, because BOSH may know them or something may use them."""

from datetime import datetime
from typing import Any

import pytest

from bosh_aws_cpi.aws.inventory import Resource
from bosh_aws_cpi.tag_names import OWN_KEYS
from bosh_aws_cpi.tools.strays import Inventory, Removal, Stray
from tests.unit.tools.sweep_things import DIRECTOR, hours_ago, thing

AGENT = {"bosh_agent_id": "agent-1"}
STEMCELL = {"bosh_stemcell": "call-1"}
COPY = {"bosh_source_ami": "ami-0"}
CALL = {"bosh_call": "call-2"}
MANAGED = {"bosh_network": "managed", **CALL}
REFUSED = {**MANAGED, "bosh_delete_failed": "2026-05-04T12:00:00Z"}
DONE = {**STEMCELL, "bosh_ami": "ami-1"}
SAID_OF_DISKS = ("attached_at", "director", "instance_id", "instance_index", "instance_name")
SAID_OF_VMS = ("compiling", "created_at", "id", "index", "job")
MADE_OF = ("snapshot-1",)
VM = thing("instance", "running", {**AGENT, "id": "0f"})
IMAGE = thing("AMI", tags=STEMCELL, snapshot_ids=MADE_OF)
SNAPSHOT = thing("snapshot", "completed", STEMCELL, is_for_image=True)
FAILED = IMAGE.replace(state="failed")

SAID = {"director": "bosh-1"}
STRAYS: list[tuple[Resource, Removal]] = [
    *(
        (thing("volume", tags={**tags, **more}), Removal.DISK)
        for tags in (STEMCELL, AGENT)
        for more in ({}, SAID)
    ),
    *(
        (thing("volume", tags={**CALL, **more}), Removal.DISK)
        for more in (
            {},
            {"aws:backup:source": "x"},
            {"team": "a", "deployment": "web"},
            {"name": "pvc-1"},
            AGENT,
        )
    ),
    (SNAPSHOT, Removal.DELETE),
    (thing("snapshot", "error", STEMCELL, is_for_image=True), Removal.DELETE),
    (thing("snapshot", "completed", {**COPY, **CALL}, is_for_image=True), Removal.DELETE),
    *((thing("snapshot", "completed", tags), Removal.BY_HAND) for tags in (STEMCELL, DONE, {**COPY, **CALL})),
    *(
        (thing("snapshot", "completed", tags, is_for_image=True), Removal.BY_HAND)
        for tags in (DONE, {**COPY, **CALL, "bosh_ami": "ami-1"})
    ),
    *((IMAGE.replace(state=state), Removal.DELETE) for state in ("failed", "error", "invalid")),
    (thing("AMI", "failed", COPY), Removal.DELETE),
    (
        thing("instance", "running", {**AGENT, "Name": "a", "deployment": "b", "director": "c"}),
        Removal.INSTANCE,
    ),
    (thing("instance", "stopped", AGENT), Removal.INSTANCE),
    (thing("subnet", tags=MANAGED), Removal.BY_HAND),
    (thing("subnet", tags=REFUSED), Removal.BY_HAND),
    (thing("subnet", tags=REFUSED, is_used=True), Removal.BY_HAND),
]
OURS = f"BOSH agent agent-1 of director {DIRECTOR}"
OF_VM = thing("interface", tags=AGENT, hours=None, description=OURS)
GROUP = thing(
    "placement group", tags={"bosh_spread_group": "g"}, group=f"bosh-{DIRECTOR}-g", type="spread", hours=None
)
NO_STRAYS: list[tuple[str, Resource]] = [
    ("attached", thing("interface", "in-use", AGENT)),
    ("with interfaces", thing("subnet", tags=MANAGED, is_used=True)),
    ("no managed network's", thing("subnet", tags=CALL)),
    ("going", thing("interface", "detaching", AGENT)),
    ("no VM's", thing("interface")),
    ("attached", thing("volume", "in-use", AGENT)),
    ("being made", thing("volume", "creating", CALL)),
    ("going", thing("volume", "deleting", STEMCELL)),
    *(("known to the Director", thing("volume", tags={**CALL, key: "x"})) for key in SAID_OF_DISKS),
    *(
        ("known to the Director", thing("volume", tags={**tags, key: "x"}))
        for tags in (AGENT, STEMCELL)
        for key in SAID_OF_DISKS
        if key not in SAID
    ),
    *(("of a disk", SNAPSHOT.replace(tags={**SNAPSHOT.tags, key: "x"})) for key in SAID_OF_DISKS),
    ("of a disk", SNAPSHOT.replace(tags={**SNAPSHOT.tags, **CALL})),
    ("of somebody else", GROUP.replace(group="another")),
    ("of somebody else", GROUP.replace(type="cluster")),
    ("of nobody knows what", thing("volume")),
    ("of a disk", thing("snapshot", "completed", {**CALL, "bosh_ami": "ami-1"}, is_for_image=True)),
    ("of a disk", thing("snapshot", "completed", CALL)),
    ("of nobody knows what", thing("snapshot", "completed")),
    ("in the making", IMAGE.replace(state="pending")),
    ("in the making", SNAPSHOT.replace(state="pending")),
    ("in the making", thing("instance", "pending", AGENT)),
    ("in the making", GROUP.replace(state="pending")),
    ("in the making", thing("subnet", "pending", MANAGED)),
    ("going", GROUP.replace(state="deleting")),
    ("switched off by somebody", IMAGE.replace(state="disabled")),
    ("a copy that is whole", thing("AMI", tags=COPY, snapshot_ids=MADE_OF)),
    ("of nobody knows what", thing("AMI", "failed")),
    ("ended", thing("instance", "terminated", AGENT)),
    ("ending", thing("instance", "shutting-down", AGENT)),
    *(("known to the Director", thing("instance", "running", {**AGENT, key: "x"})) for key in SAID_OF_VMS),
    ("no agent's", thing("instance", "running")),
]


def found(*resources: Resource) -> list[Stray]:
    """List the strays among these."""
    return Inventory(DIRECTOR, resources).strays()


def ids(*resources: Resource) -> list[str]:
    """List their ids."""
    return [stray.resource.resource_id for stray in found(*resources)]


@pytest.mark.parametrize(("resource", "removal"), STRAYS)
def test_strays(resource: Resource, removal: Removal) -> None:
    """A certain stray can be deleted; one in doubt only by its name or by a person."""
    (stray,) = found(resource)
    assert (stray.resource, stray.removal, stray.since) == (resource, removal, resource.created)


def test_disks() -> None:
    """Of each disk that the Director may know, the row says where to look first."""
    disks = (CALL, {**CALL, "bosh_replaces": "vol-2"}, {**CALL, "bosh_replaced_by": "vol-3"})
    for stray in found(*(thing("volume", tags=tags) for tags in disks)):
        assert stray.why.endswith("first look in bosh disks --orphaned and bosh instances --details")


@pytest.mark.parametrize(("why", "resource"), NO_STRAYS)
def test_no_strays(why: str, resource: Resource) -> None:
    """A resource that is used, that BOSH may know or that is being created or deleted is no stray."""
    assert found(resource) == [], why


@pytest.mark.parametrize("other", [{"bosh_director_uuid": "director-10"}, {"bosh_director_uuid": "*"}, {}])
def test_other_directors(other: dict[str, str]) -> None:
    """EC2's filter has wildcards: a resource with another Director's tag, or with none, is no stray."""
    for resource in (*(resource for resource, _ in STRAYS), OF_VM, GROUP):
        tags = {key: value for key, value in resource.tags.items() if key != "bosh_director_uuid"}
        assert found(resource.replace(tags={**tags, **other})) == []


def test_somebodys() -> None:
    """No tag of the CPI's own, nor several of them, makes somebody's resource one that `--delete` deletes."""
    known = dict.fromkeys(SAID_OF_DISKS, "x")
    for forged in (*({key} for key in OWN_KEYS), OWN_KEYS, OWN_KEYS - {"bosh_ami"}):
        tags = dict.fromkeys(forged - {"bosh_director_uuid"}, "ami-0")
        somebodys = [
            thing("interface", tags=tags),
            thing("volume", tags=tags),
            thing("volume", tags={**tags, **known}),
            thing("snapshot", "completed", tags),
            thing("snapshot", "completed", {**tags, **known}, is_for_image=True),
            thing("AMI", tags=tags, snapshot_ids=("snapshot-2",)),
            thing("placement group", tags=tags, group="somebody's", type="spread"),
            thing("subnet", tags=tags),
            thing("instance", "running", tags),
        ]
        assert [each.resource for each in found(*somebodys) if each.removal is Removal.DELETE] == []


@pytest.mark.parametrize("state", ["pending", "stopped"])
@pytest.mark.parametrize("kind", ["volume", "interface"])
def test_instance_that_is_there(kind: Any, state: str) -> None:
    """A resource of an agent whose instance exists, in whatever state, is no stray."""
    assert found(VM.replace(state=state), thing(kind, tags=AGENT)) == []


@pytest.mark.parametrize(
    "instance",
    [VM.replace(state="terminated"), VM.replace(tags={**VM.tags, "bosh_director_uuid": "director-2"})],
)
def test_instance_that_is_not_there(instance: Resource) -> None:
    """An instance that is terminated, or another Director's, does not count."""
    assert ids(instance, thing("interface", tags=AGENT)) == ["interface-1"]


@pytest.mark.parametrize("snapshot", [SNAPSHOT, SNAPSHOT.replace(tags={**SNAPSHOT.tags, **DONE})])
@pytest.mark.parametrize("tags", [STEMCELL, {}, {"bosh_director_uuid": "director-2"}])
@pytest.mark.parametrize("state", ["available", "pending"])
def test_snapshot_that_an_image_needs(state: str, tags: dict[str, str], snapshot: Resource) -> None:
    """A snapshot that any AMI of the account uses is no stray, whoever created the AMI."""
    image = thing("AMI", state, snapshot_ids=MADE_OF).replace(tags=tags)
    assert found(snapshot, image) == []


def test_snapshot_of_a_failed_image_and_another() -> None:
    """A failed AMI comes before its snapshot, which is no stray if another AMI uses it, too."""
    assert ids(SNAPSHOT, FAILED) == ["AMI-1", "snapshot-1"]
    other = thing("AMI", resource_id="AMI-2", snapshot_ids=MADE_OF)
    assert ids(SNAPSHOT, FAILED, other) == ["AMI-1"]
    of_another = FAILED.replace(tags={**FAILED.tags, "bosh_director_uuid": "director-2"})
    assert ids(SNAPSHOT, of_another) == []


@pytest.mark.parametrize(("source", "expected"), [("ami-0", []), ("ami-9", ["snapshot-1"])])
def test_snapshot_of_a_copy_in_the_making(source: str, expected: list[str]) -> None:
    """EC2 does not list the snapshots of a pending copy: those of the same source are no strays."""
    copy = thing("AMI", "pending", {"bosh_source_ami": source})
    assert ids(thing("snapshot", "completed", COPY, is_for_image=True), copy) == expected


@pytest.mark.parametrize(("tags", "count"), [(STEMCELL, 1), (DONE, 0)])
def test_image_that_may_be_lost(tags: dict[str, str], count: int) -> None:
    """An available AMI is left to a person if its snapshot lacks the tag of a finished stemcell."""
    strays = found(IMAGE, SNAPSHOT.replace(tags={**SNAPSHOT.tags, **tags, **({} if count else DONE)}))
    assert [(stray.resource, stray.removal) for stray in strays] == [(IMAGE, Removal.BY_HAND)] * count


@pytest.mark.parametrize(
    ("value", "since"),
    [
        (None, None),
        ("yesterday {id}", None),
        ("2026-05-04T11:00:00Z", None),
        ("2026-05-04T11:00:00Z eni-2", None),
        ("2026-05-04T11:00:00Z {id}", hours_ago(1)),
    ],
)
@pytest.mark.parametrize("resource", [OF_VM, GROUP])
def test_first_seen(resource: Resource, value: str | None, since: datetime | None) -> None:
    """An interface or group is a stray since its mark; a mark that names another resource does not count."""
    mark = {} if value is None else {"bosh_sweep_seen": value.format(id=resource.resource_id)}
    (stray,) = found(resource.replace(tags={**resource.tags, **mark}))
    assert (stray.since, stray.is_aged_by_mark, stray.removal) == (since, True, Removal.DELETE)


@pytest.mark.parametrize(
    "description", ["", OURS.replace("agent-1", "agent-2"), OURS.replace(DIRECTOR, "another")]
)
def test_interface_of_another(description: str) -> None:
    """An interface without create_vm's description is left to a person."""
    (stray,) = found(OF_VM.replace(description=description))
    assert (stray.why, stray.removal) == ("perhaps of a VM that is gone", Removal.BY_HAND)
