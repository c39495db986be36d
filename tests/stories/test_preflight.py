"""`cpi preflight`: what AWS permits and what it lacks, found out without a change to anything."""

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bosh_aws_cpi.aws.sdk.permissions import FEATURES
from bosh_aws_cpi.tools.preflight import NOT_CHECKABLE
from testbed.cloud import FakeAws
from testbed.tls import Authority, TlsRelay
from tests.protocols import CreateVolume, RunInstance
from tests.stories.operators import Preflight, Unnamed, failed, feature

NOWHERE = "http://127.0.0.1:1"
ROLE = "arn:aws:iam::123456789012:role/cpi"
DENIED: dict[str, dict[str, Any]] = {
    "RunInstances": {"error": {"code": "UnauthorizedOperation", "message": "not you", "status": 403}},
    "RegisterTargets": {"error": {"code": "AccessDenied", "message": "not you", "status": 403}},
    # The relay passes no header on in which EBS could tell the code; the body tells it too.
    "PutSnapshotBlock": {"replace": [["ResourceNotFoundException", "AccessDeniedException"]]},
}
"""By action, the rule under which it is not permitted, in each service's own words."""
SETTLED = "answered with InvalidNetworkInterfaceID.NotFound, which proves nothing"


@pytest.fixture
def preflight(fake_aws: FakeAws) -> Iterator[Preflight]:
    """Return the command."""
    with Unnamed(fake_aws.endpoint) as relay:
        yield Preflight(relay.url)


@pytest.fixture
def everything(fake_aws: FakeAws) -> Callable[[], list[Any]]:
    """Return a function that reads all that a call of the CPI's could change."""

    def read() -> list[Any]:
        ec2, elb, elbv2 = (fake_aws.client(service) for service in ("ec2", "elb", "elbv2"))
        answers = [
            ec2.describe_instances(),
            ec2.describe_volumes(),
            ec2.describe_volumes_modifications(),
            ec2.describe_network_interfaces(),
            ec2.describe_snapshots(OwnerIds=["self"]),
            ec2.describe_images(Owners=["self"]),
            ec2.describe_route_tables(),
            ec2.describe_addresses(),
            ec2.describe_tags(),
            elb.describe_load_balancers(),
            elbv2.describe_target_groups(),
        ]
        return [{**answer, "ResponseMetadata": None} for answer in answers]

    return read


@pytest.mark.usefixtures("world")
def test_each_action_is_asked_about_once(
    preflight: Preflight,
    fake_aws: FakeAws,
    everything: Callable[[], list[Any]],
    vm: RunInstance,
    disk: CreateVolume,
) -> None:
    """Each action is asked about once, by a dry run wherever there is one, and nothing is changed."""
    vm()
    disk()
    before = everything()
    fake_aws.forget_calls()
    answer = preflight("--json")
    calls = fake_aws.calls()
    assert (answer.returncode, answer.stderr, answer.document["is_ready"]) == (0, "", True)
    assert everything() == before
    asked = Counter(f"{call['service']}:{call['action']}" for call in calls)
    called = {action for each in FEATURES.values() for action in each.called}
    to_be_asked = called - NOT_CHECKABLE.keys() - {"sts:AssumeRole"}
    assert asked == Counter(to_be_asked | {"sts:GetCallerIdentity"})
    changes = [
        call for call in calls if call["service"] == "ec2" and not call["action"].startswith("Describe")
    ]
    wet = [call for call in changes if call["parameters"].get("DryRun") != "true"]
    # These have no dry run, and find no interface.
    assert [(call["action"], call["status"]) for call in wet] == [
        ("AssignIpv6Addresses", 400),
        ("AssignPrivateIpAddresses", 400),
        ("ModifySubnetAttribute", 400),
    ]


@pytest.mark.usefixtures("world")
def test_all_is_permitted(preflight: Preflight) -> None:
    """The report says whose keys they are, where AWS was asked, and why something could not be found out."""
    answer = preflight("--feature", "Routes")
    text = answer.stdout.decode()
    assert (answer.returncode, answer.stderr) == (0, "")
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert lines[0] == "Credentials account 123456789012, arn:aws:sts::123456789012:user/moto"
    assert lines[1].startswith("Region us-east-1: us-east-1a, us-east-1b")
    assert [
        line.split()[1] for line in lines if line.startswith("Endpoint") and line.endswith(" answers")
    ] == [
        "ec2",
        "elb",
        "elbv2",
        "ebs",
        "sts",
        "iam",
        "service-quotas",
    ]
    assert {"* Baseline ok", "* Routes ok", "LoadBalancers ok"} <= set(lines)
    start = lines.index("HeavyStemcells ok, as far as it can be checked") + 1
    assert lines[start] == f"not checkable: ebs:StartSnapshot: {NOT_CHECKABLE['ebs:StartSnapshot']}"
    assigned = "ec2:AssignIpv6Addresses, ec2:AssignPrivateIpAddresses"
    assert f"not checkable: {assigned}: {SETTLED}" in lines
    assert lines[-1] == "Ready for Baseline, Routes: nothing is missing"


