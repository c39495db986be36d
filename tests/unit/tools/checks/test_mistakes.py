"""Mistakes that people make in cloud configs and manifests.

Each row changes one piece of a right file. The first finding must have the severity and the path, and name
what helps: the right key, value or kind of thing.
"""

from collections.abc import Callable
from typing import Any

import pytest

from tests.stories.right_configs import CREATE_ENV, OWN

Check = Callable[..., list[tuple[str, str, str]]]

DISK = "    ephemeral_disk: {size: 25_000, type: gp3}\n"
TYPE = "    instance_type: m5.large\n"
ID = "0123456789abcdef0"
SUBNET_ID = f"subnet-{ID}"
EBS = "{type: gp3, encrypted: true}"
VM, DATA = "vm_types/default", "disk_types/large"
SUBNET, ZONE = "networks/default/subnets/0", "azs/z1/cloud_properties/availability_zone"
IN_VM, IN_SUBNET = f"{VM}/cloud_properties", f"{SUBNET}/cloud_properties"


def changed(text: str, old: str, new: str) -> str:
    """Replace a piece that the text has."""
    assert old in text, old
    return text.replace(old, new, 1)


def assert_first(found: list[tuple[str, str, str]], severity: str, path: str, word: str) -> None:
    """The first finding has the severity, the path, and the word."""
    assert found
    assert found[0][:2] == (severity, path)
    assert word in found[0][2]


@pytest.mark.parametrize(
    ("severity", "properties", "path", "word"),
    [
        # at the wrong level
        ("warning", "size: 25_000", "size", "into ephemeral_disk or root_disk"),
        ("warning", "http_tokens: required", "http_tokens", "into metadata_options"),
        (
            "warning",
            "ephemeral_disk: {key_name: bosh}",
            "ephemeral_disk/key_name",
            "up, beside ephemeral_disk",
        ),
        ("warning", "interface_type: efa", "interface_type", "networks or their subnets"),
        ("warning", f"snapshot_id: snap-{ID}", "snapshot_id", "disk types"),
        # misspelt names, and those of other CPIs and programs
        ("warning", "default_security_groups: [a]", "default_security_groups", "mean security_groups?"),
        ("warning", "region: us-east-1", "region", "Remove it"),
        ("warning", "flavor: m1.small", "flavor", "Remove it"),
        ("warning", "machine_type: n1-small", "machine_type", "mean instance_type?"),
        ("warning", "root_disk_size_gb: 20", "root_disk_size_gb", "mean root_disk?"),
        ("warning", "keyname: bosh", "keyname", "mean key_name?"),
        ("warning", "elb: web", "elb", "mean elbs?"),
        ("warning", "target_groups: [web]", "target_groups", "mean lb_target_groups?"),
        # values of a wrong type, or beyond a limit
        ("error", "ephemeral_disk: {size: 25 GB}", "ephemeral_disk/size", "25600"),
        ("error", 'ephemeral_disk: {size: "25000"}', "ephemeral_disk/size", "quotation marks"),
        ("error", "ephemeral_disk: {size: 0}", "ephemeral_disk/size", "got 0"),
        ("error", "ephemeral_disk: gp3", "ephemeral_disk", "a hash, got String"),
        ("error", "security_groups: web", "security_groups", "a list, got String"),
        ("error", "elbs: {name: web}", "elbs", "a list, got Hash"),
        ("error", "spot_bid_price: $0.1", "spot_bid_price", "price"),
        ("warning", 'ebs_optimized: "false"', "ebs_optimized", "quotation marks"),
        ("warning", "ebs_optimized: n", "ebs_optimized", "true or false"),
        ("warning", "ephemeral_disk: {size: 25_000, type: GP3}", "ephemeral_disk/type", "mean gp3?"),
        ("warning", "ephemeral_disk: {size: 25_000, type: ssd}", "ephemeral_disk/type", "gp3 or gp2"),
        ("error", "ephemeral_disk: {size: 25_000, type: gp3, iops: 90_000}", "ephemeral_disk/iops", "12500"),
        ("error", "ephemeral_disk: {size: 25_000, throughput: 50}", "ephemeral_disk/throughput", "125"),
        (
            "warning",
            "metadata_options: {http_tokens: require}",
            "metadata_options/http_tokens",
            "mean required?",
        ),
        (
            "warning",
            "metadata_options: {http_endpoint: enable}",
            "metadata_options/http_endpoint",
            "enabled?",
        ),
        (
            "warning",
            "metadata_options: {http_tokens: v2}",
            "metadata_options/http_tokens",
            "optional or required",
        ),
        ("warning", "credit_specification: unlimted", "credit_specification", "unlimited?"),
        ("warning", "capacity_reservation: {preference: opn}", "capacity_reservation/preference", "open?"),
        # ids, ARNs and names of another kind
        ("error", f"security_groups: [{SUBNET_ID}]", "security_groups/0", "a security group, sg-…"),
        ("error", "security_groups: [sg-web]", "security_groups/0", "no name begins with sg-"),
        ("error", f"key_name: key-{ID}", "key_name", "the name of a key pair"),
        ("error", f"capacity_reservation: {{id: i-{ID}}}", "capacity_reservation/id", "reservation, cr-…"),
        ("error", f"placement_group: pg-{ID}", "placement_group", "the name"),
        ("error", f"launch_template: {{name: lt-{ID}}}", "launch_template/name", "the name"),
        ("error", "elbs: [web-1.us-east-1.elb.amazonaws.com]", "elbs/0", "is a DNS name"),
        (
            "error",
            "iam_instance_profile: arn:aws:iam::123456789012:instance-profile/web",
            "iam_instance_profile",
            "the name of an instance profile",
        ),
        (
            "error",
            "elbs: ['arn:aws:elasticloadbalancing:us-east-1:123456789012:loadbalancer/app/web/0123']",
            "elbs/0",
            "lb_target_groups",
        ),
        ("error", "instance_type_fallbacks: [m6g.large]", "instance_type_fallbacks/0", "arm64"),
    ],
)
def test_vm_type(check: Check, severity: str, properties: str, path: str, word: str) -> None:
    """A mistake in the cloud properties of a VM type."""
    assert_first(check(changed(OWN, DISK, f"    {properties}\n")), severity, f"{IN_VM}/{path}", word)


