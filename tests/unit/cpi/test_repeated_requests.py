"""Requests that are sent again: what an earlier attempt created is used, replaced or left alone."""

import uuid

import pytest

from bosh_aws_cpi.aws import images, snapshots, subnets, volumes
from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.cpi.disks.create import create_disk
from bosh_aws_cpi.cpi.snapshots import snapshot_disk
from bosh_aws_cpi.cpi.stemcells import heavy, image_file, snapshot_upload, volume_upload
from bosh_aws_cpi.cpi.undo import Undo
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.model import Image, Volume
from bosh_aws_cpi.properties.stemcell import HeavyStemcellProperties
from tests.unit.conftest import Clock, Stub

FAILED = CloudError("it failed")
ZONES = [f"us-east-1{letter}" for letter in "abcdef"]


@pytest.fixture
def gone(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return what was deleted, in its order."""
    gone: list[str] = []
    for module, name in (
        (images, "deregister"),
        (snapshots, "discard"),
        (volumes, "discard"),
        (volumes, "discard_shared"),
    ):
        monkeypatch.setattr(module, name, lambda _, cid, name=name, **__: gone.append(f"{name} {cid}"))
    return gone


def fail(*_: object) -> None:
    """Fail."""
    raise FAILED


@pytest.mark.parametrize(
    ("earlier", "deleted"), [("snap-0", []), (None, ["discard snap-1"])], ids=["found", "new"]
)
def test_snapshot(
    cloud: Cloud, gone: list[str], monkeypatch: pytest.MonkeyPatch, earlier: str | None, deleted: list[str]
) -> None:
    """If the wait fails, a snapshot of this call is deleted; an earlier attempt's may be the Director's."""
    cloud.config = cloud.config.replaced(request_id="cpi-1")
    disk = Volume("vol-1", "available", "z", {}, 1, "gp3", encrypted=False)
    monkeypatch.setattr(volumes, "find", lambda *_: disk)
    monkeypatch.setattr(snapshots, "find_marked", lambda *_: earlier)
    monkeypatch.setattr(snapshots, "create", lambda *_: "snap-1")
    monkeypatch.setattr(snapshots, "wait_until_completed", fail)
    with pytest.raises(CloudError, match="it failed"):
        snapshot_disk(cloud, "vol-1", {})
    assert gone == deleted


def test_unseen_snapshot(ec2: Stub, clock: Clock) -> None:
    """After a lost answer the snapshot is looked for, for a minute, before another one is created."""
    ec2.lay("create_snapshot", "lost", {"SnapshotId": "snap-1"}, VolumeId="vol-1")
    ec2.keeps("describe_snapshots", {"Snapshots": []})
    assert snapshots.create(ec2.client, "vol-1", {}, ("bosh_call", "call-1")) == "snap-1"
    assert clock.now >= 60


@pytest.mark.parametrize(
    ("snapshot_ids", "finish", "ends", "deleted"),
    [
        (["snap-0"], None, "ami-0", []),
        ([], None, "ami-0", []),
        (["snap-9"], None, "anew", ["volume", "discard snap-0"]),
        (["snap-0"], images.NotCreated("no"), "no", ["deregister ami-0", "discard snap-0"]),
        (["snap-0"], FAILED, "it failed", []),
    ],
    ids=["AMI", "pending AMI", "another AMI", "failed AMI", "no answer"],
)
def test_heavy_stemcell(
    cloud: Cloud,
    gone: list[str],
    monkeypatch: pytest.MonkeyPatch,
    snapshot_ids: list[str],
    finish: Exception | None,
    ends: str,
    deleted: list[str],
) -> None:
    """An earlier attempt's AMI of its snapshot is used; its leftovers are deleted before a new upload."""

    def finished(_: object, ami_id: str) -> str:
        if finish:
            raise finish
        return ami_id

    def upload(*_: object) -> None:
        raise CloudError("anew")

    cloud.config = cloud.config.replaced(request_id="cpi-1")
    monkeypatch.setattr(image_file, "survey", lambda *_: 1)
    monkeypatch.setattr(snapshots, "find_marked", lambda *_: "snap-0")
    monkeypatch.setattr(images, "marked", lambda *_: [Image("ami-0", "", "", "", [], snapshot_ids)])
    monkeypatch.setattr(images, "finish", finished)
    monkeypatch.setattr(volume_upload, "discard_earlier", lambda *_: gone.append("volume"))
    monkeypatch.setattr(snapshot_upload, "upload", upload)
    try:
        result = heavy.create(cloud, "/image", HeavyStemcellProperties(), {})
    except CloudError as error:
        result = error.message
    assert (result, gone) == (ends, deleted)


class Ebs:
    """EBS, as far as create_disk needs it.

    Attributes:
        created: The arguments of each CreateVolume.
        failures: How many of the first volumes are another request's, or can't be created.
        has_number: Whether the request has one.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Answer the program."""
        self.created: list[Json] = []
        self.failures = 0
        self.has_number = True
        monkeypatch.setattr(volumes, "create", self._create)
        monkeypatch.setattr(volumes, "wait_until_available", self._wait)
        monkeypatch.setattr(subnets, "ordinary_zones", lambda _: ZONES)

    def _create(self, _: object, arguments: Json, mark: tuple[str, str]) -> str:
        (specification,) = arguments["TagSpecifications"]
        assert mark[1] == arguments["ClientToken"]  # by which it is found after a lost answer
        assert {"Key": mark[0], "Value": mark[1]} in specification["Tags"]
        self.created.append(arguments)
        return f"vol-{len(self.created)}"

    def _wait(self, _: object, disk_cid: str, _seen: set[str], *, is_shared: bool) -> None:
        assert is_shared is (self.has_number and len(self.created) == 1)
        if len(self.created) <= self.failures:
            raise volumes.NotCreated(disk_cid)


@pytest.fixture
def ebs(monkeypatch: pytest.MonkeyPatch) -> Ebs:
    """Return EBS."""
    return Ebs(monkeypatch)


def asked(cloud: Cloud, request_id: str | None) -> str:
    """Return the disk of a request."""
    cloud.config = cloud.config.replaced(request_id=request_id)
    vars(cloud)["undo"] = Undo()
    return create_disk(cloud, 1024, {}, None)


def test_disk_of_another_request(cloud: Cloud, ebs: Ebs, gone: list[str]) -> None:
    """A used or failed disk behind the request's token is given up; another one is created, but no third."""
    ebs.failures = 1
    assert asked(cloud, "cpi-1") == "vol-2"
    first, second = (each["ClientToken"] for each in ebs.created)
    assert str(uuid.UUID(second)) == second != first
    assert gone == ["discard_shared vol-1"]
    gone.clear()
    ebs.created, ebs.failures = [], 2
    with pytest.raises(volumes.NotCreated):
        asked(cloud, "cpi-1")
    assert gone == ["discard_shared vol-1", "discard vol-2"]
    ebs.created, ebs.has_number = [], False
    with pytest.raises(volumes.NotCreated):
        asked(cloud, None)
    assert len(ebs.created) == 1


def test_zones(cloud: Cloud, ebs: Ebs, monkeypatch: pytest.MonkeyPatch) -> None:
    """Different requests spread over the zones; the same one chooses the same zone."""
    monkeypatch.setattr(volumes, "wait_until_available", lambda *_, **__: None)
    for number in (*range(20), 0):
        asked(cloud, f"cpi-{number}")
    zones = [each["AvailabilityZone"] for each in ebs.created]
    assert zones[0] == zones[-1]
    assert 3 < len(set(zones)) <= len(ZONES)
