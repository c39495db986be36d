"""What the CPI accepts and does not use: a warning of the call, and an error of `cpi check`."""

from typing import Any

import pytest

from testbed.executable import Cpi
from testbed.world import World
from tests.stories.checked_config import changed, right
from tests.stories.checking import checked, checked_with, errors
from tests.stories.story import Story
from tests.stories.volumes import Volumes

ROOT, STORE = {"use_root_disk": True}, {"use_instance_storage": True}
ONLY_ROOT = "set the root disk's in root_disk, or remove one of them"
VM_TYPE = ("vm_types", 1, "cloud_properties")
AT_TYPE = "vm_types/large/cloud_properties"


@pytest.mark.parametrize(
    ("properties", "path", "text"),
    [
        (
            {"ephemeral_disk": {**ROOT, "size": 20_480, "encrypted": True, "type": None}},
            "ephemeral_disk/encrypted",
            f"ephemeral_disk.use_root_disk ignores encrypted, size beside it: {ONLY_ROOT}",
        ),
        (
            {"ephemeral_disk": {**ROOT, **STORE}},
            "ephemeral_disk/use_instance_storage",
            f"ephemeral_disk.use_root_disk ignores use_instance_storage beside it: {ONLY_ROOT}",
        ),
        (
            {"ephemeral_disk": {**STORE, "throughput": 125}, "instance_type": "d2.xlarge"},
            "ephemeral_disk/throughput",
            "ephemeral_disk.use_instance_storage ignores throughput beside it: remove one of them",
        ),
        (
            {"ephemeral_disk": ROOT, "raw_instance_storage": True, "instance_type": "m5d.large"},
            "raw_instance_storage",
            (
                "ephemeral_disk.use_root_disk ignores raw_instance_storage: the agent gets no instance "
                "storage. Remove one of them"
            ),
        ),
        (
            {"spot_ondemand_fallback": True},
            "spot_ondemand_fallback",
            "Ignored: spot_ondemand_fallback, because the VM is not launched on spot: set spot",
        ),
        (
            {"credit_specification": "unlimited", "instance_type": "m5.large"},
            "credit_specification",
            "Ignored: credit_specification, which type m5.large does not accept",
        ),
        (
            {"root_disk": {"type": "gp2", "iops": 4000}},
            "root_disk/iops",
            "Ignored: root_disk.iops, which EBS type gp2 does not accept",
        ),
        (
            {"root_disk": {"type": "io2", "iops": 4000, "throughput": 200}},
            "root_disk/throughput",
            "Ignored: root_disk.throughput, which EBS type io2 does not accept",
        ),
        (
            {"skip_os_shutdown": True},
            "skip_os_shutdown",
            "Ignored: skip_os_shutdown, because aws.skip_os_shutdown is not set (to true or false)",
        ),
        (
            {"tags": {"a": "b", "bosh_agent_id": "c"}},
            "tags/bosh_agent_id",
            "Left out, because these tags are reserved for the CPI: 'bosh_agent_id'",
        ),
    ],
)
def test_cloud_properties(
    story: Story, cpi: Cpi, world: World, properties: dict[str, Any], path: str, text: str
) -> None:
    """A VM's property without effect is one warning, and an error at its place; the VM is created."""
    answer = story.create_vm(properties)
    answer.ok()
    assert story.warnings(answer) == [text]
    whole = {"instance_type": "m5.large", **properties}
    found = errors(checked(cpi, changed(right(world), VM_TYPE, whole), "--offline"))
    assert [(each["path"], each["what"], each["remedy"]) for each in found] == [
        (f"{AT_TYPE}/{path}", text, None)
    ]


def test_tenancy(story: Story, cpi: Cpi, world: World) -> None:
    """A tenancy that EC2 does not know is a warning, for which check has the word that was meant."""
    answer = story.create_vm({"tenancy": "Dedicated"})
    answer.ok()
    said = "tenancy 'Dedicated' is ignored, and the VM runs on shared hardware: set it to dedicated, or name "
    assert story.warnings(answer) == [f"{said}the host in dedicated_host"]
    whole = changed(right(world), (*VM_TYPE, "tenancy"), "Dedicated")
    (found,) = errors(checked(cpi, whole, "--offline"))
    assert (found["path"], "Did you mean dedicated?" in found["remedy"]) == (f"{AT_TYPE}/tenancy", True)


PRIVATE = ("default", "10.0.1.50", 0)
SECOND_DYNAMIC = (
    "network 'more' is ignored, because a VM has an interface in one dynamic network only, here 'dynamic': "
    "remove it, or make it a manual network"
)
SECOND_ADDRESS = (
    "the IPv4 address of network 'second' is ignored, because nic_group 'g' already has that of network "
    "'default': give each a nic_group of its own"
)
SHARED = (
    "nic_group 'g' of network 'dynamic' is ignored, because a dynamic network shares its interface with no "
    "other: remove it"
)
VIP = (
    "nic_group 'g' of vip network 'vip' is ignored, because no other network of the VM has it: the first "
    "interface gets the elastic IP. Use another network's nic_group, or remove it"
)


