"""The operators' commands; what calls have left behind for them, and much that looks like it."""

from dataclasses import replace
from typing import Any

from testbed import executable
from testbed.cloud import FakeAws
from testbed.executable import DIRECTOR_UUID, SECRETS, Answer, Cpi, Process, config
from testbed.loopback import Reply, Request
from testbed.proxy import Relay, pass_on
from testbed.world import World

OTHER_DIRECTOR = "5c6a4f0e-0000-4000-8000-000000000002"
GONE = {"bosh_agent_id": "agent-gone"}
ALIVE = {"bosh_agent_id": "agent-alive"}
SPREAD = {"bosh_spread_group": "bosh-1-db-etcd"}
SIZE = 3
ANY_AGE = ("--older-than", "0")
METADATA = {"director": "bosh-1", "deployment": "web", "attached_at": "2026-05-01T00:00:00Z", "id": "0f"}
LONG_AGO = "2020-05-01T00:00:00Z"


class Sweep:
    """`cpi sweep` for the tests' director."""

    def __init__(self, cpi: Cpi, fake_aws: FakeAws) -> None:
        """Take the executable, and the stand-in for AWS that it calls."""
        self._cpi = cpi
        self._fake_aws = fake_aws

    def __call__(self, *arguments: str) -> Answer:
        """Sweep; the list of calls begins anew, and no secret is said."""
        self._fake_aws.forget_calls()
        answer = self._cpi.run("sweep", "--director", DIRECTOR_UUID, *arguments)
        said = answer.stdout.decode() + answer.stderr
        assert not [secret for secret in SECRETS if secret in said]
        return answer

    def start(self, *arguments: str) -> Process:
        """Sweep without waiting for it; the caller ends it."""
        environment = executable.least_environment(self._cpi.folder)
        command = ["sweep", str(self._cpi.config_path), "--director", DIRECTOR_UUID, *arguments]
        return executable.spawn(command, environment, self._cpi.folder)

    def outcomes(self, *arguments: str, status: int = 1) -> dict[str, str]:
        """Sweep with this exit status, and read what became of each stray, by its id."""
        answer = self("--json", *arguments)
        assert answer.returncode == status, answer
        return {stray["id"]: stray["outcome"] for stray in answer.document["strays"]}


class Unnamed(Relay):
    """Hides that calls are the program's: preflight asks about actions, which is not to need them.

    The IAM policy is made of the calls that the program was seen to make.
    """

    def reply(self, request: Request) -> Reply:
        """Pass a request on without its User-Agent."""
        headers = {name: value for name, value in request.headers.items() if name != "user-agent"}
        return pass_on(replace(request, headers=headers), self._upstream, request.path)


class Preflight:
    """`cpi preflight`, at what this stands in front of."""

    def __init__(self, endpoint: str) -> None:
        """Take the address of the stand-in for AWS."""
        self._endpoint = endpoint

    def __call__(self, *arguments: str, **aws: Any) -> Answer:
        """Run it; keywords are keys of the aws section. No secret is said."""
        answer = Cpi(config(self._endpoint, **aws)).run("preflight", *arguments)
        assert not any(secret in answer.stdout.decode() + answer.stderr for secret in SECRETS)
        return answer


def feature(answer: Answer, name: str) -> dict[str, Any]:
    """Read what preflight's JSON document says of a feature."""
    (found,) = [each for each in answer.document["features"] if each["name"] == name]
    return dict(found)


def failed(answer: Answer, *words: str) -> None:
    """Check for a command that could not be carried out, and said so in one line with these words."""
    assert (answer.returncode, answer.stdout) == (2, b"")
    (line,) = answer.stderr.splitlines()
    for word in words:
        assert word in line


