"""The calls of a Director that deploys from a light, an encrypted and a heavy stemcell.

After each call the program checks that EC2 agrees with the answer.
"""

import io
import tarfile
import tempfile
import time
from ipaddress import ip_network
from pathlib import Path
from typing import Any

from acceptance.account import Account
from acceptance.network import INSTANCE_TYPE, SUBNETS, Network
from acceptance.program import RUN_TAG
from testbed.executable import ABSENT

MIB = 1 << 20
GIB_IN_MIB = 1024
ROUTE = "192.0.2.0/24"
MANUAL = {"type": "manual", "netmask": "255.255.255.0", "gateway": str(ip_network(SUBNETS[0])[1])}


class Wrong(Exception):
    """A result is wrong; the message names it."""


def expect(what: str, seen: object, expected: object) -> None:
    """Compare an actual value with the expected one."""
    if seen != expected:
        raise Wrong(f"{what}: expected {expected!r}, but it is {seen!r}")


class Life:
    """The calls, in their order.

    Attributes:
        calls: The methods, and how many seconds each took.
    """

    def __init__(self, account: Account, network: Network, tags: dict[str, str], report: Any) -> None:
        """Configure the executable.

        Args:
            account: The account to work in.
            network: The VPC for the VMs.
            tags: Tags for VMs, disks and stemcells, as in a manifest.
            report: The stream on which the calls are printed.
        """
        self.calls: list[tuple[str, float]] = []
        self._ec2 = account.ec2
        self._elbv2 = account.elbv2
        self._region = account.region
        self._network = network
        self._tags = tags
        self._report = report
        self._cpi = account.cpi(default_key_name=ABSENT, default_security_groups=[network.group_id])
        self._requests = 0

    def live(self) -> None:
        """Create, use and delete everything; one VM after the other, for accounts with a small quota.

        Raises:
            Wrong: A call failed, or AWS disagrees with its answer.
        """
        info = self._call("info")
        expect("info", info["stemcell_formats"], ["aws-raw", "aws-light"])
        light = self._light({})
        encrypted = self._light({"encrypted": True})
        heavy = self._heavy()
        self._delete_vm(self._vm_with_disks(light))
        self._delete_vm(self._vm_with_interfaces(encrypted))
        self._delete_vm(self._vm("agent-3", heavy, {"default": self._dynamic()}, {}))
        for stemcell_cid in (light, encrypted, heavy):
            self._call("delete_stemcell", stemcell_cid)

    # Stemcells

    def _light(self, properties: dict[str, Any]) -> str:
        """Create and use a light stemcell; with `encrypted` the AMI is copied.

        Only the copy gets the tag, because all resources with the tag are deleted at the end.
        """
        ami = {"ami": {self._region: self._network.image_id}}
        env = self._env() if properties else {}
        cid = str(self._call("create_stemcell", "", {**ami, **properties}, env))
        ami_id = cid.removesuffix(" light")
        expect("the stemcell's AMI is the given one", ami_id == self._network.image_id, not properties)
        (image,) = self._ec2.describe_images(ImageIds=[ami_id])["Images"]
        expect("the stemcell's state", image["State"], "available")
        if properties:
            devices = [each["Ebs"] for each in image["BlockDeviceMappings"] if "Ebs" in each]
            expect("the copy is encrypted", {each["Encrypted"] for each in devices}, {True})
        return cid

    def _heavy(self) -> str:
        """Create and use a heavy stemcell of an image that can't boot; EC2 runs such an instance too."""
        properties = {
            "name": "acceptance",
            "version": "1",
            "architecture": "x86_64",
            "disk": GIB_IN_MIB,
            "root_device_name": "/dev/xvda",
            "virtualization_type": "hvm",
        }
        with tempfile.TemporaryDirectory() as folder:
            cid = str(self._call("create_stemcell", str(_image(Path(folder))), properties, self._env()))
        (image,) = self._ec2.describe_images(ImageIds=[cid])["Images"]
        expect("the AMI's root device", image["RootDeviceName"], "/dev/xvda")
        return cid

    # VMs

    def _vm_with_disks(self, stemcell_cid: str) -> str:
        """A VM with one network, created by a call that is retried, and its disks."""
        networks = {"default": self._manual(10)}
        properties = {"root_disk": {"type": "gp3", "size": 8 * GIB_IN_MIB}}
        vm_cid = self._vm("agent-1", stemcell_cid, networks, properties)
        expect("the address", self._instance(vm_cid)["PrivateIpAddress"], networks["default"]["ip"])
        again = self._call("create_vm", *self._arguments("agent-1", stemcell_cid, networks, properties))
        expect("the VM of the same call again", again[0], vm_cid)
        self._call("set_vm_metadata", vm_cid, {**self._tags, "job": "db", "index": "0"})
        expect("the VM's name", _tags(self._instance(vm_cid)).get("Name"), "db/0")
        self._disks(vm_cid)
        self._call("reboot_vm", vm_cid)
        return vm_cid

    def _vm_with_interfaces(self, stemcell_cid: str) -> str:
        """A VM with two networks, a route and a target group."""
        group = self._elbv2.create_target_group(
            Name=self._network.vpc_id.replace("vpc-", "cpi-"),
            Protocol="TCP",
            Port=80,
            VpcId=self._network.vpc_id,
            TargetType="instance",
        )["TargetGroups"][0]
        properties = {
            "lb_target_groups": [group["TargetGroupName"]],
            "advertised_routes": [{"table_id": self._network.table_id, "destination": ROUTE}],
            "source_dest_check": False,
        }
        networks = {"first": self._manual(20), "second": self._manual(20, 1)}
        vm_cid = self._vm("agent-2", stemcell_cid, networks, properties)
        interfaces = self._instance(vm_cid)["NetworkInterfaces"]
        addresses = {each["PrivateIpAddress"] for each in interfaces}
        expect("the addresses", addresses, {each["ip"] for each in networks.values()})
        expect(
            "the checks of source and destination", {each["SourceDestCheck"] for each in interfaces}, {False}
        )
        (table,) = self._ec2.describe_route_tables(RouteTableIds=[self._network.table_id])["RouteTables"]
        routes = {
            each.get("DestinationCidrBlock"): each.get("NetworkInterfaceId") for each in table["Routes"]
        }
        expect("the route leads to the VM", routes.get(ROUTE) in _nic_ids(interfaces), expected=True)
        health = self._elbv2.describe_target_health(TargetGroupArn=group["TargetGroupArn"])
        targets = [each["Target"]["Id"] for each in health["TargetHealthDescriptions"]]
        expect("the targets", targets, [vm_cid])
        return vm_cid

    def _vm(
        self, agent_id: str, stemcell_cid: str, networks: dict[str, Any], properties: dict[str, Any]
    ) -> str:
        vm_cid = str(
            self._call("create_vm", *self._arguments(agent_id, stemcell_cid, networks, properties))[0]
        )
        instance = self._instance(vm_cid)
        expect("the VM's state", instance["State"]["Name"], "running")
        expect("the VM's tags", self._tags.items() <= _tags(instance).items(), expected=True)
        expect("has_vm", self._call("has_vm", vm_cid), expected=True)
        return vm_cid

    def _arguments(
        self, agent_id: str, stemcell_cid: str, networks: dict[str, Any], properties: dict[str, Any]
    ) -> list[Any]:
        least = {
            "instance_type": INSTANCE_TYPE,
            "availability_zone": self._network.zone,
            "ephemeral_disk": {"type": "gp3", "size": GIB_IN_MIB},
        }
        return [agent_id, stemcell_cid, {**least, **properties}, networks, [], self._env()]

    def _delete_vm(self, vm_cid: str) -> None:
        self._call("delete_vm", vm_cid)
        expect("has_vm", self._call("has_vm", vm_cid), expected=False)
        expect("the VM's state", self._instance(vm_cid)["State"]["Name"], "terminated")

    # Disks

    def _disks(self, vm_cid: str) -> None:
        disk_cid, other = self._disk(vm_cid), self._disk(vm_cid)
        for cid in (disk_cid, other):
            self._call("attach_disk", vm_cid, cid)
            expect("the disk's VM", [each["InstanceId"] for each in self._attachments(cid)], [vm_cid])
        expect("get_disks", {disk_cid, other} <= set(self._call("get_disks", vm_cid)), expected=True)
        self._call("set_disk_metadata", disk_cid, {**self._tags, "deployment": "acceptance"})
        expect("the disk's tag", _tags(self._volume(disk_cid)).get("deployment"), "acceptance")
        self._snapshot(disk_cid)
        for cid in (disk_cid, other):
            self._call("detach_disk", vm_cid, cid)
            expect("the disk's VMs", self._attachments(cid), [])
        self._call("resize_disk", disk_cid, 2 * GIB_IN_MIB)
        expect("the disk's size", self._volume(disk_cid)["Size"], 2)
        self._call("update_disk", other, GIB_IN_MIB, {"type": "gp3", "throughput": 150})
        expect("the disk's throughput", self._volume(other)["Throughput"], 150)
        for cid in (disk_cid, other):
            self._call("delete_disk", cid)
            expect("has_disk", self._call("has_disk", cid), expected=False)

    def _disk(self, vm_cid: str) -> str:
        cid = str(self._call("create_disk", GIB_IN_MIB, {"type": "gp3", "tags": self._tags}, vm_cid))
        expect("has_disk", self._call("has_disk", cid), expected=True)
        expect("the disk's state", self._volume(cid)["State"], "available")
        return cid

    def _snapshot(self, disk_cid: str) -> None:
        metadata = {"deployment": "acceptance", "job": "db", "index": "0", "agent_id": "agent-1"}
        metadata |= {"director_name": "acceptance", "director_uuid": self._tags[RUN_TAG]}
        snapshot_cid = self._call("snapshot_disk", disk_cid, metadata)
        (snapshot,) = self._ec2.describe_snapshots(SnapshotIds=[snapshot_cid])["Snapshots"]
        expect("the snapshot's disk", snapshot["VolumeId"], disk_cid)
        expect("the snapshot's state", snapshot["State"], "completed")
        self._call("delete_snapshot", snapshot_cid)

    # Calls, and what EC2 shows

    def _call(self, method: str, *arguments: Any) -> Any:
        """Call a method; returns its result."""
        self._requests += 1
        context = {"director_uuid": self._tags[RUN_TAG], "request_id": f"cpi-{self._requests}"}
        begin = time.monotonic()
        answer = self._cpi.call(method, *arguments, api_version=3, stemcell=2, context=context)
        seconds = time.monotonic() - begin
        self.calls.append((method, seconds))
        print(f"{seconds:7.1f} s  {method}", file=self._report, flush=True)
        error = answer.error
        if error is not None:
            raise Wrong(f"{method} failed with {error['type']}: {error['message']}")
        return answer.result

    def _env(self) -> dict[str, Any]:
        return {"bosh": {"tags": self._tags}, "tags": self._tags}

    def _dynamic(self) -> dict[str, Any]:
        return {"type": "dynamic", "cloud_properties": {"subnet": self._network.subnet_ids[0]}}

    def _manual(self, number: int, subnet: int = 0) -> dict[str, Any]:
        address = str(ip_network(SUBNETS[subnet])[number])
        properties = {"subnet": self._network.subnet_ids[subnet]}
        default = {"default": ["dns", "gateway"]} if subnet == 0 else {}
        return {**MANUAL, **default, "ip": address, "cloud_properties": properties}

    def _instance(self, vm_cid: str) -> Any:
        return self._ec2.describe_instances(InstanceIds=[vm_cid])["Reservations"][0]["Instances"][0]

    def _volume(self, disk_cid: str) -> Any:
        return self._ec2.describe_volumes(VolumeIds=[disk_cid])["Volumes"][0]

    def _attachments(self, disk_cid: str) -> list[Any]:
        attachments: list[Any] = self._volume(disk_cid)["Attachments"]
        return attachments


def _tags(thing: Any) -> dict[str, str]:
    return {tag["Key"]: tag["Value"] for tag in thing.get("Tags", [])}


def _nic_ids(interfaces: list[Any]) -> set[str]:
    return {each["NetworkInterfaceId"] for each in interfaces}


def _image(folder: Path) -> Path:
    """Write an image of some MiB like a stemcell's: a gzipped tar with `root.img`."""
    path = folder / "image"
    content = bytes(MIB) + b"no boot loader" * MIB
    with tarfile.open(path, "w:gz", compresslevel=1) as archive:
        member = tarfile.TarInfo("root.img")
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content))
    return path
