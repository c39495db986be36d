"""Secrets are seen nowhere: not in the log, not in a response, whatever a call does and however it fails.

Every secret here holds the word SEEDED, whatever characters it has around it: where that
word is to be seen, a secret is.
"""

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from bosh_aws_cpi.rpc.methods import METHODS
from testbed.cloud import FakeAws
from testbed.executable import Answer, Cpi, config
from testbed.killing import interrupt_at
from testbed.registry import USER, Registry
from testbed.world import World

pytestmark = pytest.mark.usefixtures("warm")

VM, DISK = "i-00000000000000001", "vol-00000000000000001"
PRIVATE_KEY = "-----BEGIN RSA PRIVATE KEY-----\nMIISEEDED+/=\nSEEDEDtoo\n-----END RSA PRIVATE KEY-----\n"
CERTIFICATE = PRIVATE_KEY.replace("RSA PRIVATE KEY", "CERTIFICATE")
KEYS: dict[str, Any] = {
    "access_key_id": "AKIASEEDED0000000001",
    "secret_access_key": "k/ey+SEEDED=\"quoted'\\~",
    "session_token": "to/ken+SEEDED==%41&<tag>",
}
REGISTRY_PASSWORD = 're"g\\SEEDED/@:#? ü%'
MBUS_PASSWORD = 'mb"us\\SEEDED@:#ü%'
BLOBSTORE_PASSWORD = 'bl"ob\\SEEDED\n ü'
VM_PASSWORD = "$6$SEEDED$/.x"
SECRETS = (*KEYS.values(), REGISTRY_PASSWORD, MBUS_PASSWORD, BLOBSTORE_PASSWORD, CERTIFICATE)
"""Those of the configuration, which every call knows."""
AGENT: dict[str, Any] = {
    "mbus": f"nats://nats:{MBUS_PASSWORD}@10.0.1.6:4222",
    "blobstore": {
        "provider": "dav",
        "options": {
            "password": BLOBSTORE_PASSWORD,
            "tls": {"cert": {"ca": CERTIFICATE}},
            "secret_access_key": "x-SEEDED-x",
        },
    },
}
ENV: dict[str, Any] = {
    "bosh": {
        "password": VM_PASSWORD,
        "mbus": {"cert": {"ca": CERTIFICATE, "certificate": CERTIFICATE, "private_key": PRIVATE_KEY}},
        "tags": {"owner": "tag-SEEDED"},
    },
    "plain": "env-SEEDED",
}


def clean(answer: Answer) -> Answer:
    """Check that a call's log, which must be there, and its response hold no secret."""
    assert answer.document.keys() == {"result", "error", "log"}
    assert "INFO: Finished" in answer.stderr or "ERROR: " in answer.stderr
    assert "SEEDED" not in answer.stderr
    assert "SEEDED" not in answer.stdout.decode()
    return answer


def spellings(secret: str) -> list[str]:
    """Return a secret as it is, in JSON with and without escapes, in Python and in a URL."""
    in_json = [json.dumps(secret), json.dumps(secret, ensure_ascii=False)]
    return [secret, *in_json, repr(secret), quote(secret, safe="")]


def echo(*secrets: str) -> dict[str, Any]:
    """Make an error of AWS whose message holds these secrets, in every spelling."""
    message = " and ".join(text for secret in secrets for text in spellings(secret))
    return {"code": "UnauthorizedOperation", "message": f"No: {message}", "status": 403}


@pytest.fixture
def registry() -> Iterator[Registry]:
    """Serve as the registry."""
    with Registry(USER, REGISTRY_PASSWORD) as server:
        yield server


@pytest.fixture
def seeded(fake_aws: FakeAws, registry: Registry, tmp_path: Path) -> Iterator[Cpi]:
    """Return the executable with secrets everywhere, logging all it does; its event log must have none."""
    url = registry.url.replace("://", f"://{USER}:{quote(REGISTRY_PASSWORD, safe='')}@")
    section = {"endpoint": url, "user": USER, "password": REGISTRY_PASSWORD}
    document = config(fake_aws.endpoint, agent=AGENT, registry=section, max_retries=0, **KEYS)
    events = tmp_path / "events.log"
    debug = {"cpi": {"log_level": "debug"}, "event_log": str(events)}
    document["cloud"]["properties"]["debug"] = debug
    yield Cpi(document)
    assert not (events.exists() and "SEEDED" in events.read_text())


