"""The data types that all layers share."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.records import EMPTY, Record

MIB_PER_GIB = 1024
TypeOption = Literal[
    "bandwidth_weighting",
    "connection_tracking",
    "cpu_options.amd_sev_snp",
    "cpu_options.nested_virtualization",
    "ena_express",
    "enclave",
    "hibernation",
    "interface_type",
    "placement_partition",
    "primary_ipv6",
    "spread",
]
"""A launch option that not every instance type supports: the name of the property that asks for it."""


def gib(mib: int) -> int:
    """Convert MiB, BOSH's unit for disks, to GiB, EBS's unit, rounded up."""
    return -(-mib // MIB_PER_GIB)


class Encryption(Record):
    """Whether an EBS volume is encrypted and with which key.

    EC2 refuses a key without ``Encrypted`` true, so `arguments` sends it only then.
    """

    encrypted: bool = False
    kms_key_arn: str | None = None
    key_source: str = ""
    """The path of the property that names the key: "aws.kms_key_arn"."""
    is_chosen: bool = False
    """Whether the resource, or a default for its kind, says whether it is encrypted; else ``aws`` does."""

    def arguments(self) -> Json:
        """The arguments of calls that create volumes or AMIs; none without encryption.

        With ``Encrypted`` false EC2 refuses a copy or a root disk of what is encrypted.
        """
        if not self.encrypted:
            return {}
        return {"Encrypted": True, **({"KmsKeyId": self.kms_key_arn} if self.kms_key_arn else {})}

    @property
    def unused_key(self) -> str:
        """The path of a default key that has no effect, though nobody chose that; "" if there is none."""
        has_effect = self.encrypted or self.is_chosen or not self.kms_key_arn
        return "" if has_effect else self.key_source

    @property
    def key_text(self) -> str:
        """The key that encrypts and its property, for messages: "'…' (aws.kms_key_arn)"; "" without any."""
        if not self.encrypted:
            return ""
        return (
            f"'{self.kms_key_arn}' ({self.key_source})" if self.kms_key_arn else "the account's default key"
        )


class Image(Record):
    """An AMI."""

    ami_id: str
    root_device_name: str
    virtualization_type: str
    architecture: str
    block_device_names: Sequence[str]
    snapshot_ids: Sequence[str]
    is_encrypted: bool = False
    """Whether the snapshot of its root disk is encrypted."""
    has_plain_disks: bool = False
    """Whether the snapshot of one of its disks is not encrypted."""
    root_gib: int = 0
    """The size of its root disk in GiB; 0 when it is not known."""
    state: str = "available"
    """EC2's state; a VM can be launched only from an "available" AMI."""
    boot_mode: str = ""
    """EC2's, "legacy-bios", "uefi" or "uefi-preferred"; empty for the type's default."""
    has_tpm: bool = False
    """Whether its VMs have a NitroTPM."""
    copied_from: tuple[str, str] | None = None
    """The id and the region of the AMI that it was copied from; None for another AMI, and some old ones."""
    tags: Mapping[str, str] = EMPTY
    created: datetime | None = None


class InstanceTypeFacts(Record):
    """EC2's facts about an instance type."""

    name: str
    ebs_needs_nvme_path: bool
    """True on Nitro, where the guest finds an EBS volume only below /dev/disk/by-id."""
    architectures: frozenset[str] = frozenset()
    """The architectures of the AMIs that it can run; empty when not known."""
    ebs_optimized: str = "default"
    """"default" (always), "supported" (on request) or "unsupported"."""
    is_burstable: bool = False
    store_disks: int = 0
    """The number of disks of its instance store."""
    store_gib: int = 0
    """The size of each, in GiB."""
    max_ebs_attachments: int = 0
    """The maximum number of volumes, including the root disk; 0 when not known."""
    ebs_cards: int = 1
    """The number of its EBS cards."""
    store_is_nvme: bool = False
    """Whether these disks are NVMe: EC2 then attaches them without a mapping, and the guest numbers them."""
    memory_mib: int = 0
    """Its memory in MiB; 0 when not known."""
    network_cards: int = 0
    """The number of its network cards; 0 when not known."""
    boot_modes: frozenset[str] = frozenset()
    """How it can boot, "legacy-bios" or "uefi"; empty when not known."""
    lacks_tpm: bool = False
    """Whether EC2 says that it supports no NitroTPM."""
    single_cards: frozenset[str] = frozenset()
    """The indexes of the network cards that take only one interface, as far as known."""
    card_interfaces: frozenset[str] = frozenset()
    """The types of interfaces that its network cards take, as "1 efa" for card 1, as far as known."""
    lacks: frozenset[TypeOption] = frozenset()
    """The launch options that it does not support, as far as known."""


