"""What the log shows of a call, and what an error tells of the one that it ended."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError, ConnectTimeoutError, HTTPClientError
from botocore.session import Session

from bosh_aws_cpi.aws.sdk.call_hooks import MAX_IDS, ids, install, masked
from bosh_aws_cpi.aws.sdk.clients import Clients
from bosh_aws_cpi.aws.sdk.errors import CALL, Call, call_of, described, may_be_done
from bosh_aws_cpi.call_statistics import CallStatistics
from bosh_aws_cpi.config import cpi_config
from bosh_aws_cpi.redact import MASK
from testbed.protocols import KEY_OF_TESTS

if TYPE_CHECKING:
    from collections.abc import Callable

    from testbed.cloud import FakeAws

RUN: dict[str, Any] = {
    "ImageId": "ami-1",
    "UserData": "hunter2",
    "MetadataOptions": {"HttpTokens": "required"},
    "TagSpecifications": [
        {
            "ResourceType": "instance",
            "Tags": [{"Key": "a", "Value": "hunter2"}, {"Key": "b", "Value": "hunter2"}],
        },
        {"ResourceType": "volume", "Tags": []},
    ],
}


def test_masked() -> None:
    """User data and the values of tags are masked, everything else is shown."""
    assert masked(RUN) == {
        "ImageId": "ami-1",
        "UserData": MASK,
        "MetadataOptions": {"HttpTokens": "required"},
        "TagSpecifications": [
            {"ResourceType": "instance", "Tags": [{"Key": "a", "Value": MASK}, {"Key": "b", "Value": MASK}]},
            {"ResourceType": "volume", "Tags": []},
        ],
    }


def test_parameters_stay() -> None:
    """Masking does not change the call's own parameters."""
    before = copy.deepcopy(RUN)
    masked(RUN)
    assert before == RUN


def test_masked_tags() -> None:
    """The values of tags outside of tag specifications are masked, too."""
    tags = [{"Key": "a", "Value": "hunter2"}, {"Key": "b", "Value": "hunter2"}]
    shown = masked({"Resources": ["i-1"], "Tags": tags})
    assert shown == {"Resources": ["i-1"], "Tags": [{"Key": key, "Value": MASK} for key in ("a", "b")]}
    assert {tag["Value"] for tag in tags} == {"hunter2"}


def test_masked_block() -> None:
    """An image's block is not shown: half a MiB would fill the log."""
    assert masked({"BlockIndex": 5, "BlockData": b"hunter2"}) == {"BlockIndex": 5, "BlockData": MASK}


@pytest.mark.parametrize("params", [{}, {"Resources": ["i-1"], "Filters": [{"Name": "n", "Values": ["b"]}]}])
def test_nothing_to_mask(params: dict[str, Any]) -> None:
    """A call without any of these is shown as it is."""
    assert masked(params) == params


VM, DISK, AMI = "i-0123456789abcdef0", "vol-0123456789abcdef0", "ami-01234567"
SUBNET, GROUP = "subnet-0123456789abcdef0", "sg-0123456789abcdef0"
ARN = "arn:aws:elasticloadbalancing:us-east-1:123456789012:targetgroup/web/0123456789abcdef"


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({}, ()),
        ({"VolumeId": DISK, "InstanceId": VM, "Device": "/dev/sdf"}, (DISK, VM)),
        ({"InstanceIds": [VM, VM, "i-12345678"]}, (VM, "i-12345678")),
        ({"Filters": [{"Name": "subnet-id", "Values": [SUBNET]}]}, (SUBNET,)),
        (
            {
                **RUN,
                "ImageId": AMI,
                "NetworkInterfaces": [{"SubnetId": SUBNET, "Groups": [GROUP], "DeviceIndex": 0}],
            },
            (AMI, SUBNET, GROUP),
        ),
        ({"TargetGroupArn": ARN, "Targets": [{"Id": VM}]}, (ARN, VM)),
        ({"LoadBalancerName": "web", "Instances": [{"InstanceId": VM}]}, ("web", VM)),
        ({"LoadBalancerNames": ["web"]}, ("web",)),
        ({"Names": ("web", "api")}, ("web", "api")),
        ({"PublicIps": ["192.0.2.1"], "PublicIp": "192.0.2.2"}, ("192.0.2.1", "192.0.2.2")),
        ({"Name": "web", "Description": f"of {VM}", "InstanceType": "m5.large"}, ()),
        ({"ClientToken": "0123456789abcdef" * 4, "UserData": "aS0wMTIzNDU2Nzg5YWJjZGVmMA=="}, ()),
        ({"InstanceIds": [f"i-{n:017x}" for n in range(9)]}, tuple(f"i-{n:017x}" for n in range(MAX_IDS))),
    ],
)
def test_ids(params: dict[str, Any], expected: tuple[str, ...]) -> None:
    """A call's ids are the first few ids and names in its parameters, each once."""
    assert ids(params) == expected


