"""The lives of VMs that the demo shows: each call with its answer and its changes in the world.

`{vm}` and similar names stand for ids: those of the world, and those that a `New` has named.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from testbed.demo_match import New
from testbed.executable import ABSENT, DIRECTOR_UUID, MBUS_PASSWORD

GONE = object()
"""A change: the resource is gone."""

Json = dict[str, Any]

AGENT: Json = {
    "mbus": f"nats://nats:{MBUS_PASSWORD}@10.0.1.6:4222",
    "ntp": ["0.pool.ntp.org"],
    "blobstore": {"provider": "dav", "options": {"endpoint": "http://10.0.1.6:25250"}},
}
ENVIRONMENT: Json = {"bosh": {"group": "demo-web", "tags": {"deployment": "demo"}}}
ORIGIN: Json = {"bosh_director_uuid": DIRECTOR_UUID}
"""Tags that tell a resource's owner, which the CPI creates for the Director."""
VOLUME = r"vol-[0-9a-f]{17}"
MAC = r"([0-9a-f]{2}:){5}[0-9a-f]{2}"
NVME = "/dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_"
PLACE = "in {zone}"


@dataclass(frozen=True)
class Step:
    """A call.

    Attributes:
        method: The method.
        arguments: Its arguments.
        result: The expected result.
        error: The expected error, for a call that fails.
        any_order: Whether the result is a list in no particular order.
        writes: Its calls to AWS that change something.
        changes: All changes in the state of the world.
        shows: Whether the demo shows the settings as they are after this call.
    """

    method: str
    arguments: list[Any]
    result: Any = None
    error: Json | None = None
    any_order: bool = False
    writes: tuple[str, ...] = ()
    changes: Json = field(default_factory=dict)
    shows: bool = False


