"""What is shown of a call's parameters, the SDK's hooks that calls have, and pages in place of JSON."""

import copy
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from botocore.awsrequest import AWSResponse
from botocore.exceptions import ClientError, ConnectTimeoutError
from botocore.parsers import EC2QueryParser, ResponseParserError
from botocore.session import Session

from bosh_aws_cpi.aws.sdk.call_hooks import MAX_IDS, ids, install, mask
from bosh_aws_cpi.aws.sdk.clients import Clients
from bosh_aws_cpi.aws.sdk.errors import CALL, Call, describe_error, may_have_taken_effect
from bosh_aws_cpi.aws.sdk.permissions import operations
from bosh_aws_cpi.aws.sdk.translation import translate
from bosh_aws_cpi.call_statistics import CallStatistics
from bosh_aws_cpi.config.aws_config import ENDPOINTS
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.redact import MASK
from tests.unit.called_operations import ALL_SERVICES
from tests.unit.conftest import ProgramLog

SECRET = "hunter2"
VM, DISK, AMI = "i-0123456789abcdef0", "vol-0123456789abcdef0", "ami-01234567"
SUBNET, GROUP = "subnet-0123456789abcdef0", "sg-0123456789abcdef0"
ARN = "arn:aws:elasticloadbalancing:us-east-1:123456789012:targetgroup/web/0123456789abcdef"


def run(value: str) -> dict[str, Any]:
    """Return the parameters of a launch with these secrets."""
    tags = [{"Key": key, "Value": value} for key in "ab"]
    specifications = [{"ResourceType": "instance", "Tags": tags}, {"ResourceType": "volume", "Tags": []}]
    return {"ImageId": AMI, "UserData": value, "TagSpecifications": specifications, "Tags": tags}


@pytest.mark.parametrize(
    ("params", "shown"),
    [
        (run(SECRET), run(MASK)),
        ({"BlockIndex": 5, "BlockData": b"hunter2"}, {"BlockIndex": 5, "BlockData": MASK}),
    ],
)
def test_masked(params: dict[str, Any], shown: dict[str, Any]) -> None:
    """User data, blocks and the values of tags are masked, everything else is shown; the call's own stay."""
    before = copy.deepcopy(params)
    assert mask(params) == shown
    assert before == params


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({"InstanceIds": [VM, VM, "i-12345678"]}, (VM, "i-12345678")),
        ({"Filters": [{"Name": "subnet-id", "Values": [SUBNET]}]}, (SUBNET,)),
        (
            {
                **run("word-deadbeef0123"),
                "UserData": "",
                "Interfaces": [{"SubnetId": SUBNET, "Groups": [GROUP]}],
            },
            (AMI, SUBNET, GROUP),
        ),
        ({"TargetGroupArn": ARN, "Targets": [{"Id": VM}]}, (ARN, VM)),
        ({"LoadBalancerNames": ["web"], "Names": ("web", "api")}, ("web", "api")),
        ({"PublicIps": ["192.0.2.1"], "PublicIp": "192.0.2.2"}, ("192.0.2.1", "192.0.2.2")),
        ({"Name": "web", "Description": f"of {VM}", "InstanceType": "m5.large"}, ()),
        ({"ClientToken": "0123456789abcdef" * 4, "UserData": "aS0wMTIzNDU2Nzg5YWJjZGVmMA=="}, ()),
        ({"InstanceIds": [f"i-{n:017x}" for n in range(9)]}, tuple(f"i-{n:017x}" for n in range(MAX_IDS))),
    ],
)
def test_ids(params: dict[str, Any], expected: tuple[str, ...]) -> None:
    """A call's ids are the first few ids and names in its parameters, each once; tags are secret."""
    assert ids(params) == expected


def test_keys_that_can_not_be_renewed() -> None:
    """If a retry gets no keys of the role, the first attempt may have taken effect nevertheless."""
    session = Session()
    install(session, CallStatistics())
    error = ConnectTimeoutError(endpoint_url="https://sts.example.test")
    setattr(error, CALL, Call("sts:AssumeRole", ()))
    assert not may_have_taken_effect(error)
    own = Call("ec2:CreateVolume", (), was_uncertain=True)
    session.emit("after-call-error.ec2.CreateVolume", exception=error, context={CALL: own})
    assert may_have_taken_effect(error)
    assert "sts:AssumeRole" in describe_error(error)


