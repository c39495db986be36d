"""VMs that create_vm refuses before it makes anything, and that `cpi check` calls an error.

Each row has the cloud properties, the path of the one to blame, and words that both say.
"""

from typing import Any

Row = tuple[dict[str, Any], str, str]
SECRET = "hunter2"
"""What the text of no error may hold."""
HOST = {"id": "h-0123456789abcdef0"}
ARN = "arn:aws:elasticloadbalancing:us-east-1:123456789012:targetgroup/web/0123456789abcdef"
KEY = "arn:aws:kms:us-east-1:123456789012:key/k"
ROUTE = {"table_id": "rtb-0123456789abcdef0", "destination": "10.0.0.0/8"}
ENCRYPTED = {"encrypted": True, "size": 6144}
HOPS = "http_put_response_hop_limit"
OF_HOST, OF_RESERVATION = "id, resource_group_arn", "id, resource_group_arn, preference"


def hash_of(name: str, values: dict[str, Any], key: str, words: str) -> Row:
    """Blame a key of a hash."""
    return {name: values}, f"{name}/{key}", words


def one_of(name: str, values: dict[str, Any], known: str) -> Row:
    """Blame a hash that needs one of some keys."""
    return {name: values}, name, f"cloud_properties.{name} must hold exactly one of: {known}"


def no_price(value: object, kind: str) -> Row:
    """Blame a price."""
    return {"spot_bid_price": value}, "spot_bid_price", f"a price in dollars, more than 0.001, got {kind}"


def no_range(value: object, kind: str) -> Row:
    """Blame the destination of a second route."""
    routes = [ROUTE, {**ROUTE, "destination": value}]
    place = "advertised_routes/1/destination"
    return {"advertised_routes": routes}, place, f"a range of addresses in CIDR notation, got {kind}"


WRONG: list[Row] = [
    # values of a wrong type, or beyond a limit
    ({"key_name": [SECRET]}, "key_name", "got Array"),
    ({"key_name": False}, "key_name", "got Boolean"),
    ({"security_groups": SECRET}, "security_groups", "must be a list, got String"),
    ({"security_groups": ["a", {SECRET: 1}]}, "security_groups/1", "got Hash"),
    ({"security_groups": [True]}, "security_groups/0", "got Boolean"),
    ({"elbs": {"name": SECRET}}, "elbs", "must be a list, got Hash"),
    ({"spread": "true"}, "spread", "got String"),
    ({"metadata_options": SECRET}, "metadata_options", "must be a hash, got String"),
    ({"capacity_reservation": SECRET}, "capacity_reservation", "must be a hash, got String"),
    ({"launch_template": "web"}, "launch_template", "must be a hash, got String"),
    ({"ephemeral_disk": 10240}, "ephemeral_disk", "must be a hash, got Integer"),
    *(
        hash_of("ephemeral_disk", {"size": size}, "size", "must be a whole number of MiB, got String")
        for size in ("25 GB", "-1", "")
    ),
    *(hash_of("ephemeral_disk", {"size": size}, "size", "more than 0 MiB, got 0") for size in (0, "0")),
    hash_of("ephemeral_disk", {"size": True}, "size", "got Boolean"),
    hash_of("root_disk", {"size": 10.5}, "size", "got Float"),
    hash_of("metadata_options", {HOPS: "two"}, HOPS, "got String"),
    ({"lb_target_groups": [{"arn": ARN[:27]}]}, "lb_target_groups/0/arn", "NAME/ID, got String"),
    *(
        ({"lb_target_groups": [each]}, "lb_target_groups/0", "must hold either name or arn")
        for each in ({"port": 80}, {"name": "0", "arn": ARN})
    ),
    *(no_price(*row) for row in ((0, "0"), (0.001, "0.001"), ("-0.5", "'-0.5'"), (SECRET, "String"))),
    *(no_price(*row) for row in (("inf", "String"), (True, "Boolean"), ([1], "Array"))),
    *(no_range(text, f"'{text}'") for text in ("10.0.0.0", "10.0.0.0/33", "fd00::1")),
    *(no_range(text, "String") for text in (SECRET, "c0ffee" * 6, "1" * 21)),
    *(no_range(*row) for row in ((8, "8"), (True, "Boolean"))),
    *(
        hash_of("launch_template", {"id": "lt-1", "version": each}, "version", "$Latest or $Default")
        for each in ("latest", 0)
    ),
    # keys that are unknown where they would change how a disk is encrypted, or reach EC2 whole
    hash_of("metadata_options", {"http_token": "required"}, "http_token", "did you mean http_tokens?"),
    hash_of("cpu_options", {"amd_sev_sp": "enabled"}, "amd_sev_sp", "did you mean amd_sev_snp?"),
    hash_of("credit_specification", {"credits": "standard"}, "credits", "did you mean cpu_credits?"),
    hash_of("root_disk", {"encrpted": True, "size": 10_240}, "encrpted", "did you mean encrypted?"),
    hash_of("root_disk", {"{zzz}": 1, "size": "x"}, "{zzz}", "remove it"),
    hash_of("ephemeral_disk", {"kms_key": "a"}, "kms_key", "did you mean kms_key_arn?"),
    ({"encrypted": True}, "encrypted", "ephemeral_disk"),
]
"""Values and keys that can't be read."""