@dataclass(frozen=True)
class Life:
    """The life of one VM, and its particular values.

    Attributes:
        title: What it shows.
        contract: The contract version of all its calls.
        stemcell: The stemcell's api_version.
        agent_id: The agent's id.
        instance_type: Of the VM.
        networks: Of the VM.
        interfaces: Of the VM: MAC address by IP address.
        launched: The calls to AWS that create the VM.
        paths: The device paths of the first and the second persistent disk in the guest.
        user_data: The settings that the VM boots with.
        document: The settings in the registry; None without a registry.
    """

    title: str
    contract: int
    stemcell: object
    agent_id: str
    instance_type: str
    networks: Json
    interfaces: Json
    launched: tuple[str, ...]
    paths: tuple[str, str]
    user_data: Json
    document: Json | None = None

    @property
    def origin(self) -> Json:
        """The tags that tell the owner of all resources of the VM."""
        return {**ORIGIN, "bosh_agent_id": self.agent_id}

    def steps(self) -> list[Step]:
        """List the calls."""
        return [*self._born(), *self._lived(), *self._ended()]

    def _born(self) -> list[Step]:
        stemcell = {"ami": {"us-east-1": "{image}"}, "version": "1.100"}
        has_tags = self.contract >= 3
        properties = {
            "instance_type": self.instance_type,
            "availability_zone": "{zone}",
            "ephemeral_disk": {"size": 10240, "type": "gp3"},
        }
        vm = New("vm", r"i-[0-9a-f]{17}")
        tags = {"deployment": "demo", **self.origin}
        return [
            Step("info", [], {"stemcell_formats": ["aws-raw", "aws-light"], "api_version": 3}),
            Step(
                "create_stemcell",
                ["/var/vcap/image", stemcell, *([{"tags": {"made_by": "demo"}}] if has_tags else [])],
                "{image} light",
                writes=("CreateTags",) if has_tags else (),
                changes={"{image} tags": {"made_by": "demo"}} if has_tags else {},
            ),
            Step(
                "create_vm",
                [self.agent_id, "{image} light", properties, self.networks, [], ENVIRONMENT],
                [vm, self.networks] if self.contract >= 2 else vm,
                writes=self.launched,
                changes={
                    "{vm} is": f"running, {self.instance_type} {PLACE}",
                    "{vm} tags": tags,
                    "{vm} disks": {"/dev/xvda": New("root", VOLUME), "/dev/sdb": New("scratch", VOLUME)},
                    "{vm} interfaces": self.interfaces,
                    "interfaces": len(self.interfaces),
                    "{root} is": f"in-use, 5 GiB gp3 {PLACE}",
                    "{root} tags": tags,
                    "{scratch} is": f"in-use, 10 GiB gp3 {PLACE}",
                    "{scratch} tags": tags,
                    "{vm} user_data": self.user_data,
                    **self._document({}),
                },
            ),
            Step("has_vm", ["{vm}"], result=True),
        ]

    def _lived(self) -> list[Step]:
        metadata = {"director": "demo-director", "deployment": "demo", "job": "web", "index": 0}
        tags = {**metadata, "index": "0", "Name": "web/0", **self.origin}
        first, second = self.paths
        none = {"/dev/xvda": "{root}", "/dev/sdb": "{scratch}"}
        disk, grown = {"/dev/sdf": "{disk}"}, {"/dev/sdg": "{grown}"}
        missing = {
            "type": "Bosh::Clouds::DiskNotAttached",
            "message": "Disk `{disk}' is not attached to instance `{vm}'",
            "ok_to_retry": True,
        }
        return [
            Step(
                "set_vm_metadata",
                ["{vm}", metadata],
                writes=("CreateTags",),
                changes={"{vm} tags": tags, "{root} tags": tags, "{scratch} tags": tags},
            ),
            _created("disk", 1),
            self._attached("disk", first, {**none, **disk}, {"{disk}": first}, gib=1),
            Step(
                "set_disk_metadata",
                ["{disk}", {"deployment": "demo", "instance_index": 0}],
                writes=("CreateTags",),
                changes={
                    "{disk} tags": {
                        "deployment": "demo",
                        "instance_index": "0",
                        "bosh_call": "{disk_call}",
                        **ORIGIN,
                    }
                },
            ),
            _created("grown", 2),
            self._attached(
                "grown", second, {**none, **disk, **grown}, {"{disk}": first, "{grown}": second}, gib=2
            ),
            self._detached("disk", {**none, **grown}, {"{grown}": second}, gib=1),
            Step("detach_disk", ["{vm}", "{disk}"], error=missing, writes=("DetachVolume",)),
            _deleted("disk"),
            Step("get_disks", ["{vm}"], ["{root}", "{scratch}", "{grown}"], any_order=True),
            Step("reboot_vm", ["{vm}"], writes=("RebootInstances",), shows=True),
            self._detached("grown", none, {}, gib=2),
        ]

    def _ended(self) -> list[Step]:
        ended = ["{vm} tags", "{vm} disks", "{vm} interfaces", "{vm} user_data"]
        ended += ["{root} is", "{root} tags", "{scratch} is", "{scratch} tags"]
        ended += ["{vm} registry"] if self.document else []
        return [
            Step(
                "delete_vm",
                ["{vm}"],
                writes=("TerminateInstances",),
                changes={**dict.fromkeys(ended, GONE), "{vm} is": "terminated", "interfaces": 0},
            ),
            Step("has_vm", ["{vm}"], result=False),
            _deleted("grown"),
            Step("delete_stemcell", ["{image} light"]),
        ]

    def _attached(self, disk: str, path: str, disks: Json, persistent: Json, gib: int) -> Step:
        return Step(
            "attach_disk",
            ["{vm}", f"{{{disk}}}"],
            path if self.contract >= 2 else None,
            writes=("AttachVolume",),
            changes={
                f"{{{disk}}} is": f"in-use, {gib} GiB gp3 {PLACE}",
                "{vm} disks": disks,
                **self._document(persistent),
            },
        )

    def _detached(self, disk: str, disks: Json, persistent: Json, gib: int) -> Step:
        return Step(
            "detach_disk",
            ["{vm}", f"{{{disk}}}"],
            writes=("DetachVolume",),
            changes={
                f"{{{disk}}} is": f"available, {gib} GiB gp3 {PLACE}",
                "{vm} disks": disks,
                **self._document(persistent),
            },
        )

    def _document(self, persistent: Json) -> Json:
        """Return the change of the registry's document, if there is one."""
        if self.document is None:
            return {}
        disks = {**self.document["disks"], "persistent": persistent}
        return {"{vm} registry": {**self.document, "disks": disks}}


