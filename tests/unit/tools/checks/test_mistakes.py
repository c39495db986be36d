"""Mistakes that people make in cloud configs and manifests.

Each row changes one piece of a right file. The first finding must have the severity and the path, and name
what helps: the right key, value or kind of thing.
"""

from typing import Any

import pytest
import yaml

from bosh_aws_cpi.plan.ebs import AS_OF
from tests.stories.right_configs import OWN
from tests.unit.tools.checks.conftest import Check, Found

DISK = "    ephemeral_disk: {size: 25_000, type: gp3}\n"
TYPE = "    instance_type: m5.large\n"
ID = "0123456789abcdef0"
SUBNET_ID = f"subnet-{ID}"
EBS = "{type: gp3, encrypted: true}"
ARN, TARGET = "arn:aws:%s:eu-west-1:123456789012", "lb_target_groups/0"
TYPES = ("default", "large")
HOPS = "metadata_options/http_put_response_hop_limit"
VM, DATA = "vm_types/default", "disk_types/large"
SUBNET, ZONE = "networks/default/subnets/0", "azs/z1/cloud_properties/availability_zone"
IN_VM, IN_SUBNET = f"{VM}/cloud_properties", f"{SUBNET}/cloud_properties"


def changed(text: str, old: str, new: str) -> str:
    """Replace a piece that the text has."""
    assert old in text, old
    return text.replace(old, new, 1)


def assert_first(found: list[Found], severity: str, path: str, word: str) -> None:
    """The first finding has the severity, the path, and the word."""
    assert found
    assert found[0][:2] == (severity, path)
    assert word in found[0].text


