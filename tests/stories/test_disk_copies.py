"""update_disk by a copy: the new disk, and the old one, which stays."""

from typing import Any

import pytest

from testbed.cloud import FakeAws
from testbed.executable import DIRECTOR_UUID, Cpi, finish
from testbed.killing import interrupt_at
from tests.stories.disk_copies import OWN_TAGS, REQUEST, Copied, copy_tags
from tests.stories.story import Story
from tests.stories.volumes import Volumes

KEY = "arn:aws:kms:us-east-1:123456789012:key/own"
UPDATE = ["DescribeVolumes", "CopyVolumes", "DescribeVolumes", "CreateTags", "DescribeVolumes"]
NO_COPY = "A copy can't replace it either"


def test_answer(copied: Copied, fake_aws: FakeAws) -> None:
    """The answer is a copy with the data, the figures and the old tags; the old disk stays, and names it."""
    new = copied.update().ok()
    assert fake_aws.actions() == UPDATE
    assert copied.disks == sorted([copied.cid, new])
    shown = copied.shown(new)
    assert (shown["Size"], shown["VolumeType"], shown["Encrypted"]) == (2, "gp3", True)
    assert copied.writes(new) == 1
    call = copied.tags(new)["bosh_call"]
    assert call != OWN_TAGS["bosh_call"]
    assert copied.tags(new) == {**copy_tags(copied.cid), "bosh_call": call}
    link = {"bosh_director_uuid": DIRECTOR_UUID, "bosh_replaced_by": new}
    assert copied.tags(copied.cid) == {**OWN_TAGS, **link}


@pytest.mark.parametrize(
    ("before", "properties", "expected"),
    [
        (
            {"Encrypted": True, "KmsKeyId": KEY, "VolumeType": "standard"},
            {"type": "io2", "iops": 500},
            {"VolumeType": "io2", "Iops": "500", "Encrypted": "true", "KmsKeyId": KEY},
        ),
        ({}, {"encrypted": True, "type": "gp2"}, {"VolumeType": "gp2", "Encrypted": "true"}),
    ],
    ids=["keeps-its-key", "default-key"],
)
def test_figures(
    story: Story,
    cpi: Cpi,
    volumes: Volumes,
    before: dict[str, Any],
    properties: dict[str, Any],
    expected: dict[str, str],
) -> None:
    """One CopyVolumes makes all changes; the type is always sent, and an encrypted disk keeps its key."""
    disk_cid = volumes.make(Size=8, **before)
    assert cpi.call("update_disk", disk_cid, 9 * 1024, properties).ok() != disk_cid
    (call,) = story.parameters_of("CopyVolumes")
    beside = ("Action", "Version", "ClientToken", "TagSpecification")
    figures = {name: value for name, value in call.items() if not name.startswith(beside)}
    assert figures == {"SourceVolumeId": disk_cid, "Size": "9", **expected}


@pytest.mark.parametrize("code", ["VolumeModificationRateExceeded", "UnsupportedOperation"])
def test_not_modifiable_now(cpi: Cpi, volumes: Volumes, fake_aws: FakeAws, code: str) -> None:
    """A volume that EBS can't modify, or can't modify yet, is copied, with all figures."""
    disk_cid = volumes.make()
    fake_aws.refuse("ModifyVolume", code, "Not now.")
    new = cpi.call("update_disk", disk_cid, 2048, {"iops": 3000}).ok()
    assert new != disk_cid
    assert volumes.figures(new) == ("gp3", 2, 3000, 125)


def test_attached_disk(story: Story, copied: Copied, fake_aws: FakeAws) -> None:
    """An attached disk is not copied: the error is NotSupported, and the Director copies the data."""
    copied.attach(copied.cid)
    fake_aws.forget_calls()
    message = f"Volume '{copied.cid}' can't be encrypted in place. {NO_COPY}: it is attached"
    assert copied.update().error == story.failure("NotSupported", message)
    assert fake_aws.actions() == ["DescribeVolumes"]


def test_not_permitted(story: Story, copied: Copied) -> None:
    """Without the permission the error is NotSupported and names the action; the disk is unchanged."""
    why = story.deny("CopyVolumes")
    allow = "Allow ec2:CopyVolumes in the policy of the CPI's user or role; until then the Director copies"
    message = f"Volume '{copied.cid}' can't be encrypted in place. {NO_COPY}: {why}"
    answer = copied.update()
    assert answer.error == story.failure("NotSupported", message)
    assert allow in answer.error["message"]
    assert (copied.disks, copied.tags(copied.cid)) == ([copied.cid], OWN_TAGS)