@pytest.mark.parametrize(
    "params",
    [
        {"Tags": [{"Key": "a", "Value": "word-deadbeef0123"}]},
        {
            "TagSpecifications": [
                {"ResourceType": "volume", "Tags": [{"Key": "a", "Value": "word-deadbeef0123"}]}
            ]
        },
    ],
    ids=["Tags", "TagSpecifications"],
)
def test_ids_in_tags(params: dict[str, Any]) -> None:
    """The value of a tag is shown nowhere, whatever it looks like."""
    assert ids({**params, "Resources": [DISK]}) == (DISK,)


@pytest.fixture
def clients(fake_aws: FakeAws, monkeypatch: pytest.MonkeyPatch) -> Clients:
    """Return clients as calls get them, which repeat nothing."""
    assert fake_aws.calls() == []
    monkeypatch.setenv("no_proxy", "")
    monkeypatch.setenv("NO_PROXY", "")  # the clients add to both
    names = ("ec2_endpoint", "elb_endpoint", "sts_endpoint", "ebs_endpoint")
    keys = {"access_key_id": KEY_OF_TESTS, "secret_access_key": "unit"}
    aws = {"max_retries": 0, "region": "us-east-1", **dict.fromkeys(names, fake_aws.endpoint), **keys}
    return Clients(cpi_config.parse({"cloud": {"properties": {"aws": aws}}}, {}, {}).aws, CallStatistics())


CALLS: dict[str, tuple[Callable[[Clients], object], tuple[str, ...]]] = {
    "ec2:AttachVolume": (
        lambda clients: clients.ec2.attach_volume(VolumeId=DISK, InstanceId=VM, Device="/dev/sdf"),
        (DISK, VM),
    ),
    "elasticloadbalancing:DescribeLoadBalancers": (
        lambda clients: clients.elb.describe_load_balancers(LoadBalancerNames=["web"]),
        ("web",),
    ),
    "elasticloadbalancing:DescribeTargetHealth": (
        lambda clients: clients.elbv2.describe_target_health(TargetGroupArn=ARN, Targets=[{"Id": VM}]),
        (ARN, VM),
    ),
    "ebs:CompleteSnapshot": (
        lambda clients: clients.ebs.complete_snapshot(
            SnapshotId="snap-0123456789abcdef0", ChangedBlocksCount=1
        ),
        ("snap-0123456789abcdef0",),
    ),
    "sts:GetCallerIdentity": (lambda clients: clients.sts.get_caller_identity(), ()),
}


def known(error: Exception) -> tuple[str, tuple[str, ...]]:
    """Return the call that an error knows: its name and what it is about."""
    call = call_of(error)
    assert call is not None
    return call.action, call.ids


@pytest.mark.parametrize("action", CALLS)
def test_call_of_an_error(fake_aws: FakeAws, clients: Clients, action: str) -> None:
    """An error that AWS answers knows its call, under the name that IAM policies have for it."""
    call, about = CALLS[action]
    fake_aws.rule(action="*", error={"code": "Sorry", "message": "no", "status": 403})
    with pytest.raises(ClientError) as caught:
        call(clients)
    assert known(caught.value) == (action, about)
    assert described(caught.value).endswith(f", for {', '.join(about)})" if about else ")")


@pytest.mark.parametrize("action", CALLS)
def test_call_of_a_lost_answer(fake_aws: FakeAws, clients: Clients, action: str) -> None:
    """An error that AWS did not answer knows its call, too, and tells it once."""
    call, about = CALLS[action]
    fake_aws.rule(action="*", drop="before")
    with pytest.raises(HTTPClientError) as caught:
        call(clients)
    assert known(caught.value) == (action, about)
    named = " for ".join([action, *([", ".join(about)] if about else [])])
    assert described(caught.value) == f"{type(caught.value).__name__}: {caught.value} ({named})"


def test_success(fake_aws: FakeAws, clients: Clients) -> None:
    """An answer that is no error stays as AWS gave it."""
    answer = clients.ec2.describe_instances()
    assert sorted(answer) == ["Reservations", "ResponseMetadata"]
    assert fake_aws.actions() == ["DescribeInstances"]


def test_keys_that_can_not_be_renewed() -> None:
    """If a retry gets no keys of the role, the first attempt may have taken effect nevertheless."""
    session = Session()
    install(session, CallStatistics())
    error = ConnectTimeoutError(endpoint_url="https://sts.example.test")
    setattr(error, CALL, Call("sts:AssumeRole", ()))
    assert not may_be_done(error)
    own = Call("ec2:CreateVolume", (), was_uncertain=True)
    session.emit("after-call-error.ec2.CreateVolume", exception=error, context={CALL: own})
    assert may_be_done(error)
    assert "sts:AssumeRole" in described(error)
