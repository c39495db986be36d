"""Mistakes that people make in cloud configs and manifests: the place, and the words of the remedy.

Each row changes one piece of a right file. What `cpi check` says first must name the mistake, its path and
line, and what to do; the rules themselves are tested beside their stories.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from bosh_aws_cpi.config import aws_config
from bosh_aws_cpi.config.loading import load
from bosh_aws_cpi.tools.checks.offline import Files
from bosh_aws_cpi.tools.findings import ordered
from testbed.executable import config
from tests.stories.right_configs import CREATE_ENV, OWN

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

AT = "@"
"""Begins a path in the deployment manifest."""
MANIFEST = """
name: web
instance_groups:
- name: web
  instances: 2
  vm_type: default
  stemcell: default
  azs: [z1, z2]
  persistent_disk_type: default
  networks:
  - name: default
  jobs: []
"""
DISK = "    ephemeral_disk: {size: 25_000, type: gp3}\n"
TYPE = "    instance_type: m5.large\n"
AT_VM, AT_DISK = "vm_types/default", "disk_types/large"
IN_VM, IN_DISK = f"{AT_VM}/cloud_properties", f"{AT_DISK}/cloud_properties"
ZONE, SUBNET = "azs/z1/cloud_properties/availability_zone", "networks/default/subnets/0"
EBS = "{type: gp3, encrypted: true}"
COMPILATION = "  vm_type: default\n"
ID = "0123456789abcdef0"


@pytest.fixture
def say(tmp_path: Path) -> Callable[..., list[str]]:
    """Return a function that checks files offline, and returns the lines of the report."""

    def run(text: str, manifest: str = "", **aws: Any) -> list[str]:
        settings, path, deployed = (tmp_path / name for name in ("cpi.json", "config.yml", "manifest.yml"))
        whole = config("http://localhost", **aws)
        settings.write_text(json.dumps(whole))
        path.write_text(text)
        deployed.write_text(manifest)
        given = whole["cloud"]["properties"]["aws"]
        named = str(deployed) if manifest else None
        files = Files.read([str(path)], named, load(str(settings), {}).aws, given=given)
        return [str(each).replace(f"{tmp_path}/", "") for each in ordered(files.findings())]

    return run


def assert_said(found: list[str], place: str, words: str) -> None:
    """The first line of the report begins with severity, line and path, and has the words."""
    severity, line, path = place.split(" ", 2)
    name = "manifest.yml" if path.startswith(AT) else "config.yml"
    assert found, place
    assert found[0].startswith(f"{f'{severity}: {name}:{line} {path.removeprefix(AT)}'.rstrip()}: "), found
    assert words in found[0], found


def changed(text: str, old: str, new: str) -> str:
    """Replace a piece that the text has."""
    assert old in text, old
    return text.replace(old, new, 1)


LEVELS = [
    (DISK, f"{DISK[2:]}", f"warning 14 {AT_VM}/ephemeral_disk", "Move it into cloud_properties"),
    (
        f"  cloud_properties:\n{TYPE}{DISK}",
        f"  instance_type: m5.large\n  cloud_properties:\n{DISK}",
        f"error 13 {IN_VM}",
        "has no cloud_properties.instance_type. Move instance_type into cloud_properties",
    ),
    (
        f"  cloud_properties:\n{TYPE}",
        f"  cloud_property:\n{TYPE}",
        f"error 11 {AT_VM}",
        "Rename cloud_property to cloud_properties",
    ),
    (
        DISK,
        "    size: 25_000\n",
        f"warning 14 {IN_VM}/size",
        "Move it into ephemeral_disk or root_disk",
    ),
    (DISK, "    http_tokens: required\n", f"warning 14 {IN_VM}/http_tokens", "Move it into metadata_options"),
    (
        DISK,
        "    metadata_options: {http_tokens: required, ebs_optimized: true}\n",
        f"warning 14 {IN_VM}/metadata_options/ebs_optimized",
        "Move it up, beside metadata_options",
    ),
    (
        DISK,
        "    ephemeral_disk: {size: 25_000, key_name: bosh}\n",
        f"warning 14 {IN_VM}/ephemeral_disk/key_name",
        "Move it up, beside ephemeral_disk",
    ),
    (
        "    cloud_properties: {subnet: subnet-0123456789abcdef0}\n",
        "  cloud_properties: {subnet: subnet-0123456789abcdef0}\n",
        f"error 31 {SUBNET}",
        "no VM can be created in it. Add the id of the subnet",
    ),
    (
        "    cloud_properties: {subnet: subnet-0123456789abcdef0}\n",
        "    subnet: subnet-0123456789abcdef0\n",
        f"error 31 {SUBNET}",
        "has no cloud_properties.subnet",
    ),
    (
        "  subnets:\n  - range: 10.0.0.0/24\n    gateway",
        "  range: 10.0.0.0/24\n  subnets:\n  - gateway",
        f"error 32 {SUBNET}",
        "has no range. Move it down: it stands beside subnets",
    ),
    (
        "    dns: [8.8.8.8]\n    reserved: [10.0.0.0-10.0.0.9]\n    cloud_properties: {subnet: subnet",
        "    reserved: [10.0.0.0-10.0.0.9]\n    cloud_properties: {dns: [8.8.8.8], subnet: subnet",
        f"warning 35 {SUBNET}/cloud_properties/dns",
        "Move it up, beside cloud_properties",
    ),
    (
        "    gateway: 10.0.0.1\n",
        "    gateway: 10.0.0.1\n    managed: true\n",
        f"warning 33 {SUBNET}/managed",
        "Move it up, beside subnets",
    ),
    (
        f"  disk_size: 50_000\n  cloud_properties: {EBS}",
        "  cloud_properties: {type: gp3, disk_size: 50_000}",
        f"error 23 {AT_DISK}",
        "has no disk_size. Move it up: it stands in cloud_properties",
    ),
    (
        f"  cloud_properties: {EBS}",
        "  type: gp3",
        f"warning 25 {AT_DISK}/type",
        "Move it into cloud_properties",
    ),
    (
        "  cloud_properties: {availability_zone: us-east-1a}\n",
        "  availability_zone: us-east-1a\n",
        "error 3 azs/z1",
        "Move availability_zone into cloud_properties",
    ),
    (
        "  workers: 5\n",
        "",
        "error 44 compilation",
        "has no workers. Add workers",
    ),
    (
        "compilation:\n  workers: 5\n",
        "workers: 5\ncompilation:\n",
        "error 45 compilation",
        "Move it down: it stands beside compilation",
    ),
    (
        COMPILATION,
        f"{COMPILATION}  instance_type: m5.large\n",
        "warning 49 compilation/instance_type",
        "Move it into cloud_properties",
    ),
]
"""Keys at the wrong level."""
NAMES = [
    ("networks:\n", "network:\n", "warning 27 network", "Did you mean networks?"),
    ("  subnets:\n", "  subnet:\n", "error 28 networks/default", "Rename subnet to subnets"),
    ("    gateway:", "    gatway:", f"error 31 {SUBNET}", "has no gateway. Rename gatway to gateway"),
    (
        "  disk_size: 3000",
        "  size: 3000",
        "error 21 disk_types/default",
        "has no disk_size. Rename size to disk_size",
    ),
    ("    reserved:", "    reserve:", f"error 31 {SUBNET}/range", "Add to reserved: 10.0.0.2-10.0.0.3"),
    *(
        (DISK, f"    {key}\n", f"warning 14 {IN_VM}/{key.partition(':')[0]}", remedy)
        for key, remedy in (
            ("interface_type: efa", "Move it into the cloud_properties of networks or their subnets"),
            (
                "ena_express: {enabled: true}",
                "Move it into the cloud_properties of networks or their subnets",
            ),
            (f"snapshot_id: snap-{ID}", "Move it into the cloud_properties of disk types"),
            ("iops_per_gib: 50", "Move it into the cloud_properties of disk types"),
            ("default_security_groups: [a]", "Did you mean security_groups?"),
            ("region: us-east-1", "Remove it"),
        )
    ),
    (
        f"{{subnet: subnet-{ID}}}",
        f"{{subnet: subnet-{ID}, zone_fallback: true}}",
        f"warning 36 {SUBNET}/cloud_properties/zone_fallback",
        "Move it into the cloud_properties of VM types",
    ),
    (EBS, "{security_groups: [a]}", f"warning 25 {IN_DISK}/security_groups", "Remove it"),
    (
        EBS,
        "{zone_fallback: true}",
        f"warning 25 {IN_DISK}/zone_fallback",
        "Move it into the cloud_properties of VM types",
    ),
    (DISK, "    flavor: m1.small\n", f"warning 14 {IN_VM}/flavor", "Remove it"),
    (DISK, "    machine_type: n1-small\n", f"warning 14 {IN_VM}/machine_type", "Did you mean instance_type?"),
    (DISK, "    root_disk_size_gb: 20\n", f"warning 14 {IN_VM}/root_disk_size_gb", "Did you mean root_disk?"),
    (DISK, "    preemptible: true\n", f"warning 14 {IN_VM}/preemptible", "Remove it"),
    (
        DISK,
        "    service_account: web\n",
        f"warning 14 {IN_VM}/service_account",
        "Remove it",
    ),
    (
        DISK,
        "    instance_profile: web\n",
        f"warning 14 {IN_VM}/instance_profile",
        "Did you mean iam_instance_profile?",
    ),
    (
        DISK,
        "    security_group: [web]\n",
        f"warning 14 {IN_VM}/security_group",
        "Did you mean security_groups?",
    ),
    (DISK, "    keyname: bosh\n", f"warning 14 {IN_VM}/keyname", "Did you mean key_name?"),
    (DISK, "    elb: web\n", f"warning 14 {IN_VM}/elb", "Did you mean elbs?"),
    (
        DISK,
        "    target_groups: [web]\n",
        f"warning 14 {IN_VM}/target_groups",
        "Did you mean lb_target_groups?",
    ),
    (DISK, "    spot_price: 0.1\n", f"warning 14 {IN_VM}/spot_price", "Did you mean spot_bid_price?"),
    (EBS, "{volume_type: gp3}", f"warning 25 {IN_DISK}/volume_type", "Remove it"),
    (
        EBS,
        "{kms_key_id: x, encrypted: true}",
        f"warning 25 {IN_DISK}/kms_key_id",
        "Did you mean kms_key_arn?",
    ),
    (
        "{subnet: subnet",
        "{net_id: x, subnet: subnet",
        f"warning 36 {SUBNET}/cloud_properties/net_id",
        "Remove it",
    ),
    (
        "{subnet: subnet",
        "{subnet_id: subnet",
        f"error 36 {SUBNET}/cloud_properties",
        "has no cloud_properties.subnet",
    ),
]
"""Misspelt names, in the singular or plural, and those of other CPIs and programs."""
VALUES = [
    (
        "size: 25_000",
        "size: 25 GB",
        f"error 14 {IN_VM}/ephemeral_disk/size",
        "of MiB, got String. Give the number of MiB: 25600",
    ),
    ("size: 25_000", 'size: "25000"', f"error 14 {IN_VM}/ephemeral_disk/size", "Remove the quotation marks"),
    ("size: 25_000", "size: 0", f"error 14 {IN_VM}/ephemeral_disk/size", "must be more than 0 MiB, got 0"),
    (
        "disk_size: 3000",
        "disk_size: 3G",
        "error 22 disk_types/default/disk_size",
        "Give the number of MiB: 3072",
    ),
    (
        "disk_size: 3000",
        'disk_size: "3000"',
        "error 22 disk_types/default/disk_size",
        "Remove the quotation marks",
    ),
    (
        DISK,
        "    security_groups: web\n",
        f"error 14 {IN_VM}/security_groups",
        "must be a list, got String. Write a list",
    ),
    (DISK, "    ephemeral_disk: gp3\n", f"error 14 {IN_VM}/ephemeral_disk", "must be a hash, got String"),
    (DISK, '    ebs_optimized: "false"\n', f"warning 14 {IN_VM}/ebs_optimized", "Remove the quotation marks"),
    (DISK, "    ebs_optimized: n\n", f"warning 14 {IN_VM}/ebs_optimized", "as true. Write true or false"),
    ("disk_size: 3000", "disk_size: 0800", "error 22 disk_types/default/disk_size", "got String. Write 800"),
    (DISK, "    elbs: {name: web}\n", f"error 14 {IN_VM}/elbs", "must be a list, got Hash"),
    (DISK, "    tags: [team=web]\n", f"error 14 {IN_VM}/tags", "expected a Hash"),
    (DISK, "    spot_bid_price: $0.1\n", f"error 14 {IN_VM}/spot_bid_price", "must be a price in dollars"),
    (
        "azs: [z1, z2, z3]",
        "azs: z1",
        f"error 33 {SUBNET}/azs",
        "must be a list, got String. Write a list also for one",
    ),
    ("dns: [8.8.8.8]", "dns: 8.8.8.8", f"error 34 {SUBNET}/dns", "Write a list also for one entry: [NAME]"),
    ("  workers: 5", '  workers: "5"', "error 45 compilation/workers", "Remove the quotation marks"),
    (
        "reuse_compilation_vms: true",
        'reuse_compilation_vms: "true"',
        "error 46 compilation/reuse_compilation_vms",
        "Remove the quotation marks",
    ),
    (
        "type: manual",
        "type: Manual",
        "error 29 networks/default/type",
        "must be 'manual', 'dynamic' or 'vip'",
    ),
    (
        "size: 25_000, type: gp3",
        "size: 25_000, type: GP3",
        f"warning 14 {IN_VM}/ephemeral_disk/type",
        "Did you mean gp3?",
    ),
    (
        "size: 25_000, type: gp3",
        "size: 25_000, type: ssd",
        f"warning 14 {IN_VM}/ephemeral_disk/type",
        "Use gp3 or gp2",
    ),
    (
        "size: 25_000, type: gp3",
        "size: 25_000, type: gp3, iops: 90_000",
        f"error 14 {IN_VM}/ephemeral_disk/iops",
        "a 25 GiB volume of type gp3 allows at most 12500",
    ),
    (
        "size: 25_000, type: gp3",
        "size: 25_000, type: gp3, throughput: 50",
        f"error 14 {IN_VM}/ephemeral_disk/throughput",
        "type gp3 needs at least 125",
    ),
    (
        "size: 25_000, type: gp3",
        "size: 25_000, type: io2",
        f"error 14 {IN_VM}/ephemeral_disk",
        "iops is needed for",
    ),
    (EBS, "{type: gp2, iops: 4000}", f"error 25 {IN_DISK}/iops", "remove it, or use gp3, io1 or io2"),
    (
        EBS,
        "{type: gp3, kms_key_arn: alias/web}",
        f"warning 25 {IN_DISK}/kms_key_arn",
        "Set encrypted to true, or remove kms_key_arn",
    ),
    (
        DISK,
        "    metadata_options: {http_tokens: require}\n",
        f"warning 14 {IN_VM}/metadata_options/http_tokens",
        "Did you mean required?",
    ),
    (
        DISK,
        "    spread: true\n    placement_group: web\n",
        f"error 14 {IN_VM}/spread",
        "a VM can be in only one placement group",
    ),
]
"""Values of the wrong type, or beyond a limit."""
ADDRESSES = [
    ("gateway: 10.0.0.1", "gateway: 10.0.0.2", f"warning 32 {SUBNET}/gateway", "10.0.0.1"),
    ("[10.0.0.0-10.0.0.9]", "[10.0.1.0-10.0.1.9]", f"error 31 {SUBNET}/range", "Add to reserved: 10.0.0.2"),
    (
        "[10.0.0.0-10.0.0.9]",
        "[10.0.0.9-10.0.0.0]",
        f"error 31 {SUBNET}/range",
        "Add to reserved: 10.0.0.2",
    ),
    ("[10.0.0.0-10.0.0.9]", "[10.0.0.0..10.0.0.9]", f"error 31 {SUBNET}/range", "Add to reserved: 10.0.0.2"),
    ("[10.0.0.0-10.0.0.9]", "[]", f"error 31 {SUBNET}/range", "10.0.0.2"),
]
"""Ranges and addresses."""
KINDS = [
    (
        "zone: us-east-1a",
        "zone: us-east-1",
        f"error 4 {ZONE}",
        "is not a zone's name. Give a zone's name, such as us-east-1a",
    ),
    (
        "zone: us-east-1a",
        "zone: use1-az1",
        f"error 4 {ZONE}",
        "is not a zone's name. Give a zone's name, such as us-east-1a",
    ),
    (
        "zone: us-east-1a",
        "zone: eu-west-1a",
        f"warning 4 {ZONE}",
        "is not in us-east-1, the configuration's region. Correct the zone, or aws.region",
    ),
    ("m5.large", "t3.samll", f"warning 13 {IN_VM}/instance_type", "Did you mean t3.small?"),
    ("m5.large", "M5.Large", f"warning 13 {IN_VM}/instance_type", "Did you mean m5.large?"),
    ("m5.large", "m5large", f"warning 13 {IN_VM}/instance_type", "Did you mean m5.large?"),
    ("m5.large", "n1-standard-1", f"warning 13 {IN_VM}/instance_type", "Use a type of EC2, such as m5.large"),
    (
        "m5.large",
        f"ami-{ID}",
        f"error 13 {IN_VM}/instance_type",
        "is the id of an AMI. Give the name of an instance type",
    ),
    (
        f"subnet-{ID}",
        f"sg-{ID}",
        f"error 36 {SUBNET}/cloud_properties/subnet",
        "is the id of a security group. Give the id of a subnet, subnet-…",
    ),
    (
        f"subnet-{ID}",
        f"vpc-{ID}",
        f"error 36 {SUBNET}/cloud_properties/subnet",
        "is the id of a VPC. Give the id of a subnet",
    ),
    (
        DISK,
        f"    security_groups: [subnet-{ID}]\n",
        f"error 14 {IN_VM}/security_groups/0",
        "is the id of a subnet. Give the id of a security group, sg-…",
    ),
    (
        DISK,
        f"    key_name: key-{ID}\n",
        f"error 14 {IN_VM}/key_name",
        "is the id of a key pair. Give the name of a key pair",
    ),
    (
        DISK,
        "    iam_instance_profile: arn:aws:iam::123456789012:instance-profile/web\n",
        f"error 14 {IN_VM}/iam_instance_profile",
        "is an ARN. Give the name of an instance profile",
    ),
    (
        DISK,
        f"    capacity_reservation: {{id: i-{ID}}}\n",
        f"error 14 {IN_VM}/capacity_reservation/id",
        "is the id of an instance. Give the id of a capacity reservation, cr-…",
    ),
    (
        DISK,
        f"    placement_group: pg-{ID}\n",
        f"error 14 {IN_VM}/placement_group",
        "is the id of a placement group. Give the name",
    ),
    (
        DISK,
        f"    launch_template: {{name: lt-{ID}}}\n",
        f"error 14 {IN_VM}/launch_template/name",
        "is the id of a launch template. Give the name",
    ),
    (
        f"subnet-{ID}",
        f"arn:aws:ec2:us-east-1:123456789012:subnet/subnet-{ID}",
        f"error 36 {SUBNET}/cloud_properties/subnet",
        "is an ARN. Give the id of a subnet, subnet-…",
    ),
    (
        DISK,
        "    iam_instance_profile: arn:aws:iam::123456789012:role/web\n",
        f"error 14 {IN_VM}/iam_instance_profile",
        "Give the name of an instance profile",
    ),
    (
        DISK,
        "    elbs: ['arn:aws:elasticloadbalancing:us-east-1:123456789012:loadbalancer/app/web/0123']\n",
        f"error 14 {IN_VM}/elbs/0",
        "Give the name of a classic load balancer; those of other load balancers are in lb_target_groups",
    ),
    *(
        (f"subnet-{ID}", wrong, f"error 36 {SUBNET}/cloud_properties/subnet", "is not the id of a subnet")
        for wrong in ("private", "10.0.0.0/24", f"subnet-{ID[:16]}", "'${subnet_id}'")
    ),
    ("zone: us-east-1a", "zone: z1", f"error 4 {ZONE}", "is not a zone's name. Give a zone's name, such as"),
    ("zone: us-east-1a", "zone: us-east-1A", f"error 4 {ZONE}", "is not a zone's name"),
    *(
        (EBS, f"{{encrypted: true, kms_key_arn: '{arn}'}}", f"error 25 {IN_DISK}/kms_key_arn", words)
        for arn, words in (
            ("arn:aws:kms:eu-west-1:123456789012:key/1234", "is not the ARN of a KMS key in us-east-1"),
            ("arn:aws:iam::123456789012:role/web", "is not the ARN of a KMS key in us-east-1"),
        )
    ),
    (
        DISK,
        "    security_groups: [sg-web]\n",
        f"error 14 {IN_VM}/security_groups/0",
        "no name begins with sg-",
    ),
    (
        DISK,
        "    elbs: [web-1.us-east-1.elb.amazonaws.com]\n",
        f"error 14 {IN_VM}/elbs/0",
        "is a DNS name. Give the name of a classic load balancer",
    ),
    (
        "- name: z2\n  cloud_properties: {availability_zone: us-east-1a}",
        "- name: z2\n  cloud_properties: {availability_zone: us-east-1b}",
        f"error 36 {SUBNET}/cloud_properties/subnet",
        "is used in several zones, us-east-1a, us-east-1b: it lies in one",
    ),
    (
        DISK,
        "    instance_type_fallbacks: [m6g.large]\n",
        f"error 14 {IN_VM}/instance_type_fallbacks/0",
        "runs arm64, but 'm5.large' runs x86_64",
    ),
    ("m5.large", "“m5.large”", f"warning 13 {IN_VM}/instance_type", "Did you mean m5.large?"),
    (TYPE, "    instance_type: m5.large'\n", f"warning 13 {IN_VM}/instance_type", "Did you mean m5.large?"),
]
"""Ids, ARNs, zones and types of another kind."""


@pytest.mark.parametrize(("old", "new", "place", "words"), [*LEVELS, *NAMES, *VALUES, *ADDRESSES, *KINDS])
def test_cloud_config(say: Callable[..., list[str]], old: str, new: str, place: str, words: str) -> None:
    """The first line names the mistake in a cloud config, with its place and the remedy."""
    assert_said(say(changed(OWN, old, new)), place, words)


GROUP = "@instance_groups/web"


@pytest.mark.parametrize(
    ("old", "new", "place", "words"),
    [
        ("instance_groups:", "instance_group:", "warning 3 @instance_group", "Did you mean instance_groups?"),
        (
            "  instances: 2",
            "  instance: 2",
            f"error 4 {GROUP}",
            "has no instances. Rename instance to instances",
        ),
        ("  instances: 2", '  instances: "2"', f"error 5 {GROUP}/instances", "Remove the quotation marks"),
        (
            "  vm_type:",
            "  vm_types:",
            f"warning 6 {GROUP}/vm_types",
            "Did you mean vm_type?",
        ),
        ("azs: [z1, z2]", "azs: z1", f"error 8 {GROUP}/azs", "Write a list also for one entry"),
        ("  azs: [z1", "  az: [z1", f"error 12 {IN_VM}", "has no cloud_properties.availability_zone"),
        (
            "  persistent_disk_type: default",
            "  disk_type: default",
            f"warning 9 {GROUP}/disk_type",
            "Did you mean persistent_disk_type?",
        ),
        (
            "  persistent_disk_type: default",
            "  persistent_disk: 10 GB",
            f"error 9 {GROUP}/persistent_disk",
            "Give the number of MiB: 10240",
        ),
        (
            "  persistent_disk_type: default",
            "  persistent_disk_types: default",
            f"warning 9 {GROUP}/persistent_disk_types",
            "Did you mean persistent_disk_type?",
        ),
        (
            "  - name: default\n",
            "  - name: default\n    static_ip: 10.0.0.20\n",
            f"warning 12 {GROUP}/networks/default/static_ip",
            "Did you mean static_ips?",
        ),
        (
            "  jobs: []\n",
            "  jobs: []\n  static_ips: [10.0.0.20]\n",
            f"warning 13 {GROUP}/static_ips",
            "Move it into networks",
        ),
        ("  networks:\n", "  network:\n", f"error 4 {GROUP}", "has no networks. Rename network to networks"),
    ],
)
def test_manifest(say: Callable[..., list[str]], old: str, new: str, place: str, words: str) -> None:
    """The same of a deployment manifest."""
    found = say(OWN, changed(MANIFEST, old, new))
    assert_said(found, place, words)


POOL, NET = "resource_pools/vms", "networks/private"


@pytest.mark.parametrize(
    ("old", "new", "place", "words"),
    [
        (
            "  cloud_properties:\n    availability_zone: us-east-1a\n    instance_type: m5.large\n",
            "  instance_type: m5.large\n  cloud_properties:\n    availability_zone: us-east-1a\n",
            f"error 9 {POOL}/cloud_properties",
            "Move instance_type into cloud_properties",
        ),
        (
            "  network: private\n",
            "  networks: private\n",
            f"error 5 {POOL}",
            "has no network. Rename networks to network",
        ),
        ("disk_size: 65_536", "size: 65_536", "error 13 disk_pools/disks", "Rename size to disk_size"),
        (
            "disk_size: 65_536",
            "disk_size: 64 GB",
            "error 13 disk_pools/disks/disk_size",
            "Give the number of MiB: 65536",
        ),
        (
            "cloud_properties: {subnet: subnet-1}",
            "subnet: subnet-1",
            f"error 17 {NET}/subnets/0",
            "has no cloud_properties.subnet",
        ),
        ("gateway: 10.0.0.1,", "gatway: 10.0.0.1,", f"error 17 {NET}/subnets/0", "Rename gatway to gateway"),
        (
            "  resource_pool: vms",
            "  vm_type: vms",
            "error 21 instance_groups/bosh",
            "Add resource_pool",
        ),
        (
            "availability_zone: us-east-1a",
            "availability_zone: us-east-1",
            f"error 9 {POOL}/cloud_properties/availability_zone",
            "is not a zone's name",
        ),
    ],
)
def test_create_env(say: Callable[..., list[str]], old: str, new: str, place: str, words: str) -> None:
    """The same of a manifest for create-env."""
    found = [each for each in say(changed(CREATE_ENV, old, new)) if not each.startswith("not checked")]
    assert_said(found, place, words)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("type: gp3", "type: gp3, flavor: m1.small", "'flavor' is unknown and ignored. Remove it"),
        ("compilation:\n", "tags: {a: b}\ncompilation:\n", "'tags' is unknown and ignored. Remove it"),
        (TYPE, f"{TYPE}    key_name: key-20240115\n", ""),
    ],
)
def test_no_wrong_advice(say: Callable[..., list[str]], old: str, new: str, words: str) -> None:
    """No remedy names a key that the place does not have; a name may look like an id."""
    found = say(changed(OWN, old, new))
    assert [each for each in found if not words or words not in each] == []
    assert bool(found) is bool(words)


@pytest.mark.parametrize("key", list(aws_config.ENDPOINTS.values()))
def test_ways_to_aws(tmp_path: Path, key: Any) -> None:
    """A check of create-env reaches each service as cpi.json says."""
    settings, path = tmp_path / "cpi.json", tmp_path / "bosh.yml"
    whole = config("http://localhost:1")
    settings.write_text(json.dumps(whole))
    path.write_text(CREATE_ENV)
    aws = Files.read(
        [str(path)], None, load(str(settings), {}).aws, given=whole["cloud"]["properties"]["aws"]
    ).aws
    assert {aws.endpoints[name] for name, each in aws_config.ENDPOINTS.items() if each == key} == {
        "http://localhost:1"
    }


@pytest.mark.parametrize(
    ("aws", "said"),
    [
        (
            {"default_root_disk": {"sise": 20_000}},
            "aws.default_root_disk.sise is unknown: a default is one of size, type",
        ),
        (
            {"default_ephemeral_disk": {"encrypted": "false"}},
            "aws.default_ephemeral_disk.encrypted: 'false' is a string",
        ),
        ({"default_ephemeral_disk": {"size": "10 GB"}}, "must be a whole number of MiB"),
        (
            {"metadata_options": {"http_token": "required"}},
            "aws.metadata_options.http_token: 'http_token' is unknown",
        ),
        ({"metadata_options": {"http_put_response_hop_limit": "2"}}, "must be a whole number, got String"),
    ],
)
def test_configuration(say: Callable[..., list[str]], aws: dict[str, Any], said: str) -> None:
    """The same of hashes in cpi.json."""
    assert said in say(OWN, **aws)[0]