@pytest.mark.parametrize(
    ("severity", "properties", "path", "word"),
    [
        # at the wrong level
        ("warning", "size: 25_000", "size", "into ephemeral_disk or into root_disk"),
        (
            "error",
            "ephemeral_disk: {key_name: a}",
            "ephemeral_disk/key_name",
            "belongs beside ephemeral_disk",
        ),
        ("warning", "interface_type: efa", "interface_type", "cloud_properties of subnets of networks"),
        # misspelt names, and those of other CPIs and programs
        ("warning", "flavor: m1.small", "flavor", "mean instance_type?"),
        ("warning", "instance_types: [m5a.large]", "instance_types", "mean instance_type_fallbacks?"),
        ("warning", "security_group: web", "security_group", "mean security_groups?"),
        ("warning", "iam_role: web", "iam_role", "mean iam_instance_profile?"),
        ("warning", "public_ip: true", "public_ip", "mean auto_assign_public_ip?"),
        ("warning", "load_balancers: [web]", "load_balancers", "mean elbs?"),
        ("warning", "volume_type: gp3", "volume_type", "into ephemeral_disk or into root_disk, as type"),
        ("warning", "http_tokens: required", "http_tokens", "into metadata_options"),
        ("warning", "snapshot_id: snap-1", "snapshot_id", "into cloud_properties of disk_types"),
        ("warning", "keyname: bosh", "keyname", "mean key_name?"),
        ("warning", "elb: web", "elb", "mean elbs?"),
        ("warning", "target_groups: [web]", "target_groups", "mean lb_target_groups?"),
        ("warning", "metadata_option: {http_tokens: required}", "metadata_option", "mean metadata_options?"),
        ("warning", "ebs_optimised: ((optimised))", "ebs_optimised", "mean ebs_optimized?"),
        ("warning", "metadata_option: ((options))", "metadata_option", "mean metadata_options?"),
        ("error", "metadata_options: {http_put_response_hop_limit: 99}", HOPS, "at most 64, got 99"),
        ("warning", "availability_zones: [us-east-1a]", "availability_zones", "mean availability_zone?"),
        # keys of another schema
        ("warning", "lb_target_groups: [{name: a, elb: b}]", f"{TARGET[:-1]}a/elb", "takes name, arn, port"),
        ("error", "lb_target_groups: [{instance_type: a}]", TARGET, "must hold either name or arn"),
        ("error", "cpu_options: {cores: 2}", "cpu_options/cores", "takes core_count, threads_per_core,"),
        ("error", "instance_type_fallbacks: [{type: a}]", "instance_type_fallbacks/0", "text alone"),
        ("error", "lb_target_groups: {name: a}", "lb_target_groups", "for one entry: [{…}]"),
        # values of a wrong type, or beyond a limit
        ("error", "security_groups: web", "security_groups", "Write a list"),
        ("error", "elbs: {name: web}", "elbs", "for one entry: [NAME]"),
        ("error", "spot_bid_price: 0", "spot_bid_price", "more than 0.001, got 0"),
        ("warning", 'ebs_optimized: "false"', "ebs_optimized", "quotation marks"),
        ("warning", "ebs_optimized: n", "ebs_optimized", "true or false"),
        ("error", "ephemeral_disk: {size: 25_000, type: GP3}", "ephemeral_disk/type", "mean gp3?"),
        ("error", "ephemeral_disk: {size: 25_000, type: ssd}", "ephemeral_disk/type", "gp3 or gp2"),
        ("error", "root_disk: {type: gp4}", "root_disk/type", f"EC2's API of {AS_OF} has no such value as "),
        ("error", "metadata_options: {http_tokens: Required}", "metadata_options/http_tokens", "n required?"),
        ("error", "capacity_reservation: {preference: close}", "capacity_reservation/preference", "ignore t"),
        ("error", "bandwidth_weighting: VPC-1", "bandwidth_weighting", "mean vpc-1?"),
        # ids, ARNs and names of another kind
        ("error", f"security_groups: [{SUBNET_ID}]", "security_groups/0", "security group, or its id, sg-…"),
        ("error", "security_groups: [sg-web]", "security_groups/0", "not the name of a security group"),
        ("error", f"key_name: key-{ID}", "key_name", "the name of a key pair"),
        ("error", f"capacity_reservation: {{id: i-{ID}}}", "capacity_reservation/id", "reservation, cr-…"),
        ("error", f"launch_template: {{name: lt-{ID}}}", "launch_template/name", "the name"),
        ("error", "elbs: [web-1.us-east-1.elb.amazonaws.com]", "elbs/0", "not the name of a classic"),
        ("error", "elbs: ['arn:aws:elasticloadbalancing:a:1:loadbalancer/app/b']", "elbs/0", "lb_target_gro"),
        ("error", "instance_type_fallbacks: [m6g.large]", "instance_type_fallbacks/0", "arm64"),
        ("error", f"dedicated_host: {{id: {ARN % 'ec2'}:dedicated-host/h-1}}", "dedicated_host/id", "an ARN"),
        ("error", "dedicated_host: {id: my-host}", "dedicated_host/id", "a Dedicated Host, h-…"),
        (
            "error",
            f"dedicated_host: {{resource_group_arn: cr-{ID}}}",
            "dedicated_host/resource_group_arn",
            "is the id of a capacity reservation",
        ),
        (
            "error",
            f"capacity_reservation: {{resource_group_arn: '{ARN % 'resource-groups'}:group/a'}}",
            "capacity_reservation/resource_group_arn",
            "resource group in us-east-1",
        ),
        (
            "error",
            "advertised_routes: [{table_id: private, destination: 10.9.0.0/16}]",
            "advertised_routes/0/table_id",
            "a route table, rtb-…",
        ),
        (
            "error",
            f"lb_target_groups: ['{ARN % 'elasticloadbalancing'}:targetgroup/a/1']",
            TARGET,
            "us-east-1",
        ),
        ("error", "lb_target_groups: [web-1.us-east-1.elb.amazonaws.com]", TARGET, "name of a target group"),
        ("error", f"placement_group: pg-{ID}", "placement_group", "the name of a placement group"),
        ("error", "iam_instance_profile: /bosh/web", "iam_instance_profile", "name of an instance profile"),
        ("error", "root_disk: {encrypted: true, kms_key_arn: bosh}", "root_disk/kms_key_arn", "alias/…"),
        ("error", "key_name: /home/me/.ssh/id_rsa", "key_name", "not its file"),
        ("warning", "key_name: bosh.pem", "key_name", "not its file"),
        ("warning", "key_name: id_rsa.pub", "key_name", "not its file"),
        ("error", "key_name: '-----BEGIN EC PRIVATE KEY----- A1B2'", "key_name", ": a private key is not"),
        # one value in place of a hash, and YAML's booleans
        ("error", f"capacity_reservation: cr-{ID}", "capacity_reservation", f"Write {{id: cr-{ID}}}"),
        ("error", "launch_template: web", "launch_template", "Write {name: web}"),
        ("error", "ephemeral_disk: 10240", "ephemeral_disk", "Write {size: 10240}"),
        ("error", "root_disk: gp3", "root_disk", "Write {type: gp3}"),
        ("error", "key_name: no", "key_name", "use quotation marks"),
        ("error", "security_groups: [on]", "security_groups/0", "use quotation marks"),
    ],
)
def test_vm_type(check: Check, severity: str, properties: str, path: str, word: str) -> None:
    """A mistake in the cloud properties of a VM type is the first finding, with what helps."""
    assert_first(check(changed(OWN, DISK, f"    {properties}\n")), severity, f"{IN_VM}/{path}", word)


