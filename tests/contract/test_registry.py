"""The registry of old stemcells over HTTP: what it is told, and what its answers become."""

import base64
import json
import re
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from testbed.cloud import FakeAws
from testbed.executable import Answer, Cpi, config
from testbed.registry import PASSWORD, USER, Registry
from testbed.world import World

pytestmark = pytest.mark.usefixtures("warm")

VM, DISK = "i-00000000000000001", "vol-00000000000000001"
URL_PASSWORD = "url-secret-0c5d"
SECRET = "document-secret-77e1"
DOCUMENT: dict[str, Any] = {
    "agent_id": "agent-1",
    "disks": {"system": "/dev/xvda", "persistent": {DISK: "/dev/sdf", "vol-2": {"path": "/dev/sdg"}}},
    "env": {"bosh": {"password": SECRET, "groups": ["ä", "\u2028", "🙂"]}},
    "numbers": [0, -1, 2.5, 12345678901234567890, True, False, None, "", {}, []],
    "networks": {"default": {"ip": "10.0.1.5", "dns": None}},
}


@pytest.fixture
def registry() -> Iterator[Registry]:
    """Serve as the registry, with a document of the VM."""
    with Registry() as server:
        server.documents[VM] = json.dumps(DOCUMENT)
        yield server


def cpi_of(fake_aws: FakeAws, registry: Registry, **section: Any) -> Cpi:
    """Return the executable with this registry; the URL holds a user and a password of its own."""
    endpoint = registry.url.replace("://", f"://url-user:{URL_PASSWORD}@")
    section = {"endpoint": endpoint, "user": USER, "password": PASSWORD, **section}
    return Cpi(config(fake_aws.endpoint, registry=section))


def failed(answer: Answer, message: str) -> None:
    """Check for a CloudError that begins like this, names the registry, and holds no secret."""
    assert answer.error["type"] == "Bosh::Clouds::CloudError"
    assert answer.error["message"].startswith(message)
    assert re.search(r" \(registry at http://127\.0\.0\.1:\d+\)$", answer.error["message"])
    for secret in (PASSWORD, URL_PASSWORD, SECRET):
        assert secret not in answer.stdout.decode() + answer.stderr


def arguments_of_vm(world: World) -> list[Any]:
    """Return create_vm's arguments."""
    networks = {"default": {"type": "dynamic", "cloud_properties": {"subnet": world.subnet_id}}}
    properties = {"instance_type": "m5.large", "availability_zone": world.zone}
    return ["agent-1", world.image_id, properties, networks, [], {"bosh": {"password": "x"}}]


def test_update(world: World, fake_aws: FakeAws, registry: Registry) -> None:
    """A new VM's settings are put as JSON with the section's user; user_data has the endpoint as given."""
    endpoint = registry.url.removeprefix("http://").join(["url-user:url%2Dsecret@", "/"])
    registry.user, registry.password = "üser", "pässwörd:€/@ 🙂"
    cpi = cpi_of(fake_aws, registry, endpoint=endpoint, user=registry.user, password=registry.password)
    vm_cid = cpi.call("create_vm", *arguments_of_vm(world), api_version=1).ok()
    (request,) = registry.requests
    assert (request.method, request.path) == ("PUT", f"/instances/{vm_cid}/settings")
    assert request.headers["content-type"] == "application/json"
    login = base64.b64encode(f"{registry.user}:{registry.password}".encode()).decode()
    assert request.headers["authorization"] == f"Basic {login}"
    assert json.loads(request.body)["agent_id"] == "agent-1"
    (call,) = [call for call in fake_aws.calls() if call["action"] == "RunInstances"]
    assert json.loads(base64.b64decode(call["parameters"]["UserData"]))["registry"] == {"endpoint": endpoint}


def test_update_of_a_new_vm_fails(world: World, fake_aws: FakeAws, registry: Registry) -> None:
    """A VM whose settings can't be written is not left behind."""
    registry.answer(500, SECRET)
    answer = cpi_of(fake_aws, registry).call("create_vm", *arguments_of_vm(world))
    vm_cid = registry.requests[0].path.split("/")[2]
    failed(answer, f"Cannot update settings for '{vm_cid}', got HTTP 500")
    assert world.state() == world.empty