def test_failed_copy(copied: Copied, fake_aws: FakeAws) -> None:
    """If EBS can't create the copy, for example because of its key, the error is NotSupported."""
    fake_aws.rule(action="DescribeVolumes", replace=[["<status>available<", "<status>error<"]])
    error = copied.update().error
    fake_aws.clear_rules()
    assert error["type"] == "Bosh::Clouds::NotSupported"
    assert "is in state error. For an encrypted disk, check that its KMS key exists" in error["message"]
    assert (copied.disks, copied.tags(copied.cid)) == ([copied.cid], OWN_TAGS)


def test_answer_without_element(copied: Copied, fake_aws: FakeAws) -> None:
    """After a change, an answer without an element does not begin the method again; the copy is deleted."""
    fake_aws.rule(action="DescribeVolumes", nth=3, replace=[["<volumeId>.*?</volumeId>", ""]])
    error = copied.update().error
    assert (error["type"], error["ok_to_retry"]) == ("Bosh::Clouds::CloudError", True)
    assert fake_aws.actions()[: len(UPDATE)] == UPDATE
    assert fake_aws.actions().count("CopyVolumes") == 1
    assert copied.disks == [copied.cid]


@pytest.mark.parametrize(
    ("code", "remedy"),
    [
        ("TagLimitExceeded", ""),
        ("UnauthorizedOperation", "user or role; until then the Director copies the data"),
    ],
)
def test_no_link(copied: Copied, fake_aws: FakeAws, code: str, remedy: str) -> None:
    """If the old disk can't be tagged with the link, the error is NotSupported; the copy is deleted."""
    fake_aws.refuse("CreateTags", code, status=403, times=1)
    error = copied.update().error
    assert error["type"] == "Bosh::Clouds::NotSupported"
    assert f"CreateTags failed with {code}: No." in error["message"]
    assert error["message"].endswith(remedy)
    assert (copied.disks, copied.tags(copied.cid)) == ([copied.cid], OWN_TAGS)


def test_encryption_removed(story: Story, volumes: Volumes, fake_aws: FakeAws) -> None:
    """Without the property an encrypted disk stays encrypted, which is logged; `false` is not supported."""
    disk_cid = volumes.make(Encrypted=True)
    answer = story.cpi_with(kms_key_arn=KEY).call("update_disk", disk_cid, 1024, {})
    assert answer.ok() is None
    assert "Ignored" not in answer.stderr
    assert f"Disk '{disk_cid}' stays encrypted, although nothing requests it" in answer.stderr
    refused = story.cpi_with().call("update_disk", disk_cid, 1024, {"encrypted": False}).error
    message = f"Volume '{disk_cid}' can't lose its encryption, in place or by a copy: "
    assert refused == story.failure(
        "NotSupported", f"{message}EBS encrypts every copy of an encrypted volume"
    )
    assert fake_aws.actions() == ["DescribeVolumes"] * 2


@pytest.mark.parametrize("context", [{}, REQUEST], ids=["another", "the-same"])
def test_next_request(copied: Copied, context: dict[str, str]) -> None:
    """The next request for the old disk, even the same one, gets a copy with what was written since."""
    first = copied.update(**context).ok()
    copied.use(copied.cid)
    second = copied.update(**context).ok()
    assert copied.disks == sorted([copied.cid, first, second])
    assert (copied.writes(first), copied.writes(second)) == (1, 2)
    assert copied.tags(copied.cid)["bosh_replaced_by"] == second


def test_same_request_after_sigterm(copied: Copied, fake_aws: FakeAws) -> None:
    """A request whose copy was discarded, because of a signal, succeeds when it is made again."""
    interrupt_at(fake_aws, lambda: copied.start(**REQUEST), action="CreateTags")
    assert copied.disks == [copied.cid]
    assert copied.writes(copied.update(**REQUEST).ok()) == 1


@pytest.mark.parametrize("are_tags_shown", [True, False])
def test_old_disk_attached_meanwhile(copied: Copied, fake_aws: FakeAws, *, are_tags_shown: bool) -> None:
    """If the old disk is attached before the copy is linked, the copy may lack data: it is discarded."""
    fake_aws.rule(action="CreateTags", hold_before=True)
    process = copied.start()
    try:
        assert fake_aws.wait_until_held() == ["CreateTags"]
        copied.attach(copied.cid)
        if not are_tags_shown:
            fake_aws.rule(action="DescribeVolumes", times=None, replace=[["<tagSet>.*?</tagSet>", ""]])
    finally:
        fake_aws.release()
        error = finish(process).error
    fake_aws.clear_rules()
    assert error["type"] == "Bosh::Clouds::NotSupported"
    assert f"{NO_COPY}: it was attached in the meantime" in error["message"]
    assert (copied.disks, copied.tags(copied.cid)["bosh_replaced_by"]) == ([copied.cid], "")