class Nic(Record):
    """A network interface as EC2 shows it, alone or in the description of its instance."""

    nic_id: str
    mac_address: str = ""
    status: str = ""
    vm_cid: str | None = None
    """The instance that it is attached to, of any account; None in the description of its instance."""
    vm_owner_id: str = ""
    """The account of that instance, or AWS's name for itself: "amazon-elb"."""
    device_index: int = 0
    card_index: int = 0
    """Its network card; the device indexes of different cards are independent."""
    attachment_id: str = ""
    addresses: Sequence[str] = ()
    """Its private IPv4 addresses and its IPv6 addresses, of each family the primary one first."""
    public: Sequence[str] = ()
    """Its public IPv4 addresses; each belongs to a private one."""
    prefixes: Sequence[str] = ()
    """The prefixes that are delegated to it."""
    group_ids: Sequence[str] = ()
    subnet_id: str = ""
    vpc_id: str = ""
    owner_id: str = ""
    is_managed: bool = False
    """Whether AWS manages it for somebody, such as the owner of a load balancer."""
    tags: Mapping[str, str] = EMPTY
    description: str = ""

    def __str__(self) -> str:
        return self.nic_id

    @property
    def own_vm_cid(self) -> str | None:
        """The instance that it is attached to, if that belongs to the interface's account."""
        return self.vm_cid if self.vm_owner_id == self.owner_id else None

    def primary_address(self, family: str) -> str | None:
        """Its primary address of a family, "ipv4" or "ipv6"; None when it has none."""
        return next((each for each in self.addresses if (":" in each) == (family == "ipv6")), None)


class StateReason(Record):
    """Why EC2 changed the state of an instance."""

    code: str
    """"Client.VolumeLimitExceeded" (caused by the account) or "Server.InternalError" (caused by AWS)."""
    text: str
    """The code and EC2's message, "CODE: message"."""


class Instance(Record):
    """An EC2 instance as DescribeInstances or RunInstances shows it."""

    vm_cid: str
    state: str
    instance_type: str
    availability_zone: str
    devices: Mapping[str, str]
    """Volume id by device name."""
    volume_cards: Sequence[int] = ()
    """The EBS card of each volume."""
    detaching_volumes: frozenset[str] = frozenset()
    """The ids of the volumes that are being detached."""
    kept_volumes: frozenset[str] = frozenset()
    """The ids of the volumes that stay when it is terminated."""
    nics: Sequence[Nic] = ()
    """Its network interfaces, by network card and device index."""
    vpc_id: str | None = None
    """The VPC of the instance; None for a terminated one."""
    virtualization_type: str = "hvm"
    client_token: str | None = None
    """The token of the RunInstances that launched it."""
    state_reason: StateReason | None = None
    """The reason for the last change of state."""
    ami_id: str = ""
    age: float | None = None
    """Seconds between its launch and EC2's answer, both by AWS's clock; None when not known."""
    is_spot: bool = False
    metadata_endpoint: str = ""
    """"enabled" or "disabled"; empty when EC2 does not show it."""
    tags: Mapping[str, str] = EMPTY

    def __str__(self) -> str:
        return self.vm_cid

    @property
    def is_gone(self) -> bool:
        """Whether it is terminated: EC2 still shows such an instance for about an hour."""
        return self.state == "terminated"

    @property
    def is_ending(self) -> bool:
        """Whether it is shutting down or terminated."""
        return self.state in {"shutting-down", "terminated"}

    def nic_at(self, position: int, card_index: int = 0) -> str:
        """The id of a network interface, which must exist, by its position on its network card."""
        return [nic.nic_id for nic in self.nics if nic.card_index == card_index][position]