def arguments_of_vm(world: World) -> list[Any]:
    """Return create_vm's arguments."""
    networks = {"default": {"type": "dynamic", "cloud_properties": {"subnet": world.subnet_id}}}
    properties = {"instance_type": "m5.large", "availability_zone": world.zone}
    return ["agent-1", world.image_id, properties, networks, [], ENV]


def test_every_method_succeeding(world: World, seeded: Cpi) -> None:
    """No method shows a secret when all goes well."""
    called = set()

    def call(method: str, *arguments: Any, **more: Any) -> Any:
        called.add(method)
        return clean(seeded.call(method, *arguments, **more)).ok()

    properties = {"ami": {"us-east-1": world.image_id}}
    stemcell = call("create_stemcell", "/image", properties, {"tags": {"a": "b"}}, api_version=3)
    vm_cid = call("create_vm", *arguments_of_vm(world))[0]
    disk_cid = call("create_disk", 1024, {"tags": {"owner": "x"}}, vm_cid)
    for method in ("attach_disk", "detach_disk"):
        call(method, vm_cid, disk_cid)
    call("set_vm_metadata", vm_cid, {"name": "bosh/0"})
    call("set_disk_metadata", disk_cid, {"name": "bosh/0"})
    for method in ("has_vm", "get_disks", "reboot_vm", "delete_vm"):
        call(method, vm_cid)
    for method in ("has_disk", "delete_disk"):
        call(method, disk_cid)
    call("delete_stemcell", stemcell)
    call("calculate_vm_cloud_properties", {"cpu": 1, "ram": 1024, "ephemeral_disk_size": 1024})
    for method in ("info", "ping"):
        call(method)
    for method in sorted(set(METHODS) - called):
        assert clean(seeded.call(method, VM, {})).error is not None


@pytest.mark.parametrize(
    ("method", "arguments", "action", "code"),
    [
        ("delete_vm", [VM], "TerminateInstances", "InvalidInstanceID.NotFound"),
        ("set_disk_metadata", [DISK, {"a": "b"}], "CreateTags", "TagLimitExceeded"),
    ],
)
def test_aws_echoes(
    fake_aws: FakeAws, seeded: Cpi, method: str, arguments: Any, action: str, code: str
) -> None:
    """AWS's message is passed on without the secrets in it."""
    fake_aws.rule(action=action, error={**echo(*SECRETS), "code": code})
    answer = clean(seeded.call(method, *arguments))
    assert f"{action} answered 403 {code}: No: <redacted> and " in answer.stderr


def test_cut_document(fake_aws: FakeAws, seeded: Cpi) -> None:
    """A secret in a document of which AWS quotes only the beginning is masked, in no time."""
    message = '{"user_data":"' + r"line-SEEDED\n" * 40
    fake_aws.refuse("DescribeVolumes", "Malformed", message)
    assert '{"user_data":"<redacted>"' in clean(seeded.call("has_disk", DISK)).error["message"]


def test_event_log(fake_aws: FakeAws, seeded: Cpi, tmp_path: Path) -> None:
    """Where a code, an id or a caller's id in the event log would be a secret, there is nothing."""
    secret = KEYS["access_key_id"]
    said = [["InvalidVolume.NotFound", secret], ["<RequestID>[^<]*", f"<RequestID>{secret}"]]
    fake_aws.rule(action="DescribeVolumes", replace=said)
    answer = seeded.call("has_disk", DISK, context={"request_id": secret})
    assert answer.error["type"] == "Bosh::Clouds::CloudError"
    event = json.loads((tmp_path / "events.log").read_text())
    assert (event["request_id"], event["ids"]) == (None, [DISK])
    assert [(each["code"], each["request_id"]) for each in event["aws"]["failures"]] == [(None, None)]