def test_hooks() -> None:
    """Each call that the CPI makes has the hooks of the SDK that it has in a plain session, and ours."""
    own, plain = Session(include_builtin_handlers=False), Session()
    install(own, CallStatistics())
    assert sorted(ENDPOINTS) == sorted(ALL_SERVICES)

    def of(session: Session, event: str) -> list[Any]:
        emitter: Any = session.get_component("event_emitter")
        name = vars(type(emitter))["_alias_event_name"](emitter, event)
        found = vars(vars(emitter)["_emitter"])["_handlers"].prefix_search(name)
        return [each for each in found if getattr(each, "__module__", "").startswith("botocore")]

    kinds: tuple[str, ...] = (
        "before-parameter-build",
        "provide-client-params",
        "before-call",
        "before-sign",
        "choose-signer",
    )
    kinds += ("before-send", "after-call", "needs-retry", "before-parse", "getattr", "request-created")
    total = 0
    for service in ALL_SERVICES:
        model = plain.get_service_model(service)
        for operation in sorted({*model.operation_names} & operations(for_commands=True)):
            for kind in kinds:
                event = f"{kind}.{model.service_id.hyphenize()}.{operation}"
                assert of(own, event) == of(plain, event), event
                total += len(of(plain, event))
    assert total > 100


PAGES = {
    "xhtml": f"<html><head><title>No</title></head><body>{SECRET}</body></html>",
    "html": f"<!DOCTYPE html><html><p>{SECRET}<br></html>",
    "text": SECRET,
    "json": f'{{"why": "{SECRET}"}}',
    "nesting": "[" * 100_000,
    "list": "[]",
    "nothing": "",
}


class Proxy:
    """Answers all calls of a client itself.

    Attributes:
        asked: How often it was asked.
        page: What it answers.
    """

    def __init__(self, client: Any, status: int, page: str = "") -> None:
        """Come in between."""
        self.asked = 0
        self._status = status
        self._headers: Any = {"content-type": "text/html"}
        self.page = page
        client.meta.events.register("before-send", self._send)

    def _send(self, request: Any, **_: Any) -> AWSResponse:
        self.asked += 1
        return AWSResponse(request.url, self._status, self._headers, self)

    def stream(self) -> Iterator[bytes]:
        """Return the page."""
        yield self.page.encode()


@pytest.mark.parametrize("status", [200, 302, 403, 429, 502])
def test_page(clients: Clients, program_log: ProgramLog, status: int) -> None:
    """A page in place of JSON proves nothing, whatever its HTTP status; it is not quoted."""
    proxy = Proxy(clients.ebs, status)
    for proxy.page in PAGES.values():
        proxy.asked = 0
        with pytest.raises((ClientError, ResponseParserError)) as caught:
            clients.ebs.complete_snapshot(SnapshotId="snap-01234567", ChangedBlocksCount=1)
        typed = translate(caught.value, "attach_disk")
        assert isinstance(typed, CloudError)
        assert (proxy.asked, may_have_taken_effect(caught.value), typed.ok_to_retry) == (3, True, True)
        assert SECRET not in f"{caught.value} {typed.message} {program_log.text}"


def test_document_in_headers(clients: Clients) -> None:
    """An answer whose elements are all in its headers may lack a body, but has no other one."""
    proxy = Proxy(clients.ebs, 201)
    block: dict[str, Any] = {
        "BlockData": b"x",
        "DataLength": 1,
        "Checksum": "x",
        "ChecksumAlgorithm": "SHA256",
    }
    put: Any = partial(clients.ebs.put_snapshot_block, SnapshotId="snap-01234567", BlockIndex=0, **block)
    for proxy.page in ("", "{}"):
        put()
    proxy.page = "<html>"
    with pytest.raises(ResponseParserError):
        put()


def test_memory(clients: Clients, monkeypatch: pytest.MonkeyPatch) -> None:
    """That this process lacks memory is no fault of the answer."""

    def lack(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(EC2QueryParser, "parse", lack)
    Proxy(clients.ec2, 200, "<DescribeVolumesResponse/>")
    with pytest.raises(MemoryError):
        clients.ec2.describe_volumes()


def test_missing_entry(clients: Clients) -> None:
    """An empty list whose first entry is read is named, too."""
    page = "<DescribeVolumesResponse><volumeSet/></DescribeVolumesResponse>"
    Proxy(clients.ec2, 200, page)
    volumes = clients.ec2.describe_volumes(VolumeIds=["vol-01234567"])["Volumes"]
    with pytest.raises(ResponseParserError) as caught:
        volumes[0]
    assert describe_error(caught.value).endswith("(ec2:DescribeVolumes for vol-01234567, without Volumes)")
