"""What the aws section says is what the calls of EC2 say, unless the context or a resource says otherwise."""

from typing import Any

import pytest

from testbed.cloud import FakeAws
from testbed.executable import Cpi, config
from testbed.proxy import Relay
from testbed.world import World

pytestmark = pytest.mark.usefixtures("warm")

NOWHERE = "http://127.0.0.1:1"
KEY = "arn:aws:kms:us-east-1:123456789012:key/default"
MISSING_DISK = "vol-00000000000000001"


def parameters(fake_aws: FakeAws, action: str) -> dict[str, str]:
    """Return the parameters of the one call of this action."""
    (call,) = [call for call in fake_aws.calls() if call["action"] == action]
    found: dict[str, str] = call["parameters"]
    return found


def create_vm(cpi: Cpi, world: World, context: dict[str, Any] | None = None, **properties: Any) -> str:
    """Create a VM; returns its id."""
    networks = {"default": {"type": "dynamic", "cloud_properties": {"subnet": world.subnet_id}}}
    properties = {"instance_type": "m5.large", "availability_zone": world.zone, **properties}
    arguments = ["agent-1", world.image_id, properties, networks, [], {}]
    vm_cid: str = cpi.call("create_vm", *arguments, stemcell=2, context=context).ok()[0]
    return vm_cid


def test_vm_defaults(world: World, fake_aws: FakeAws) -> None:
    """A VM has the configured key, profile, groups, encryption and metadata options under its own."""
    options = {"http_tokens": "required", "http_put_response_hop_limit": 2}
    defaults: dict[str, Any] = {
        "default_key_name": world.key_name,
        "default_iam_instance_profile": world.instance_profile,
        "default_security_groups": ["web"],
        "encrypted": True,
        "kms_key_arn": KEY,
        "metadata_options": options,
    }
    cpi = Cpi(config(fake_aws.endpoint, **defaults))
    create_vm(cpi, world, metadata_options={"http_put_response_hop_limit": 1})
    sent = parameters(fake_aws, "RunInstances")
    assert sent["KeyName"] == world.key_name
    assert sent["IamInstanceProfile.Name"] == world.instance_profile
    assert sent["NetworkInterface.1.SecurityGroupId.1"] == world.groups["web"]
    assert (sent["MetadataOptions.HttpTokens"], sent["MetadataOptions.HttpPutResponseHopLimit"]) == (
        "required",
        "1",
    )
    ephemeral = f"BlockDeviceMapping.{1 if sent['BlockDeviceMapping.1.DeviceName'] == '/dev/sdb' else 2}.Ebs."
    assert (sent[ephemeral + "Encrypted"], sent[ephemeral + "KmsKeyId"]) == ("true", KEY)


def test_context_replaces_whole_keys(world: World, fake_aws: FakeAws) -> None:
    """A key of the context replaces the file's whole value, also of lists and endpoints; null removes it."""
    document = config(
        NOWHERE,
        region="eu-west-1",
        default_key_name="other",
        default_iam_instance_profile="other",
        default_security_groups=["other", "web"],
        metadata_options={"http_tokens": "required", "http_endpoint": "enabled"},
    )
    context = {
        "region": "us-east-1",
        "ec2_endpoint": fake_aws.endpoint,
        "default_key_name": None,
        "default_iam_instance_profile": world.instance_profile,
        "default_security_groups": ["bosh"],
        "metadata_options": {"http_tokens": "optional"},
    }
    create_vm(Cpi(document), world, context)
    sent = parameters(fake_aws, "RunInstances")
    assert "KeyName" not in sent
    assert sent["IamInstanceProfile.Name"] == world.instance_profile
    groups = [value for name, value in sent.items() if "SecurityGroupId." in name]
    assert groups == [world.groups["bosh"]]
    options = {name: value for name, value in sent.items() if name.startswith("MetadataOptions.")}
    assert options == {"MetadataOptions.HttpTokens": "optional"}


def test_context_replaces_credentials(fake_aws: FakeAws) -> None:
    """One file serves several accounts and regions: the context's keys, token and region sign the calls."""
    with Relay(fake_aws.endpoint) as relay:
        cpi = Cpi(config(relay.url, session_token="token-of-the-file"))
        context = {
            "region": "eu-west-1",
            "access_key_id": "AKIACONTEXT",
            "secret_access_key": "context-secret",
            "session_token": "token-of-the-context",
        }
        assert cpi.call("has_disk", MISSING_DISK, context=context).ok() is False
        assert cpi.call("has_disk", MISSING_DISK, context={**context, "session_token": None}).ok() is False
        seen = dict.fromkeys((call.access_key_id, call.region, call.token) for call in relay.calls)
    assert list(seen) == [
        ("AKIACONTEXT", "eu-west-1", "token-of-the-context"),
        ("AKIACONTEXT", "eu-west-1", None),
    ]


def test_stemcell(world: World, fake_aws: FakeAws) -> None:
    """aws.stemcell is merged over the stemcell's properties, key by key."""
    properties = {"ami": {"us-east-1": "ami-00000000000000001"}, "encrypted": True}
    merged = {"ami": {"us-east-1": world.image_id}, "encrypted": False}
    cpi = Cpi(config(fake_aws.endpoint, encrypted=True, stemcell=merged))
    assert cpi.call("create_stemcell", "/image", properties).ok() == f"{world.image_id} light"
    assert "CopyImage" not in fake_aws.actions()