@pytest.mark.parametrize(
    ("denied", "needed", "missing"),
    [
        (["RunInstances"], [], ["ec2:RunInstances"]),
        (["RegisterTargets", "PutSnapshotBlock"], ["Routes"], []),
        (
            ["RegisterTargets", "PutSnapshotBlock"],
            ["LoadBalancers", "HeavyStemcells"],
            ["ebs:PutSnapshotBlock", "elasticloadbalancing:RegisterTargets"],
        ),
    ],
)
def test_missing(
    preflight: Preflight,
    fake_aws: FakeAws,
    denied: list[str],
    needed: list[str],
    missing: list[str],
) -> None:
    """What is missing counts when its feature is needed; Baseline always is."""
    for action in denied:
        fake_aws.rule(action=action, **DENIED[action])
    answer = preflight("--json", *[word for name in needed for word in ("--feature", name)])
    features = answer.document["features"]
    assert {each["name"] for each in features if each["is_needed"]} == {"Baseline", *needed}
    assert sorted(action for each in features if each["is_needed"] for action in each["missing"]) == missing
    found = {action.partition(":")[2] for each in features for action in each["missing"]}
    assert found == set(denied)
    assert (answer.returncode, answer.document["is_ready"]) == ((1, False) if missing else (0, True))


@pytest.mark.parametrize(
    ("action", "code", "words"),
    [
        ("GetCallerIdentity", "InvalidClientTokenId", ["AWS does not accept the keys of aws.access_key_id"]),
        ("GetCallerIdentity", "AuthFailure", ["AWS does not accept the keys", "clock"]),
        ("DescribeAvailabilityZones", "InternalError", ["EC2 does not list the zones of region 'us-east-1'"]),
    ],
)
def test_not_carried_out(
    preflight: Preflight, fake_aws: FakeAws, action: str, code: str, words: list[str]
) -> None:
    """Keys that AWS does not take end the command, and so does an EC2 that is out of order."""
    fake_aws.rule(
        action=action, error={"code": code, "message": "no", "status": 500 if "Zones" in action else 403}
    )
    failed(preflight(), code, *words)


@pytest.mark.parametrize(("needed", "status"), [([], 0), (["--feature", "HeavyStemcells"], 1)])
def test_refused_connection(preflight: Preflight, fake_aws: FakeAws, needed: list[str], status: int) -> None:
    """An endpoint that does not answer counts when a needed feature asks it; it is asked no more."""
    answer = preflight("--json", *needed, ebs_endpoint=NOWHERE, sts_endpoint=NOWHERE)
    assert answer.returncode == status
    problems = {each["service"]: each["problem"] for each in answer.document["endpoints"] if each["problem"]}
    assert problems == {
        service: f"the connection is refused: check aws.{service}_endpoint, or create a VPC endpoint for it"
        for service in ("ebs", "sts")
    }
    assert feature(answer, "HeavyStemcells")["not_checkable"]["ebs:PutSnapshotBlock"] == "its endpoint fails"
    unknown = feature(answer, "LoadBalancers")["not_checkable"]
    assert unknown["elasticloadbalancing:RegisterTargets"] == "STS does not name the account"
    assert "RegisterTargets" not in fake_aws.actions()
    assert answer.document["credentials"]["arn"] is None


def test_untrusted_certificate(preflight: Preflight, fake_aws: FakeAws, tmp_path: Path) -> None:
    """An EC2 whose certificate nobody vouches for is named, with the remedy; nothing more is asked of it."""
    with TlsRelay(fake_aws.endpoint, Authority(tmp_path, "one")) as front:
        answer = preflight(ec2_endpoint=front.address)
    lines = answer.stdout.decode().splitlines()
    (line,) = [each for each in lines if each.startswith("Endpoint ec2")]
    assert f"https://{front.address} FAILS: its certificate is not trusted (" in line
    assert line.endswith("add its CA certificate to aws.connection_options.ca_cert")
    assert lines[-1].startswith("NOT READY for Baseline: endpoints that fail: ec2")
    assert (answer.returncode, fake_aws.actions().count("DescribeVolumes")) == (1, 0)


@pytest.mark.parametrize("is_refused", [False, True])
def test_role(preflight: Preflight, fake_aws: FakeAws, *, is_refused: bool) -> None:
    """A role is assumed before anything else is asked, and it is the role's permissions that count."""
    if is_refused:
        fake_aws.rule(
            action="AssumeRole", error={"code": "AccessDenied", "message": "not you", "status": 403}
        )
        failed(
            preflight(role_arn=ROLE),
            f"aws.role_arn '{ROLE}' can't be assumed",
            "AccessDenied",
            "trust policy",
        )
        assert fake_aws.actions() == ["AssumeRole"]
        return
    answer = preflight("--json", role_arn=ROLE)
    assert answer.returncode == 0
    assert fake_aws.actions()[:2] == ["AssumeRole", "GetCallerIdentity"]
    assert fake_aws.actions().count("AssumeRole") == 1
    assert feature(answer, "Roles")["allowed"] == ["sts:AssumeRole"]
    assert ":assumed-role/cpi/" in answer.document["credentials"]["arn"]