@pytest.mark.parametrize(
    ("networks", "text", "place"),
    [
        ([PRIVATE, ("dynamic", None, 1), ("more", None, 1)], SECOND_DYNAMIC, ""),
        ([(*PRIVATE, "g"), ("second", "10.0.1.51", 0, "g")], SECOND_ADDRESS, ""),
        ([(*PRIVATE, "g"), ("dynamic", None, 1, "g")], SHARED, "/dynamic"),
        ([PRIVATE, ("vip", None, 0, "g")], VIP, "/vip"),
    ],
    ids=["second-dynamic", "second-address", "shared", "vip"],
)
def test_networks(story: Story, cpi: Cpi, world: World, networks: list[Any], text: str, place: str) -> None:
    """A network without effect, or a part of one, is one warning, and an error at the group's networks."""
    elastic = {"type": "vip", "ip": world.ec2.allocate_address(Domain="vpc")["PublicIp"]}
    given, listed = {}, []
    for name, ip, subnet, *group in networks:
        own = {"nic_group": group[0]} if group else {}
        given[name] = {**(elastic if name == "vip" else story.network(ip, subnet)), **own}
        listed.append({"name": name, **own, **({"static_ips": [elastic["ip"]]} if name == "vip" else {})})
    answer = story.create_vm(networks=given)
    answer.ok()
    assert story.warnings(answer) == [text]
    whole = right(world)
    whole["networks"] += [
        {**whole["networks"][index], "name": name} for index, name in enumerate(["second", "more"])
    ]
    listed[0]["default"] = ["dns", "gateway"]
    web = {"name": "web", "instances": 1, "vm_type": "large", "azs": ["z1"], "networks": listed}
    found = [each for each in errors(checked_with(cpi, whole, [web], "--offline")) if each["source"] == "CPI"]
    assert [(each["path"], each["what"]) for each in found] == [
        (f"instance_groups/web/networks{place}", text)
    ]


def test_address_of_a_dynamic_network(story: Story) -> None:
    """The Director sends the address that the last VM in a dynamic network had; that is no warning."""
    answer = story.create_vm(networks={"one": {**story.network(), "ip": "10.0.1.77", "prefix": "32"}})
    answer.ok()
    assert story.warnings(answer) == []


def test_fallback_that_is_the_subnet(story: Story, cpi: Cpi, world: World) -> None:
    """A fallback subnet that the network has already is one warning, and an error at its place."""
    dynamic = story.network()
    subnet = dynamic["cloud_properties"]["subnet"]
    dynamic["cloud_properties"]["subnet_fallbacks"] = [subnet]
    answer = story.create_vm(networks={"dynamic": dynamic})
    answer.ok()
    key = "networks.dynamic.cloud_properties.subnet_fallbacks"
    text = f"Ignored: '{{}}' in {key}, because the network has that subnet already: remove it"
    assert story.warnings(answer) == [text.format(subnet)]
    own, other = world.subnet_ids[1:3]
    fallbacks = ("networks", 1, "subnets", 0, "cloud_properties", "subnet_fallbacks")
    found = errors(checked(cpi, changed(right(world), fallbacks, [other, own, other]), "--offline"))
    place = "networks/dynamic/subnets/0/cloud_properties/subnet_fallbacks"
    assert [(each["path"], each["what"]) for each in found] == [
        (f"{place}/{index}", text.format(each)) for index, each in ((1, own), (2, other))
    ]


IGNORED_TAGS = (
    "aws.stemcell.tags is ignored: the Director passes its own tags, and a light stemcell's AMI is not ours. "
    "For the AMIs that the CPI creates, use aws.tags"
)


def test_tags_of_a_light_stemcell(story: Story, world: World) -> None:
    """Tags of stemcells in the configuration have no effect on a light one."""
    cpi = story.cpi_with(stemcell={"tags": {"a": "b"}})
    answer = cpi.call("create_stemcell", "/x/image", {"ami": {"us-east-1": world.image_id}})
    answer.ok()
    assert story.warnings(answer) == [IGNORED_TAGS]


def test_tags_of_a_changed_disk(story: Story, cpi: Cpi, volumes: Volumes) -> None:
    """update_disk changes no tags, and says which ones the disk does not get."""
    disk_cid = volumes.make(Size=1)
    answer = cpi.call("update_disk", disk_cid, 1024, {"tags": {"a": "b"}, "name": "data"})
    assert answer.ok() is None
    said = f"Tags of the disk type are ignored, because update_disk changes none of '{disk_cid}': 'Name', 'a'"
    assert story.warnings(answer) == [f"{said}. Set them in AWS"]