def test_aws_echoes_on_create_vm(world: World, fake_aws: FakeAws, seeded: Cpi) -> None:
    """The secrets of a VM are taken out of an error that its launch ends with, whole settings too."""
    error = echo(*SECRETS, VM_PASSWORD, PRIVATE_KEY)
    settings = {**AGENT, "env": {"bosh": {**ENV["bosh"], "tags": {}}}}
    error["message"] += f" {json.dumps(settings)} {settings} {AGENT['mbus']}"
    fake_aws.rule(action="RunInstances", error=error)
    answer = clean(seeded.call("create_vm", *arguments_of_vm(world), stemcell=2))
    assert answer.error["message"].startswith(
        "RunInstances failed with UnauthorizedOperation: No: <redacted>"
    )
    assert "@10.0.1.6:4222 (request id 00000000-0000-4000-8000-000000000000" in answer.error["message"]


@pytest.mark.parametrize("stemcell", [1, 2])
def test_aws_repeats_parameters(world: World, fake_aws: FakeAws, seeded: Cpi, stemcell: int) -> None:
    """An error that repeats the launch's parameters, or user_data alone, shows no part of user_data."""
    said = {"code": "InvalidParameterValue", "message": "No: {parameters}", "status": 400}
    fake_aws.rule(action="RunInstances", error=said)
    env = {**ENV, "bosh": {**ENV["bosh"], "tags": {}}}  # tags are not secret: anybody may read them in AWS
    arguments = [*arguments_of_vm(world)[:-1], env]
    answer = clean(seeded.call("create_vm", *arguments, stemcell=stemcell))
    (call,) = [each for each in fake_aws.calls() if each["action"] == "RunInstances"]
    blob = call["parameters"]["UserData"]
    fake_aws.clear_rules()
    fake_aws.rule(action="RunInstances", error={**said, "message": f"No: {blob} is wrong"})
    again = clean(seeded.call("create_vm", *arguments, stemcell=stemcell))
    shown = answer.stdout.decode() + answer.stderr + again.stdout.decode() + again.stderr
    assert "No: Action=RunInstances&" in answer.error["message"]
    assert "UserData=<redacted>" in answer.error["message"]
    assert "No: <redacted> is wrong" in again.error["message"]
    pieces = {blob[start : start + 24] for start in range(0, len(blob) - 24, 4)}
    assert [piece for piece in pieces if piece in shown or quote(piece, safe="") in shown] == []


def test_registry_fails(fake_aws: FakeAws, registry: Registry, seeded: Cpi) -> None:
    """A failing registry's answer is not shown, nor is the password in its address."""
    body = " ".join(text for secret in SECRETS for text in spellings(secret))
    registry.answer(500, body)
    message = clean(seeded.call("detach_disk", VM, DISK, stemcell=1)).error["message"]
    assert message == f"Cannot read settings for '{VM}', got HTTP 500 (registry at {registry.url})"
    assert fake_aws.actions() == ["DetachVolume", *["DescribeVolumes"] * 2]


@pytest.mark.parametrize(
    "arguments",
    [
        ["agent", "ami-1", {"instance_type": {"x": "SEEDED"}, "availability_zone": ["SEEDED"]}, {}, [], {}],
        [["SEEDED"], {"SEEDED": 1}, "SEEDED", "SEEDED", "SEEDED", ["SEEDED"]],
    ],
)
def test_wrong_types(seeded: Cpi, arguments: Any) -> None:
    """An argument of the wrong kind is refused by its kind."""
    assert clean(seeded.call("create_vm", *arguments, stemcell=2)).error is not None


def test_terminated(world: World, fake_aws: FakeAws, seeded: Cpi) -> None:
    """A call that is ended by a signal shows no secret while it cleans up."""
    fake_aws.rule(action="TerminateInstances", times=1, error=echo(*SECRETS, VM_PASSWORD))
    start = partial(seeded.start, "create_vm", *arguments_of_vm(world))
    answer = clean(interrupt_at(fake_aws, start, action="RunInstances", when="after"))
    assert "SIGTERM" in answer.error["message"]
    assert "TerminateInstances answered 403" in answer.stderr
