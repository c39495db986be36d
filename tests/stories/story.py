"""What most stories do: ask for a VM, let AWS refuse, read what was sent, answered and left."""

import base64
import json
from typing import Any

import pytest

from testbed.cloud import FakeAws
from testbed.executable import Answer, Cpi, Process, config
from testbed.rules import REQUEST_ID
from testbed.world import World
from tests.stories.aws_message import AwsMessage

Properties = dict[str, Any] | None
AGENT = [{"Key": "bosh_agent_id", "Value": "agent-0"}]
"""The tags that each VM has."""


def below(parameters: dict[str, str], name: str) -> dict[str, str]:
    """Return the parameters below a name of RunInstances, without that name."""
    prefix = f"{name}."
    return {key.removeprefix(prefix): value for key, value in parameters.items() if key.startswith(prefix)}


class Story:
    """Short ways to ask and to read; what is not said is ordinary."""

    def __init__(self, cpi: Cpi, fake_aws: FakeAws, world: World) -> None:
        """Take the executable, AWS, and what is there before the story begins."""
        self._cpi, self._fake_aws, self._world = cpi, fake_aws, world

    def cpi_with(self, **aws: Any) -> Cpi:
        """Return an executable with other configuration."""
        return Cpi(config(self._fake_aws.endpoint, **aws))

    def network(
        self, ip: str | None = None, subnet: int = 0, groups: str | list[Any] | None = None, **keys: Any
    ) -> dict[str, Any]:
        """Write a network in one of the laid subnets: manual with an address, else dynamic."""
        properties: dict[str, Any] = {"subnet": self._world.subnet_ids[subnet]}
        if groups is not None:
            properties["security_groups"] = groups
        kind: dict[str, Any] = {"type": "manual", "ip": ip} if ip else {"type": "dynamic"}
        return {**kind, "cloud_properties": properties, **keys}

    def vm_arguments(
        self,
        properties: Properties = None,
        networks: Properties = None,
        disks: list[str] | None = None,
        env: Properties = None,
        **more: Any,
    ) -> list[Any]:
        """Write create_vm's arguments."""
        return [
            more.get("agent_id", "agent-1"),
            more.get("stemcell_cid", f"{self._world.image_id} light"),
            {"instance_type": "t3.micro", "availability_zone": self._world.zone, **(properties or {})},
            {"private": self.network("10.0.1.10")} if networks is None else networks,
            disks or [],
            env,
        ]

    def create_vm(self, *given: Any, executable: Cpi | None = None, **more: Any) -> Answer:
        """Ask for a VM without registry, and wait for the answer."""
        return (executable or self._cpi).call("create_vm", *self.vm_arguments(*given, **more), stemcell=2)

    def start_vm(self, *given: Any, **more: Any) -> Process:
        """Do the same and do not wait for it; the caller ends it."""
        return self._cpi.start("create_vm", *self.vm_arguments(*given, **more), stemcell=2)

    def lay_vm(self, instance_type: str = "t3.micro", **parameters: Any) -> str:
        """Have an instance run that the executable did not launch."""
        parameters.setdefault("SubnetId", self._world.subnet_id)
        parameters.setdefault("TagSpecifications", [{"ResourceType": "instance", "Tags": AGENT}])
        answer = self._world.ec2.run_instances(
            ImageId=self._world.image_id, InstanceType=instance_type, MinCount=1, MaxCount=1, **parameters
        )
        self._fake_aws.forget_calls()
        return str(answer["Instances"][0]["InstanceId"])

    def lay_disk(self, zone: str = World.zone, size: int = 1) -> str:
        """Have a volume there that the executable did not create."""
        answer = self._world.ec2.create_volume(AvailabilityZone=zone, Size=size, VolumeType="gp3")
        self._fake_aws.forget_calls()
        return str(answer["VolumeId"])

    def deny(self, action: str, nth: int = 1) -> str:
        """Have AWS refuse an action for good from its nth call on; returns the words of the refusal."""
        code, message = "UnauthorizedOperation", "You are not authorized to do this."
        self._fake_aws.refuse(action, code, message, 403, nth=nth, times=None)
        return AwsMessage(f"{action} failed with {code}: {message} (request id {REQUEST_ID})")

    def refuse_launch(self, code: str, where: dict[str, str] | None = None, status: int = 400) -> str:
        """Have launches refused, or only those with some parameters; returns the words of the refusal."""
        self._fake_aws.refuse("RunInstances", code, "Not now.", status, where=where or {})
        return f"RunInstances failed with {code}: Not now. (request id {REQUEST_ID})"

    def failure(self, kind: str, message: str, *, ok_to_retry: bool = False) -> dict[str, Any]:
        """Write an error as it goes over the wire, under BOSH's name."""
        return {"type": f"Bosh::Clouds::{kind}", "message": AwsMessage(message), "ok_to_retry": ok_to_retry}

    def check_refusal(self, answer: Answer, *words: str) -> list[str]:
        """Check for a CloudError with these words, and that nothing was made or tried.

        Returns:
            The actions, which only read.
        """
        assert answer.error == {**self.failure("CloudError", ""), "message": answer.error["message"]}
        assert [each for each in words if each not in answer.error["message"]] == []
        asked = self._fake_aws.actions()
        assert [action for action in asked if not action.startswith(("Describe", "Get"))] == []
        assert self._world.state() == self._world.empty
        return asked

    def leftovers(self) -> dict[str, list[str]]:
        """Drop all rules, and list the ids of what is there beyond what was laid, by kind."""
        self._fake_aws.clear_rules()
        return {kind: ids for kind, ids in self._world.state().items() if ids}

    def parameters_of(self, action: str) -> list[dict[str, str]]:
        """List the parameters of all calls of one action, in their order."""
        return [call["parameters"] for call in self._fake_aws.calls() if call["action"] == action]

    def inline(self) -> dict[str, str]:
        """Read the one interface that the launch made; others there must not be."""
        assert self.parameters_of("CreateNetworkInterface") == []
        (parameters,) = self.parameters_of("RunInstances")
        assert below(parameters, "NetworkInterface.2") == {}
        return below(parameters, "NetworkInterface.1")

    def devices(self) -> dict[str, dict[str, str]]:
        """Read the block devices of the one launch, by device name."""
        (parameters,) = self.parameters_of("RunInstances")
        numbers = {name.split(".")[1] for name in parameters if name.startswith("BlockDeviceMapping.")}
        found = [below(parameters, f"BlockDeviceMapping.{number}") for number in sorted(numbers)]
        return {device.pop("DeviceName"): below(device, "Ebs") or device for device in found}

    def settings(self, vm_cid: str) -> Any:
        """Read the agent's settings that a VM boots from."""
        answer = self._world.ec2.describe_instance_attribute(InstanceId=vm_cid, Attribute="userData")
        return json.loads(base64.b64decode(answer["UserData"]["Value"]))

    def tags_of(self, resource_id: str) -> dict[str, str]:
        """Read the tags of anything, by name."""
        filters = [{"Name": "resource-id", "Values": [resource_id]}]
        found = self._world.ec2.describe_tags(Filters=filters)["Tags"]
        return {tag["Key"]: tag["Value"] for tag in found}

    def warnings(self, answer: Answer) -> list[str]:
        """Read the warnings of a call in their order, without the time."""
        return [
            line.partition(" WARNING: ")[2] for line in answer.stderr.splitlines() if " WARNING: " in line
        ]


@pytest.fixture
def story(cpi: Cpi, fake_aws: FakeAws, world: World) -> Story:
    """Return what most stories do."""
    return Story(cpi, fake_aws, world)