CONTRADICTIONS: list[Row] = [
    ({"instance_type": ""}, "instance_type", "Missing properties: cloud_properties.instance_type"),
    ({"spot": True, "dedicated_host": HOST}, "spot", "spot and dedicated_host exclude each other"),
    ({"tags": {"owner": "me", "AWS:name": "x", "aws:cost": "y"}}, "tags", "'AWS:name', 'aws:cost'"),
    hash_of("metadata_options", {"http_endpoint": "disabled"}, "http_endpoint", "can't be disabled"),
    *(
        hash_of(disk, {"kms_key_arn": KEY}, "kms_key_arn", f"{disk}.kms_key_arn has no effect without")
        for disk in ("root_disk", "ephemeral_disk")
    ),
    ({"placement_partition": 2}, "placement_partition", "placement_partition needs placement_group"),
    ({"primary_ipv6": True}, "primary_ipv6", "needs a manual network with an IPv6 address"),
    *(
        ({"cpu_options": each}, "cpu_options", "needs both core_count and threads_per_core, or neither")
        for each in ({"core_count": 1}, {"threads_per_core": 1})
    ),
    one_of("launch_template", {}, "id, name"),
    *(one_of("dedicated_host", each, OF_HOST) for each in ({}, {"id": None})),
    one_of("dedicated_host", {**HOST, "resource_group_arn": "arn"}, OF_HOST),
    *(
        one_of("capacity_reservation", each, OF_RESERVATION)
        for each in ({}, {"id": "cr-1", "preference": "none"}, {"id": "cr-1", "resource_group_arn": "b"})
    ),
    hash_of(
        "capacity_reservation",
        {"preference": "none", "market": "capacity-block"},
        "market",
        "capacity_reservation.resource_group_arn, not a preference",
    ),
]
"""Properties that contradict each other, or what the agent needs."""

MISFITS: list[Row] = [
    hash_of("ephemeral_disk", {"type": "gp2", "iops": 3000}, "iops", "iops can't be set for type gp2"),
    hash_of("ephemeral_disk", {"size": 25_000, "type": "gp3", "iops": 70_000}, "iops", "at most 12500"),
    hash_of("root_disk", {"type": "st1", "size": 128_000}, "type", "is st1, from which no VM can start"),
    ({"hibernation": True}, "hibernation", "hibernation needs an encrypted root disk"),
    (
        {"hibernation": True, "root_disk": ENCRYPTED, "ephemeral_disk": {"type": "st1", "size": 128000}},
        "hibernation",
        "ephemeral_disk.type from st1",
    ),
    (
        {"hibernation": True, "root_disk": ENCRYPTED, "instance_type_fallbacks": ["m5.large"]},
        "hibernation",
        "root_disk.size to 13312 MiB",
    ),
    (
        {"ebs_optimized": True, "instance_type": "t2.micro"},
        "ebs_optimized",
        "ebs_optimized requested for instance type 't2.micro' that can't",
    ),
    hash_of(
        "cpu_options",
        {"nested_virtualization": "enabled"},
        "nested_virtualization",
        "'t3.micro' that does not support it",
    ),
    (
        {"enclave": True, "instance_type": "m5.xlarge", "instance_type_fallbacks": ["m5.large"]},
        "enclave",
        "'m5.large' that does not support it",
    ),
    (
        {"credit_specification": "unlimited", "dedicated_host": HOST},
        "credit_specification",
        "credit_specification unlimited requested for instance type 't3.micro' on a Dedicated Host",
    ),
]
"""Properties that EBS, or an instance type, can't have: EC2 must be asked about the type and the stemcell."""

TIMEOUTS = (
    *(("tcp_established_timeout", 59, "least 60"), ("tcp_established_timeout", 432_001, "most 432000")),
    *(("udp_stream_timeout", 59, "least 60"), ("udp_stream_timeout", 181, "most 180")),
    *(("udp_timeout", 29, "least 30"), ("udp_timeout", 61, "most 60")),
)
NETWORK_OPTIONS: list[Row] = [
    ({"interface_type": "efa-only"}, "interface_type", "must be 'interface' or 'efa'"),
    hash_of("ena_express", {"udp": True}, "udp", "ena_express.enabled: set it to true, or remove udp"),
    *(
        hash_of("connection_tracking", {name: value}, name, f"must be at {limit}, got {value}")
        for name, value, limit in TIMEOUTS
    ),
]
"""Cloud properties of a network, in place of a VM's."""

DEFAULTS: list[Row] = [
    hash_of("default_ephemeral_disk", {"use_root_disk": True}, "use_root_disk", "a default is one of size, "),
    hash_of("default_root_disk", {"sise": 20_000}, "sise", "a default is one of size, "),
    hash_of("default_root_disk", {"size": "50GB"}, "size", "must be a whole number of MiB, got String"),
    hash_of("default_root_disk", {"type": "sc1"}, "type", "is sc1, from which no VM can start: use gp3"),
    hash_of("default_root_disk", {"type": "gp2", "throughput": 250}, "throughput", "for type gp2: remove it"),
    hash_of("metadata_options", {"http_endpoint": "disabled"}, "http_endpoint", "settings there. Remove it"),
    hash_of("metadata_options", {"http_token": "required"}, "http_token", "http_tokens?"),
    hash_of("metadata_options", {HOPS: "two"}, HOPS, "got String"),
    hash_of("metadata_options", {HOPS: 65}, HOPS, "got 65"),
]
"""Keys of the configuration's `aws`, in place of a VM's properties."""