@pytest.mark.parametrize(
    ("severity", "properties", "path", "word"),
    [
        ("warning", "{security_groups: [a]}", "/security_groups", "Remove it"),
        ("warning", "{zone_fallback: true}", "/zone_fallback", "VM types"),
        ("warning", "{type: GP3}", "/type", "mean gp3?"),
        ("warning", "{kms_key_id: x, encrypted: true}", "/kms_key_id", "mean kms_key_arn?"),
        ("warning", "{type: gp3, kms_key_arn: alias/web}", "/kms_key_arn", "encrypted"),
        ("error", "{type: gp2, iops: 4000}", "/iops", "gp3, io1 or io2"),
        (
            "error",
            "{encrypted: true, kms_key_arn: 'arn:aws:kms:eu-west-1:123456789012:key/1234'}",
            "/kms_key_arn",
            "us-east-1",
        ),
        (
            "error",
            "{encrypted: true, kms_key_arn: 'arn:aws:iam::123456789012:role/web'}",
            "/kms_key_arn",
            "KMS key",
        ),
    ],
)
def test_disk_type(check: Check, severity: str, properties: str, path: str, word: str) -> None:
    """A mistake in the cloud properties of a disk type."""
    assert_first(check(changed(OWN, EBS, properties)), severity, f"{DATA}/cloud_properties{path}", word)


