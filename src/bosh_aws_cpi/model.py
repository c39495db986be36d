"""The data types that all layers share."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, Literal

from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.records import EMPTY, Record

ID_DIGITS: Final = "[0-9a-f]{8,17}"
"""The form of EC2's ids after the hyphen: 8 characters; since 2016, 17 (EC2 user guide, "Resource IDs")."""
KEPT_FIRST: Final = 4
"""AWS keeps the first four addresses of a subnet, and the last one, for IPv4 and for IPv6 (VPC user guide,
"Subnet CIDR blocks")."""

MIB_PER_GIB = 1024


def gib(mib: int) -> int:
    """Convert MiB, BOSH's unit for disks, to GiB, EBS's unit, and round up."""
    return -(-mib // MIB_PER_GIB)


class Encryption(Record):
    """Whether an EBS volume is encrypted, and with which key.

    EC2 refuses a key without ``Encrypted`` true, so `arguments` has the key only with encryption.
    """

    encrypted: bool = False
    kms_key_arn: str | None = None
    key_source: str = ""
    """The path of the property that names the key: "aws.kms_key_arn"."""
    is_chosen: bool = False
    """Whether the resource's properties, or the defaults for its kind, contain ``encrypted``."""

    def arguments(self) -> Json:
        """The arguments of calls that create volumes or AMIs; empty without encryption.

        EC2 refuses ``Encrypted`` false for a copy, or a root disk, of an encrypted source.
        """
        if not self.encrypted:
            return {}
        return {"Encrypted": True, **({"KmsKeyId": self.kms_key_arn} if self.kms_key_arn else {})}

    @property
    def unused_key(self) -> str:
        """The path of a key without effect, unless encryption is off by choice; "" if there is none."""
        has_effect = self.encrypted or self.is_chosen or not self.kms_key_arn
        return "" if has_effect else self.key_source

    @property
    def key_text(self) -> str:
        """The key and its property, for messages: "'…' (aws.kms_key_arn)"; "" without encryption."""
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
    """Whether the snapshot of the root disk is encrypted."""
    has_plain_disks: bool = False
    """Whether the snapshot of a disk is not encrypted."""
    root_gib: int = 0
    """The size of the root disk in GiB; 0 when not known."""
    state: str = "available"
    """EC2's state; a VM can be launched only from an "available" AMI."""
    boot_mode: str = ""
    """EC2's boot mode: "legacy-bios", "uefi" or "uefi-preferred"; empty for the instance type's default."""
    has_tpm: bool = False
    """Whether VMs from the AMI have a NitroTPM."""
    copied_from: tuple[str, str] | None = None
    """The id and the region of the source of a copied AMI; None if EC2 shows no source."""
    tags: Mapping[str, str] = EMPTY
    created: datetime | None = None


class InstanceTypeFacts(Record):
    """EC2's facts about an instance type."""

    name: str
    ebs_needs_nvme_path: bool
    """Whether the type is on Nitro, where the guest finds an EBS volume only below /dev/disk/by-id."""
    architectures: frozenset[str] = frozenset()
    """The architectures of the AMIs that the type can run; empty when not known."""
    ebs_optimized: str = "default"
    """"default" (always), "supported" (on request) or "unsupported"."""
    is_burstable: bool = False
    store_disks: int = 0
    """The number of disks of the instance store."""
    store_gib: int = 0
    """The size of each disk of the instance store, in GiB."""
    store_is_nvme: bool = False
    """Whether these disks are NVMe: EC2 attaches NVMe disks without a mapping; the guest numbers them."""
    max_ebs_attachments: int = 0
    """The maximum number of volumes, including the root disk; 0 when not known."""
    ebs_cards: int = 1
    """The number of EBS cards."""
    memory_mib: int = 0
    """The memory in MiB; 0 when not known."""
    network_cards: int = 0
    """The number of network cards; 0 when not known."""
    boot_modes: frozenset[str] = frozenset()
    """The supported boot modes, "legacy-bios" and "uefi"; empty when not known."""
    lacks_tpm: bool = False
    """Whether EC2 reports that the type does not support NitroTPM."""
    single_cards: frozenset[str] = frozenset()
    """The indexes of the network cards that accept only one interface, as far as known."""
    card_interfaces: frozenset[str] = frozenset()
    """The types of interfaces that the network cards accept, as far as known: "1 efa" for card 1."""
    lacks: frozenset[str] = frozenset()
    """The properties of a VM, or of a network, that the type does not support, as far as known: "spread"."""


class Nic(Record):
    """A network interface, from DescribeNetworkInterfaces or from its instance's description."""

    nic_id: str
    mac_address: str = ""
    status: str = ""
    vm_cid: str | None = None
    """The instance, of any account, that has the interface; None in the description of the instance."""
    vm_owner_id: str = ""
    """The account of the instance, or an AWS service: "amazon-elb"."""
    device_index: int = 0
    card_index: int = 0
    """The network card; the device indexes of different cards are independent."""
    attachment_id: str = ""
    addresses: Sequence[str] = ()
    """The private IPv4 and the IPv6 addresses, in each family the primary address first."""
    public: Sequence[str] = ()
    """The public IPv4 addresses; each is associated with a private address."""
    prefixes: Sequence[str] = ()
    """The delegated prefixes."""
    group_ids: Sequence[str] = ()
    subnet_id: str = ""
    vpc_id: str = ""
    owner_id: str = ""
    is_managed: bool = False
    """Whether AWS manages the interface for another service, such as a load balancer."""
    tags: Mapping[str, str] = EMPTY
    description: str = ""

    def __str__(self) -> str:
        return self.nic_id

    @property
    def own_vm_cid(self) -> str | None:
        """The instance that has the interface, if both belong to the same account."""
        return self.vm_cid if self.vm_owner_id == self.owner_id else None

    def primary_address(self, family: str) -> str | None:
        """The primary address of a family, "ipv4" or "ipv6"; None when the interface has no such address."""
        return next((each for each in self.addresses if (":" in each) == (family == "ipv6")), None)


class StateReason(Record):
    """EC2's reason for the last change of an instance's state."""

    code: str
    """"Client.VolumeLimitExceeded" (caused by the account) or "Server.InternalError" (caused by AWS)."""
    text: str
    """The code and EC2's message: "CODE: message"."""


class Instance(Record):
    """An EC2 instance as DescribeInstances or RunInstances shows it."""

    vm_cid: str
    state: str
    instance_type: str
    availability_zone: str
    devices: Mapping[str, str]
    """The volume ids by device name."""
    volume_cards: Sequence[int] = ()
    """The EBS card of each volume."""
    detaching_volumes: frozenset[str] = frozenset()
    """The ids of the volumes that are being detached."""
    kept_volumes: frozenset[str] = frozenset()
    """The ids of the volumes that EC2 keeps when the instance is terminated."""
    nics: Sequence[Nic] = ()
    """The network interfaces, in the order of network card and device index."""
    vpc_id: str | None = None
    """The VPC of the instance; None for a terminated instance."""
    virtualization_type: str = "hvm"
    client_token: str | None = None
    """The client token of the RunInstances call that launched the instance."""
    state_reason: StateReason | None = None
    """EC2's reason for the last change of state; None without a reason."""
    ami_id: str = ""
    age: float | None = None
    """The seconds between the launch and EC2's answer, by AWS's clock; None when not known."""
    is_spot: bool = False
    metadata_endpoint: str = ""
    """"enabled" or "disabled"; empty when EC2 does not show it."""
    tags: Mapping[str, str] = EMPTY

    def __str__(self) -> str:
        return self.vm_cid

    @property
    def is_gone(self) -> bool:
        """Whether the instance is terminated; EC2 shows a terminated instance for about an hour."""
        return self.state == "terminated"

    @property
    def is_ending(self) -> bool:
        """Whether the instance is shutting down or terminated."""
        return self.state in {"shutting-down", "terminated"}

    def nic_at(self, position: int, card_index: int = 0) -> str:
        """The id of the existing interface at a position on a network card."""
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
    """The throughput in MiB/s."""
    kms_key_arn: str | None = None
    tags: Mapping[str, str] = EMPTY
    created: datetime | None = None


class Subnet(Record):
    """A subnet of a VPC as EC2 shows it."""

    subnet_id: str
    vpc_id: str
    availability_zone: str
    families: frozenset[str] = frozenset({"IPv4"})
    """The families of the addresses that an interface gets by default: "IPv4", "IPv6"."""
    state: str = "available"
    """EC2's state; a VM can be created only in an "available" subnet."""
    ranges: Sequence[str] = ()
    """The ranges in CIDR notation: at most one IPv4 range, then the IPv6 ranges."""
    free: int = 0
    """The number of free IPv4 addresses."""
    tags: Mapping[str, str] = EMPTY

    def __str__(self) -> str:
        return self.subnet_id

    @property
    def range(self) -> str:
        """The IPv4 range; empty for an IPv6-only subnet."""
        return next((each for each in self.ranges if ":" not in each), "")


class NicPlan(Record):
    """A planned network interface."""

    group: str
    """The nic group: the ``nic_group`` of the networks, or the name of the only network."""
    networks: Sequence[str]
    subnet_id: str
    kind: Literal["manual", "dynamic"]
    ipv4_address: str | None = None
    ipv6_address: str | None = None
    ipv4_prefix: str | None = None
    """A delegated prefix, "10.0.1.16/28"."""
    ipv6_prefix: str | None = None
    is_ipv6_primary: bool = False
    """Whether the IPv6 address becomes the primary IPv6 address."""
    fallback_subnets: Sequence[str] = ()
    """The ids of the subnets to try when the first one is full, for a dynamic network only."""
    options: Mapping[str, Any] = EMPTY
    """Other options of the interface than subnet, groups and addresses, by RunInstances' names."""

    @property
    def card_index(self) -> int:
        """The network card."""
        return int(self.options.get("NetworkCardIndex", 0))

    @property
    def addresses(self) -> list[str]:
        """The addresses, without prefixes."""
        return [address for address in (self.ipv4_address, self.ipv6_address) if address]


class Vip(Record):
    """The elastic IP for a VM."""

    ip: str
    position: int
    """The position, on its network card, of the interface that gets the elastic IP."""
    card_index: int = 0
    """The network card of the interface."""


class TemplateVersion(Record):
    """A version of a launch template."""

    template_id: str
    version: int
    parameters: Collection[str]
    """The names of the parameters that the version sets."""

    @property
    def argument(self) -> Json:
        """RunInstances' argument ``LaunchTemplate``.

        The argument has the number of the version, not "$Latest": all launches of a create_vm must be equal,
        or EC2 would refuse their client tokens.
        """
        return {"LaunchTemplateId": self.template_id, "Version": str(self.version)}

    def ignored(self, arguments: Collection[str]) -> list[str]:
        """The parameters of the version that arguments of the launch override.

        Args:
            arguments: The names of RunInstances' arguments.
        """
        return sorted(set(self.parameters).intersection(arguments))

    def __str__(self) -> str:
        return f"version {self.version} of launch template '{self.template_id}'"