@pytest.mark.parametrize(
    ("severity", "old", "new", "path", "word"),
    [
        ("warning", EBS, "{security_groups: [a]}", f"{DATA}/cloud_properties/security_groups", "Remove it"),
        ("warning", EBS, "{volume_type: gp3}", f"{DATA}/cloud_properties/volume_type", "mean type?"),
        ("warning", EBS, "{size: 10240}", f"{DATA}/cloud_properties/size", "ignored. Remove it"),
        ("warning", EBS, f"{EBS}\n  volume_type: gp3", f"{DATA}/volume_type", "cloud_properties, as type"),
        ("warning", EBS, f"{EBS}\n  size: 10240", f"{DATA}/size", "mean disk_size?"),
        ("error", EBS, "{snapshot_id: snap-backup}", f"{DATA}/cloud_properties/snapshot_id", "snap-…"),
        ("error", EBS, "{type: gp2, iops: 4000}", f"{DATA}/cloud_properties/iops", "gp3, io1 or io2"),
        (
            "error",
            EBS,
            "{encrypted: true, kms_key_arn: 'arn:aws:kms:eu-west-1:123456789012:key/1234'}",
            f"{DATA}/cloud_properties/kms_key_arn",
            "us-east-1",
        ),
        ("warning", "m5.large", "t3.samll", f"{IN_VM}/instance_type", "mean t3.small?"),
        ("warning", "m5.large", "M5.large", f"{IN_VM}/instance_type", "mean m5.large?"),
        ("warning", "m5.large", "n1-standard-1", f"{IN_VM}/instance_type", "such as m5.large"),
        ("error", SUBNET_ID, f"vpc-{ID}", f"{IN_SUBNET}/subnet", "is the id of a VPC"),
        ("error", SUBNET_ID, SUBNET_ID[:-1], f"{IN_SUBNET}/subnet", "the id of a subnet"),
        ("error", "zone: us-east-1a", "zone: us-east-1", ZONE, "a zone's name"),
        ("error", "zone: us-east-1a", "zone: use1-az1", ZONE, "a zone's name"),
        ("error", "zone: us-east-1a", "zone: eu-west-1a", ZONE, "aws.region"),
        # keys at the wrong level, or lacking
        ("warning", DISK, DISK[2:], f"{VM}/ephemeral_disk", "into cloud_properties"),
        (
            "error",
            f"  cloud_properties:\n{TYPE}{DISK}",
            f"  instance_type: m5.large\n  cloud_properties:\n{DISK}",
            IN_VM,
            "cloud_properties.instance_type",
        ),
        (
            "error",
            f"  cloud_properties:\n{TYPE}",
            f"  cloud_property:\n{TYPE}",
            VM,
            "cloud_properties.instance_type",
        ),
        (
            "error",
            "  subnets:\n  - range: 10.0.0.0/24\n    gateway",
            "  range: 10.0.0.0/24\n  subnets:\n  - gateway",
            SUBNET,
            "has no range",
        ),
        (
            "error",
            "{subnet: subnet",
            "{subnet_id: subnet",
            IN_SUBNET,
            "set subnet in the networks' cloud_properties",
        ),
        ("error", f"cloud_properties: {{subnet: {SUBNET_ID}}}", f"subnet: {SUBNET_ID}", SUBNET, "subnet"),
        (
            "error",
            f"  disk_size: 50_000\n  cloud_properties: {EBS}",
            "  cloud_properties: {type: gp3, disk_size: 50_000}",
            DATA,
            "has no disk_size",
        ),
        ("error", "  workers: 5\n", "", "compilation", "Add workers"),
        ("warning", "  az: z1\n", "  az: z1\n  azs: [z2]\n", "compilation/azs", "mean az?"),
        ("error", "  cloud_properties: {availability_zone: us-east-1a}", "", "azs/z1", "availability_zone"),
        # misspelt keys of BOSH, and values that it reads
        ("warning", "networks:\n", "network:\n", "network", "mean networks?"),
        ("error", "  subnets:\n", "  subnet:\n", "networks/default", "no subnets"),
        (
            "error",
            "  type: manual\n  subnets:\n",
            "  type: null\n  subnet:\n",
            "networks/default",
            "no subnets",
        ),
        ("error", "disk_size: 3000", "disk_size: 0800", "disk_types/default/disk_size", "Write 800"),
        ("error", "type: manual", "type: Manual", "networks/default/type", "'manual'"),
        (
            "error",
            f"{{subnet: {SUBNET_ID}}}",
            f"{{subnet: {SUBNET_ID}, connection_tracking: {{tcp_timeout: 30}}}}",
            f"{IN_SUBNET}/connection_tracking/tcp_timeout",
            "mean tcp_established_timeout?",
        ),
        ("warning", "type: manual", "type: dynamic", f"{SUBNET}/range", "in a dynamic network. Remove it"),
        (
            "warning",
            "name: vip\n  type: vip",
            f"name: vip\n  type: dynamic\n  gateway: 10.0.0.1\n  cloud_properties: {{subnet: {SUBNET_ID}}}",
            "networks/vip/gateway",
            "in a dynamic network. Remove it",
        ),
        # addresses
        ("warning", "gateway: 10.0.0.1", "gateway: 10.0.0.2", f"{SUBNET}/gateway", "10.0.0.1"),
        ("error", "[10.0.0.0-10.0.0.9]", "[10.0.0.9-10.0.0.0]", f"{SUBNET}/range", "10.0.0.2"),
        ("error", "    gateway", "    prefix: 27\n    gateway", f"{SUBNET}/prefix", "Use 28"),
    ],
)
def test_cloud_config(check: Check, severity: str, old: str, new: str, path: str, word: str) -> None:
    """A mistake elsewhere in a cloud config is the first finding, with what helps."""
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
SIZES = "{cpu: 1, ram: 4, ephemeral_disk_size: 10240}"
NETWORK = "  networks:\n  - name: default\n"