@pytest.mark.parametrize(
    ("old", "new", "severity", "path", "word"),
    [
        *(
            ("m5.large", wrong, severity, f"{IN_VM}/instance_type", word)
            for wrong, severity, word in (
                ("t3.samll", "warning", "mean t3.small?"),
                ("M5.Large", "warning", "mean m5.large?"),
                ("“m5.large”", "warning", "mean m5.large?"),
                ("n1-standard-1", "warning", "such as m5.large"),
                (f"ami-{ID}", "error", "is the id of an AMI"),
            )
        ),
        *(
            (SUBNET_ID, wrong, "error", f"{IN_SUBNET}/subnet", word)
            for wrong, word in (
                (f"sg-{ID}", "is the id of a security group"),
                (f"vpc-{ID}", "is the id of a VPC"),
                (f"arn:aws:ec2:us-east-1:123456789012:subnet/{SUBNET_ID}", "is an ARN"),
                ("10.0.0.0/24", "the id of a subnet"),
                (SUBNET_ID[:-1], "the id of a subnet"),
                ("'${subnet_id}'", "the id of a subnet"),
            )
        ),
        *(
            ("zone: us-east-1a", f"zone: {wrong}", severity, ZONE, word)
            for wrong, severity, word in (
                ("us-east-1", "error", "a zone's name"),
                ("use1-az1", "error", "a zone's name"),
                ("us-east-1A", "error", "a zone's name"),
                ("eu-west-1a", "warning", "aws.region"),
            )
        ),
        # keys at the wrong level, or lacking
        (DISK, DISK[2:], "warning", f"{VM}/ephemeral_disk", "into cloud_properties"),
        (
            f"  cloud_properties:\n{TYPE}{DISK}",
            f"  instance_type: m5.large\n  cloud_properties:\n{DISK}",
            "error",
            IN_VM,
            "Move instance_type into cloud_properties",
        ),
        (f"  cloud_properties:\n{TYPE}", f"  cloud_property:\n{TYPE}", "error", VM, "cloud_property to"),
        (
            f"    cloud_properties: {{subnet: {SUBNET_ID}}}",
            f"    subnet: {SUBNET_ID}",
            "error",
            SUBNET,
            "subnet",
        ),
        (
            "  subnets:\n  - range: 10.0.0.0/24\n    gateway",
            "  range: 10.0.0.0/24\n  subnets:\n  - gateway",
            "error",
            SUBNET,
            "range. Move it down: it stands beside subnets",
        ),
        ("{subnet: subnet", "{subnet_id: subnet", "error", IN_SUBNET, "cloud_properties.subnet"),
        ("    gateway:", "    managed: true\n    gateway:", "warning", f"{SUBNET}/managed", "beside subnets"),
        (
            f"  disk_size: 50_000\n  cloud_properties: {EBS}",
            "  cloud_properties: {type: gp3, disk_size: 50_000}",
            "error",
            DATA,
            "disk_size. Move it up: it stands in cloud_properties",
        ),
        ("  workers: 5\n", "", "error", "compilation", "Add workers"),
        # misspelt keys of BOSH
        ("networks:\n", "network:\n", "warning", "network", "mean networks?"),
        ("  subnets:\n", "  subnet:\n", "error", "networks/default", "Rename subnet to subnets"),
        ("  disk_size: 3000", "  size: 3000", "error", "disk_types/default", "Rename size to disk_size"),
        # values that BOSH reads
        ("disk_size: 3000", "disk_size: 3G", "error", "disk_types/default/disk_size", "3072"),
        ("disk_size: 3000", "disk_size: 0800", "error", "disk_types/default/disk_size", "Write 800"),
        ("  workers: 5", '  workers: "5"', "error", "compilation/workers", "quotation marks"),
        ("azs: [z1, z2, z3]", "azs: z1", "error", f"{SUBNET}/azs", "a list"),
        ("type: manual", "type: Manual", "error", "networks/default/type", "'manual'"),
        # addresses
        ("gateway: 10.0.0.1", "gateway: 10.0.0.2", "warning", f"{SUBNET}/gateway", "10.0.0.1"),
        ("[10.0.0.0-10.0.0.9]", "[10.0.1.0-10.0.1.9]", "error", f"{SUBNET}/range", "10.0.0.2"),
        ("[10.0.0.0-10.0.0.9]", "[10.0.0.9-10.0.0.0]", "error", f"{SUBNET}/range", "10.0.0.2"),
        ("[10.0.0.0-10.0.0.9]", "[10.0.0.0..10.0.0.9]", "error", f"{SUBNET}/range", "10.0.0.2"),
        (
            "- name: z2\n  cloud_properties: {availability_zone: us-east-1a}",
            "- name: z2\n  cloud_properties: {availability_zone: us-east-1b}",
            "error",
            f"{IN_SUBNET}/subnet",
            "us-east-1a, us-east-1b",
        ),
    ],
)
def test_cloud_config(check: Check, old: str, new: str, severity: str, path: str, word: str) -> None:
    """A mistake elsewhere in a cloud config."""
    assert_first(check(changed(OWN, old, new)), severity, path, word)