def _created(disk: str, gib: int) -> Step:
    return Step(
        "create_disk",
        [gib * 1024, {"type": "gp3"}, "{vm}"],
        New(disk, VOLUME),
        writes=("CreateVolume",),
        changes={
            f"{{{disk}}} is": f"available, {gib} GiB gp3 {PLACE}",
            f"{{{disk}}} tags": {**ORIGIN, "bosh_call": New(f"{disk}_call", r"[0-9a-f-]{36}")},
        },
    )


def _deleted(disk: str) -> Step:
    return Step(
        "delete_disk",
        [f"{{{disk}}}"],
        writes=("DeleteVolume",),
        changes={f"{{{disk}}} is": GONE, f"{{{disk}}} tags": GONE},
    )


def _settings(agent_id: str, networks: Json) -> Json:
    """Write the full settings of a VM without persistent disks."""
    return {
        "vm": {"name": New("vm_name", r"vm-[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")},
        "agent_id": agent_id,
        "networks": networks,
        "disks": {"system": "/dev/xvda", "ephemeral": "/dev/sdb", "persistent": {}},
        "env": ENVIRONMENT,
        **AGENT,
    }


def _network(subnet: str, number: int, **more: Any) -> Json:
    return {
        "type": "manual",
        "ip": f"10.0.{number}.10",
        "netmask": "255.255.255.0",
        "gateway": f"10.0.{number}.1",
        "cloud_properties": {"subnet": subnet},
        **more,
    }


_DNS = {"nameserver": ["10.0.0.2"]}
_FRONT = _network("{subnet}", 1, dns=["10.0.0.2"], default=["dns", "gateway"])
_BACK = _network("{other_subnet}", 2)
_ONE = {"front": {**_FRONT, "use_dhcp": True}}
_TWO = {
    "front": {**_FRONT, "use_dhcp": True, "mac": "{front_mac}"},
    "back": {**_BACK, "use_dhcp": True, "mac": "{back_mac}"},
}

LIVES = (
    Life(
        title="Contract V3, stemcell 3: one network, no registry",
        contract=3,
        stemcell=3,
        agent_id="4b0d1c4e-0000-4000-8000-00000000000a",
        instance_type="m5.large",
        networks={"front": _FRONT},
        interfaces={"10.0.1.10": New("front_mac", MAC)},
        launched=("RunInstances",),
        paths=(NVME + "{disk.bare}", NVME + "{grown.bare}"),
        user_data={**_settings("4b0d1c4e-0000-4000-8000-00000000000a", _ONE), "dns": _DNS},
    ),
    Life(
        title="Contract V1, stemcell 1: two networks, an HTTP registry",
        contract=1,
        stemcell=ABSENT,
        agent_id="4b0d1c4e-0000-4000-8000-00000000000b",
        instance_type="t2.medium",
        networks={"front": _FRONT, "back": _BACK},
        interfaces={"10.0.1.10": New("front_mac", MAC), "10.0.2.10": New("back_mac", MAC)},
        launched=(
            *["CreateNetworkInterface"] * 2,
            "RunInstances",
            *["ModifyNetworkInterfaceAttribute"] * 2,
        ),
        paths=("/dev/sdf", "/dev/sdg"),
        user_data={"dns": _DNS, "networks": _TWO, "registry": {"endpoint": "{registry}"}},
        document=_settings("4b0d1c4e-0000-4000-8000-00000000000b", _TWO),
    ),
)