@pytest.mark.parametrize(
    ("old", "new", "severity", "path", "word"),
    [
        ("instance_groups:", "instance_group:", "warning", "instance_group", "mean instance_groups?"),
        ("- name: web", "- names: web", "error", "instance_groups/0", "no name"),
        ("  azs: [z1", "  az: [z1", "error", IN_VM, "cloud_properties.availability_zone"),
        ("disk_type: default", "disk: 10", "warning", f"{GROUP}/persistent_disk", "MiB"),
        ("  persistent_disk_t", "  disk_t", "warning", f"{GROUP}/disk_type", "mean persistent_disk_type?"),
        (
            "sk_type:",
            "sk_types:",
            "warning",
            f"{GROUP}/persistent_disk_types",
            "what is on one that they have",
        ),
        ("  jobs: []", "  migrate_from: []", "warning", f"{GROUP}/migrate_from", "new, empty disks"),
        ("  jobs: []", "  extensions: [a]", "warning", f"{GROUP}/extensions", "mean vm_extensions?"),
        ("  jobs: []", "  cloud_properties: {a: b}", "warning", f"{GROUP}/cloud_properties", "vm_extensions"),
        ("  jobs: []", "  vm_strategy: a", "warning", f"{GROUP}/vm_strategy", "into update"),
        ("  jobs: []", "  update: {vm_strat: a}", "warning", f"{GROUP}/update/vm_strat", "vm_strategy"),
        ("  jobs: []", "  monitoring: true", "warning", f"{GROUP}/monitoring", "Remove it"),
        (
            NETWORK,
            f"{NETWORK}    ips: [10.0.0.20]\n",
            "warning",
            f"{GROUP}/networks/default/ips",
            "BOSH chooses",
        ),
        ("  jobs: []", "  env: [a]", "error", f"{GROUP}/env", "must be a hash"),
        ("  jobs: []", "  stemcell: [default]", "error", f"{GROUP}/stemcell", "must be a string"),
        ("disk_type: default", "disk: -1", "error", f"{GROUP}/persistent_disk", "at least 0"),
        ("  jobs: []", "  static_ips: [10.0.0.20]", "warning", f"{GROUP}/static_ips", "into networks"),
        ("name: web\n", "tags: {'aws:a': b}\n", "error", "tags/aws:a", "reserved for AWS"),
        ("vm_type: default", "vm_resources: {cpu: 1}", "error", f"{GROUP}/vm_resources", "Add "),
        ("vm_type: default", f"vm_resources: {SIZES}", "warning", f"{GROUP}/vm_resources/ram", "give 4096"),
    ],
)
def test_manifest(check: Check, old: str, new: str, severity: str, path: str, word: str) -> None:
    """A mistake in a deployment manifest is the first finding, with what helps."""
    assert_first(check(OWN, changed(MANIFEST, old, new)), severity, path, word)