class Volume(Record):
    """An EBS volume."""

    disk_cid: str
    state: str
    availability_zone: str
    attachments: Mapping[str, tuple[str, str]]
    """(attachment state, device name) by instance id."""
    size_gib: int
    type: str
    encrypted: bool
    iops: int | None = None
    throughput: int | None = None
    """MiB/s."""
    kms_key_arn: str | None = None
    tags: Mapping[str, str] = EMPTY
    created: datetime | None = None


class Subnet(Record):
    """A subnet of a VPC as EC2 shows it."""

    subnet_id: str
    vpc_id: str
    availability_zone: str
    families: frozenset[str] = frozenset({"IPv4"})
    """The families of the addresses that an interface gets if its request names none: "IPv4", "IPv6"."""
    state: str = "available"
    """EC2's state; a VM can be created only in an "available" subnet."""
    ranges: Sequence[str] = ()
    """Its ranges in CIDR notation: at most one of IPv4, and then those of IPv6."""
    free: int = 0
    """The number of its free IPv4 addresses."""
    tags: Mapping[str, str] = EMPTY

    def __str__(self) -> str:
        return self.subnet_id

    @property
    def range(self) -> str:
        """Its range of IPv4; empty for an IPv6-only subnet."""
        return next((each for each in self.ranges if ":" not in each), "")


class NicPlan(Record):
    """A planned network interface."""

    group: str
    """The nic group: the networks' ``nic_group``, or the one network's name."""
    networks: Sequence[str]
    subnet_id: str
    kind: Literal["manual", "dynamic"]
    ipv4_address: str | None = None
    ipv6_address: str | None = None
    ipv4_prefix: str | None = None
    """A delegated prefix, "10.0.1.16/28"."""
    ipv6_prefix: str | None = None
    is_ipv6_primary: bool = False
    """Whether its IPv6 address becomes its primary one."""
    fallback_subnets: Sequence[str] = ()
    """The ids of the subnets to try when the first one is full, for a dynamic network only."""
    options: Mapping[str, Any] = EMPTY
    """EC2's options of the interface beyond its subnet, groups and addresses, as RunInstances names them."""

    @property
    def card_index(self) -> int:
        """Its network card."""
        return int(self.options.get("NetworkCardIndex", 0))

    @property
    def addresses(self) -> list[str]:
        """Its single addresses."""
        return [address for address in (self.ipv4_address, self.ipv6_address) if address]


class Vip(Record):
    """The elastic IP for a VM."""

    ip: str
    position: int
    """The position of the interface that gets it among those of its network card."""
    card_index: int = 0
    """The network card of that interface."""


class TemplateVersion(Record):
    """A version of a launch template."""

    template_id: str
    version: int
    parameters: Collection[str]
    """The names of those that it holds."""

    @property
    def argument(self) -> Json:
        """RunInstances' argument ``LaunchTemplate``.

        It has the number that was read: all launches of a create_vm must be equal, or their client tokens
        can't be used again.
        """
        return {"LaunchTemplateId": self.template_id, "Version": str(self.version)}

    def ignored(self, arguments: Collection[str]) -> list[str]:
        """The parameters in whose place EC2 takes those of a launch.

        Args:
            arguments: The names of RunInstances' arguments.
        """
        return sorted(set(self.parameters).intersection(arguments))

    def __str__(self) -> str:
        return f"version {self.version} of launch template '{self.template_id}'"