MANIFEST = """
name: web
instance_groups:
- name: web
  instances: 2
  vm_type: default
  azs: [z1, z2]
  persistent_disk_type: default
  networks:
  - name: default
  jobs: []
"""
GROUP = "instance_groups/web"


@pytest.mark.parametrize(
    ("old", "new", "severity", "path", "word"),
    [
        ("instance_groups:", "instance_group:", "warning", "instance_group", "mean instance_groups?"),
        ("  instances: 2", "  instance: 2", "error", GROUP, "Rename instance to instances"),
        ("  instances: 2", '  instances: "2"', "error", f"{GROUP}/instances", "quotation marks"),
        ("azs: [z1, z2]", "azs: z1", "error", f"{GROUP}/azs", "a list"),
        ("  azs: [z1", "  az: [z1", "error", IN_VM, "cloud_properties.availability_zone"),
        ("disk_type: default", "disk: 10 GB", "error", f"{GROUP}/persistent_disk", "10240"),
        ("disk_type: default", "disk: 10", "warning", f"{GROUP}/persistent_disk", "MiB"),
        ("  persistent_disk_t", "  disk_t", "warning", f"{GROUP}/disk_type", "mean persistent_disk_type?"),
        ("  jobs: []", "  static_ips: [10.0.0.20]", "warning", f"{GROUP}/static_ips", "into networks"),
    ],
)
def test_manifest(check: Check, old: str, new: str, severity: str, path: str, word: str) -> None:
    """A mistake in a deployment manifest."""
    assert_first(check(OWN, changed(MANIFEST, old, new)), severity, path, word)


@pytest.mark.parametrize(
    ("old", "new", "path", "word"),
    [
        ("  network: private", "  networks: private", "resource_pools/vms", "Rename networks to network"),
        ("disk_size: 65_536", "size: 65_536", "disk_pools/disks", "Rename size to disk_size"),
        ("disk_size: 65_536", "disk_size: 64 GB", "disk_pools/disks/disk_size", "65536"),
        (
            "cloud_properties: {subnet: subnet-1}",
            "subnet: subnet-1",
            "networks/private/subnets/0",
            "cloud_properties.subnet",
        ),
        ("  resource_pool: vms", "  vm_type: vms", "instance_groups/bosh", "Add resource_pool"),
        (
            "zone: us-east-1a",
            "zone: us-east-1",
            "resource_pools/vms/cloud_properties/availability_zone",
            "a zone's name",
        ),
    ],
)
def test_create_env(check: Check, old: str, new: str, path: str, word: str) -> None:
    """A mistake in a manifest for create-env."""
    found = [each for each in check(changed(CREATE_ENV, old, new)) if each[0] != "not checked"]
    assert_first(found, "error", path, word)


def test_no_wrong_advice(check: Check) -> None:
    """No remedy names a key that the place does not have; a name may look like an id."""
    ((_, _, text),) = check(changed(OWN, "compilation:\n", "tags: {a: b}\ncompilation:\n"))
    assert "Remove it" in text
    assert check(changed(OWN, TYPE, f"{TYPE}    key_name: key-20240115\n")) == []


@pytest.mark.parametrize(
    ("severity", "aws", "key"),
    [
        ("error", {"default_root_disk": {"sise": 20_000}}, "default_root_disk.sise"),
        ("error", {"default_root_disk": {"iops": 0}}, "default_root_disk.iops"),
        ("warning", {"default_ephemeral_disk": {"encrypted": "false"}}, "default_ephemeral_disk.encrypted"),
        ("error", {"default_ephemeral_disk": {"size": "10 GB"}}, "default_ephemeral_disk.size"),
        ("warning", {"metadata_options": {"http_token": "required"}}, "metadata_options.http_token"),
        (
            "error",
            {"metadata_options": {"http_put_response_hop_limit": "2"}},
            "metadata_options.http_put_response_hop_limit",
        ),
    ],
)
def test_configuration(check: Check, severity: str, aws: dict[str, Any], key: str) -> None:
    """A mistake in a hash of cpi.json."""
    ((found, _, text),) = check(OWN, **aws)
    assert (found, f"aws.{key}" in text) == (severity, True)