def test_no_wrong_advice(check: Check) -> None:
    """No remedy names a key that the place does not have; a name may look like an id."""
    (found,) = check(changed(OWN, "compilation:\n", "tags: {a: b}\ncompilation:\n"))
    assert "Remove it" in found.text
    assert check(changed(OWN, TYPE, f"{TYPE}    key_name: key-20240115\n")) == []


@pytest.mark.parametrize(
    ("severity", "section", "key", "value"),
    [
        ("error", "default_root_disk", "type", "gp9"),
        ("error", "default_root_disk", "size", 99_999_999),
        ("error", "metadata_options", "http_tokens", "Required"),
        ("error", "stemcell", "boot_mode", "UEFI"),
        ("error", "stemcell", "architecture", "amd64"),
        ("error", "stemcell", "disk", 99_999_999),
        ("warning", "stemcell", "disk", 3),
        ("warning", "stemcell", "boot_modes", "uefi"),
        ("warning", "default_ephemeral_disk", "size", 50),
        ("warning", "default_ephemeral_disk", "encrypted", "false"),
        ("error", "default_persistent_disk", "kms_key_arn", "bosh"),
    ],
)
def test_configuration(check: Check, severity: str, section: str, key: str, value: Any) -> None:
    """A mistake in a hash of cpi.json is named with its key."""
    found, *others = check(OWN, **{section: {key: value}})
    assert all(f"Ignored: aws.{section}.{key}" in each.text for each in others)
    assert (found.severity, f"aws.{section}.{key}" in found.text) == (severity, True)


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("default_key_name", "bosh.pem", "not its file"),
        ("default_key_name", f"key-{ID}", "is the id of a key pair"),
        ("default_iam_instance_profile", "arn:aws:iam::123456789012:instance-profile/web", "is an ARN"),
        ("default_security_groups", [f"vpc-{ID}"], "is the id of a VPC"),
        ("kms_key_arn", "arn:aws:kms:eu-west-1:123456789012:alias/a", "us-east-1"),
        ("kms_key_arn", "bosh", "alias/…"),
        ("encrypted", "false", "Remove the quotation marks"),
        ("fast_path_delete", "no", "Write true or false"),
        ("stemcell", {"copy_from_regions": True}, "mean copy_from_region?"),
    ],
)
def test_keys(check: Check, key: str, value: Any, words: str) -> None:
    """A value of cpi.json of another kind than its key needs, or an unknown key, is named with what helps."""
    found = check(OWN, **{key: value})
    assert {each.path.startswith(f"aws.{key}") for each in found} == {True}
    assert words in found[0].text


@pytest.mark.parametrize(
    "key", ["alias/a", "mrk-1234abcd12ab34cd56ef1234567890ab", "0a1b2c3d-1111-2222-3333-444455556666"]
)
def test_kms_keys(check: Check, key: str) -> None:
    """A KMS key may be named by its alias or id, too."""
    assert check(changed(OWN, EBS, f"{{encrypted: true, kms_key_arn: {key}}}")) == []


def test_no_azs(check: Check) -> None:
    """A cloud config without azs may be one of several: the remedy is to name the others."""
    whole = yaml.safe_load(OWN)
    azs = whole.pop("azs")
    found = check(whole)
    assert {each[:2] for each in found} == {
        ("not checked", "compilation/az"),
        *(("error", f"vm_types/{name}/cloud_properties") for name in TYPES),
    }
    assert all(
        "Name the cloud config with the azs, too" in each.text for each in found if each.severity == "error"
    )
    assert check(whole, more=[{"azs": azs}]) == []


def test_moved_up(check: Check) -> None:
    """A key that belongs to the hash around its own is moved there, under the name that it has there."""
    found = check(
        changed(OWN, f"  disk_size: 50_000\n  cloud_properties: {EBS}", "  cloud_properties: {size: 9}")
    )
    assert [each[:2] for each in found] == [("error", DATA), ("warning", f"{DATA}/cloud_properties/size")]
    assert "It belongs beside cloud_properties, as disk_size" in found[1].text