class TaggedResources:
    """Makes what has a director's tags; each function returns an id."""

    def __init__(self, fake_aws: FakeAws, world: World) -> None:
        """Begin with nothing."""
        self._fake_aws = fake_aws
        self._world = world
        self._ec2 = world.ec2
        self._names = 0

    def seen(self, resource_id: str) -> str:
        """Mark a resource as a sweep does that saw it long ago."""
        mark = {"Key": "bosh_sweep_seen", "Value": f"{LONG_AGO} {resource_id}"}
        self._ec2.create_tags(Resources=[resource_id], Tags=[mark])
        return resource_id

    def interface(self, description: str | None = None, **tags: str) -> str:
        """Make an interface, which is not attached, with create_vm's description."""
        whole = {"bosh_director_uuid": DIRECTOR_UUID, "bosh_agent_id": "", **tags}
        ours = "BOSH agent {bosh_agent_id} of director {bosh_director_uuid}".format_map(whole)
        answer = self._ec2.create_network_interface(
            SubnetId=self._world.subnet_id,
            Description=ours if description is None else description,
            TagSpecifications=_specifications(tags, "network-interface"),
        )
        return str(answer["NetworkInterface"]["NetworkInterfaceId"])

    def volume(self, **tags: str) -> str:
        """Make a volume, which is not attached."""
        answer = self._ec2.create_volume(
            AvailabilityZone=self._world.zone,
            Size=SIZE,
            VolumeType="gp3",
            TagSpecifications=_specifications(tags, "volume"),
        )
        return str(answer["VolumeId"])

    def snapshot(self, **tags: str) -> str:
        """Make a snapshot without a volume, as create_stemcell does."""
        ebs: Any = self._fake_aws.client("ebs")
        listed = _specifications(tags, "snapshot")
        snapshot_id = ebs.start_snapshot(
            VolumeSize=SIZE, Tags=[tag for each in listed for tag in each["Tags"]]
        )["SnapshotId"]
        ebs.complete_snapshot(SnapshotId=snapshot_id, ChangedBlocksCount=0)
        return str(snapshot_id)

    def snapshot_of_volume(self, description: str = "", **tags: str) -> str:
        """Make a snapshot of a volume, which is gone."""
        volume_id = self.volume(bosh_director_uuid="none")
        answer = self._ec2.create_snapshot(
            VolumeId=volume_id, Description=description, TagSpecifications=_specifications(tags, "snapshot")
        )
        self._ec2.delete_volume(VolumeId=volume_id)
        return str(answer["SnapshotId"])

    def image(self, snapshot_id: str, state: str = "available", **tags: str) -> str:
        """Make an AMI of a snapshot."""
        self._fake_aws.rule(action="RegisterImage", times=1, states=[state])
        self._names += 1
        answer = self._ec2.register_image(
            Name=f"stemcell-{self._names}",
            RootDeviceName="/dev/xvda",
            BlockDeviceMappings=[{"DeviceName": "/dev/xvda", "Ebs": {"SnapshotId": snapshot_id}}],
            TagSpecifications=_specifications(tags, "image"),
        )
        return str(answer["ImageId"])

    def instance(self, **tags: str) -> str:
        """Make an instance that runs, with its interface and volume."""
        return self._run({}, _specifications(tags, "instance", "volume", "network-interface"))

    def instance_in(self, group: str, **tags: str) -> str:
        """Make an instance that runs in a placement group."""
        placement = {"AvailabilityZone": self._world.zone, "GroupName": group}
        return self._run({"Placement": placement}, _specifications(tags, "instance"))

    def _run(self, more: dict[str, Any], tags: list[dict[str, Any]]) -> str:
        answer = self._ec2.run_instances(
            ImageId=self._world.image_id,
            InstanceType="t3.micro",
            SubnetId=self._world.subnet_id,
            MinCount=1,
            MaxCount=1,
            TagSpecifications=tags,
            **more,
        )
        return str(answer["Instances"][0]["InstanceId"])

    def group(self, name: str = "", **tags: str) -> str:
        """Make a spread placement group, named as create_vm does, or a group of somebody else."""
        self._names += 1
        whole = {"bosh_director_uuid": DIRECTOR_UUID, "bosh_spread_group": f"{self._names}", **tags}
        answer = self._ec2.create_placement_group(
            GroupName=name or "bosh-{bosh_director_uuid}-{bosh_spread_group}".format_map(whole),
            Strategy="spread",
            TagSpecifications=_specifications(tags, "placement-group"),
        )
        return str(answer["PlacementGroup"]["GroupId"])

    def attach(self, resource_id: str, instance_id: str) -> None:
        """Give a volume or an interface to an instance."""
        if resource_id.startswith("vol-"):
            self._ec2.attach_volume(VolumeId=resource_id, InstanceId=instance_id, Device="/dev/sdf")
        else:
            self._ec2.attach_network_interface(
                NetworkInterfaceId=resource_id, InstanceId=instance_id, DeviceIndex=1
            )

    def fill(self) -> dict[str, str]:
        """Have one of each kind of stray there; returns their ids by what they are."""
        failed = self.snapshot(bosh_stemcell="call-1")
        unsaid = self.snapshot(bosh_stemcell="call-2")
        return {
            "failed image": self.image(failed, "failed: no such key", bosh_stemcell="call-1"),
            "image": self.image(unsaid, bosh_stemcell="call-2"),
            "snapshot of the failed image": failed,
            "snapshot": self.snapshot(bosh_stemcell="call-3"),
            "snapshot of a copy": self.snapshot(bosh_source_ami="ami-1"),
            "snapshot of a volume": self.snapshot_of_volume(bosh_stemcell="call-9"),
            "disk": self.volume(bosh_call="call-4", deployment="of the disk type"),
            "upload": self.volume(bosh_stemcell="call-5"),
            "volume": self.volume(**GONE),
            "interface": self.interface(**GONE),
            "somebody's interface": self.interface("", **GONE),
            "placement group": self.group(**SPREAD),
            "instance": self.instance(bosh_agent_id="agent-lost", Name="a", deployment="b", director="c"),
        }

    def disguise(self) -> None:
        """Have there what looks like a stray and is none."""
        other = {"bosh_director_uuid": OTHER_DIRECTOR}
        for tags in (other, {"bosh_director_uuid": ""}):
            self.image(self.snapshot(bosh_stemcell="call-6", **tags), "failed: no", bosh_stemcell="x", **tags)
            self.snapshot(bosh_stemcell="call-6", **tags)
            self.volume(bosh_call="call-6", **tags)
            self.volume(**GONE, **tags)
            self.interface(**GONE, **tags)
            self.group(**SPREAD, **tags)
            self.instance(bosh_agent_id="agent-lost", **tags)
        self.group()
        self.group("somebody's", **SPREAD)
        self.group(bosh_spread_group="used")
        self.instance_in(f"bosh-{DIRECTOR_UUID}-used", **ALIVE, **METADATA)
        self.attach(self.volume(bosh_call="call-7"), self.instance(**ALIVE, **METADATA))
        self.volume(bosh_call="call-7", **METADATA)
        self.volume(**ALIVE)
        self.interface(**ALIVE)
        self.snapshot_of_volume(bosh_call="call-7")
        self.image(self.snapshot(bosh_stemcell="call-7", bosh_ami="ami-1"), bosh_stemcell="call-7")
        self.image(self.snapshot(bosh_stemcell="call-8"), bosh_director_uuid="")
        copy = {"bosh_source_ami": "ami-2", "bosh_call": "call-9"}
        self.image(self.snapshot(bosh_ami="ami-3", **copy), **copy)


def _specifications(tags: dict[str, str], *kinds: str) -> list[dict[str, Any]]:
    """Write the tags of a new thing; an empty director is none."""
    whole = {"bosh_director_uuid": DIRECTOR_UUID, **tags}
    listed = [{"Key": key, "Value": value} for key, value in whole.items() if value]
    return [{"ResourceType": kind, "Tags": listed} for kind in kinds if listed]