@pytest.mark.parametrize("method", ["attach_disk", "detach_disk"])
def test_change_keeps_the_rest(world: World, fake_aws: FakeAws, registry: Registry, method: str) -> None:
    """Attaching and detaching read the document, change the disk's entry, and write all else back."""
    vm_cid = world.ec2.run_instances(
        ImageId=world.image_id, InstanceType="t2.micro", MinCount=1, MaxCount=1, SubnetId=world.subnet_id
    )["Instances"][0]["InstanceId"]
    disk_cid = world.ec2.create_volume(AvailabilityZone=world.zone, Size=1)["VolumeId"]
    before = json.loads(json.dumps(DOCUMENT))
    after = json.loads(json.dumps(DOCUMENT))
    if method == "attach_disk":
        after["disks"]["persistent"][disk_cid] = "/dev/sdf"
    else:
        world.ec2.attach_volume(VolumeId=disk_cid, InstanceId=vm_cid, Device="/dev/sdh")
        before["disks"]["persistent"][disk_cid] = "/dev/sdh"
    registry.documents[vm_cid] = json.dumps(before)
    cpi_of(fake_aws, registry).call(method, vm_cid, disk_cid, stemcell=1).ok()
    assert [request.method for request in registry.requests] == ["GET", "PUT"]
    assert registry.settings(vm_cid) == after


@pytest.mark.parametrize("disks", [None, {"persistent": []}])
def test_disks_of_another_form(fake_aws: FakeAws, registry: Registry, disks: object) -> None:
    """Settings whose disks are no objects have none: as in the Ruby CPI, null is as good as no key."""
    registry.documents[VM] = json.dumps({**DOCUMENT, "disks": disks})
    assert cpi_of(fake_aws, registry).call("detach_disk", VM, DISK, stemcell=1).ok() is None
    assert [request.method for request in registry.requests] == ["GET"]


@pytest.mark.parametrize("status", [204, 302])
def test_update_status(fake_aws: FakeAws, registry: Registry, status: int) -> None:
    """Any 2xx is an update that was taken, and nothing else is."""
    registry.answer(200, json.dumps({"settings": json.dumps(DOCUMENT)}))
    registry.answer(status)
    answer = cpi_of(fake_aws, registry).call("detach_disk", VM, DISK, stemcell=1)
    if status < 300:
        assert answer.ok() is None
    else:
        failed(answer, f"Cannot update settings for '{VM}', got HTTP {status}")
    assert [request.method for request in registry.requests] == ["GET", "PUT"]


@pytest.mark.parametrize("status", [302, 404])
def test_read_status(fake_aws: FakeAws, registry: Registry, status: int) -> None:
    """Only a 200 is an answer to a read."""
    registry.answer(status, json.dumps({"settings": json.dumps(DOCUMENT)}))
    answer = cpi_of(fake_aws, registry).call("detach_disk", VM, DISK, stemcell=1)
    failed(answer, f"Cannot read settings for '{VM}', got HTTP {status}")
    assert len(registry.requests) == 1


def test_wrong_password(fake_aws: FakeAws, registry: Registry) -> None:
    """The section's password counts: a right one in the URL does not help a wrong one."""
    cpi = cpi_of(fake_aws, registry, endpoint=registry.endpoint, password="section-secret")
    answer = cpi.call("detach_disk", VM, DISK, stemcell=1)
    failed(answer, f"Cannot read settings for '{VM}', got HTTP 401")
    assert "section-secret" not in answer.stderr + answer.stdout.decode()


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (f'["{SECRET}"]', "Invalid registry response, Hash expected, got Array"),
        (json.dumps({"settings": f'{{"{SECRET}'}), f"Cannot parse settings for '{VM}': "),
        (json.dumps({"settings": json.dumps([SECRET])}), "Invalid settings format, Hash expected, got Array"),
    ],
)
def test_body(fake_aws: FakeAws, registry: Registry, body: str, message: str) -> None:
    """An invalid document is refused by its kind, and never quoted."""
    registry.answer(200, body)
    answer = cpi_of(fake_aws, registry).call("detach_disk", VM, DISK, stemcell=1)
    failed(answer, message)
    assert message.endswith(": ") or answer.error["message"] == f"{message} (registry at {registry.url})"


@pytest.mark.parametrize("status", [200, 404, 500])
def test_delete_status(fake_aws: FakeAws, registry: Registry, status: int) -> None:
    """A document is deleted, also one of a VM that is gone; that it is not there is fine."""
    registry.answer(status)
    answer = cpi_of(fake_aws, registry).call("delete_vm", VM, stemcell=1)
    assert [(request.method, request.path) for request in registry.requests] == [
        ("DELETE", f"/instances/{VM}/settings")
    ]
    if status < 500:
        assert answer.error["type"] == "Bosh::Clouds::VMNotFound"
    else:
        failed(answer, f"Cannot delete settings for '{VM}', got HTTP {status}")


def test_unreachable(fake_aws: FakeAws, registry: Registry) -> None:
    """A registry that can't be reached is a typed error with its address, without password and path."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
        endpoint = f"http://url-user:{URL_PASSWORD}@{address}/x?{SECRET}"
        answer = cpi_of(fake_aws, registry, endpoint=endpoint).call("detach_disk", VM, DISK, stemcell=1)
    failed(answer, f"Cannot read settings for '{VM}': ConnectionError: ")
    assert answer.error["message"].endswith(f" (registry at http://{address})")
