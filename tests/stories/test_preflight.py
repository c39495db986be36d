"""`cpi preflight`: what AWS permits and what it lacks, found out without a change to anything."""

import json
import socket
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from bosh_aws_cpi.aws.sdk.permissions import BASELINE, FEATURES
from bosh_aws_cpi.tools.preflight import NOT_CHECKABLE
from testbed.cloud import FakeAws
from testbed.executable import DIRECTOR_UUID, Answer, Cpi, config
from testbed.loopback import LoopbackServer, Reply, Request
from testbed.tls import Authority, TlsRelay
from testbed.warm_server import TIMEOUT_SPEED
from testbed.world import World
from tests.stories.checked_config import right
from tests.stories.operators import Preflight, Unnamed, failed, feature
from tests.stories.story import Story

NOT_FOUND = {"code": "InvalidInstanceID.NotFound", "message": "no such thing"}
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


class Page(LoopbackServer):
    """A proxy that answers every request with a page of its own."""

    def __init__(self, status: int) -> None:
        """Answer with this status of HTTP."""
        super().__init__()
        self._status = status

    def reply(self, request: Request) -> Reply:
        """Answer the page."""
        del request
        return Reply(self._status, b"<html><body>Blocked</body></html>", "text/html")


def problems_of(answer: Answer) -> dict[str, str]:
    """Read the problems with endpoints by their service."""
    return {each["service"]: each["problem"] for each in answer.document["endpoints"] if each["problem"]}


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
    story: Story, preflight: Preflight, fake_aws: FakeAws, everything: Callable[[], list[Any]]
) -> None:
    """Each action is asked about once, as the role, by a dry run where there is one; nothing changes."""
    story.lay_vm()
    story.lay_disk()
    before = everything()
    fake_aws.forget_calls()
    answer = preflight("--json", role_arn=ROLE)
    calls = fake_aws.calls()
    assert (answer.returncode, answer.stderr, answer.document["is_ready"]) == (0, "", True)
    assert everything() == before
    asked = Counter(f"{call['service']}:{call['action']}" for call in calls)
    called = {action for each in FEATURES.values() for action in each.called}
    assert asked == Counter((called - NOT_CHECKABLE.keys()) | {"sts:GetCallerIdentity"})
    assert fake_aws.actions()[:2] == ["AssumeRole", "GetCallerIdentity"]
    assert feature(answer, "Roles")["allowed"] == ["sts:AssumeRole"]
    assert ":assumed-role/cpi/" in answer.document["credentials"]["arn"]
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


def test_what_is_not_needed(preflight: Preflight, fake_aws: FakeAws) -> None:
    """Permissions that the configuration makes superfluous may be missing, and are not asked about."""
    answer = preflight("--json", enable_describe_instance_types=False)
    why = "not needed: aws.enable_describe_instance_types is false"
    assert feature(answer, "Baseline")["not_checkable"]["ec2:DescribeInstanceTypes"] == why
    assert feature(answer, "Roles")["not_checkable"]["sts:AssumeRole"] == "no aws.role_arn is set"
    assert {"DescribeInstanceTypes", "AssumeRole"}.isdisjoint(fake_aws.actions())


def test_closed_zones(preflight: Preflight, fake_aws: FakeAws) -> None:
    """Zones that are not available are not among those in which the CPI can work."""
    closed = ("<zoneState>available<", "<zoneState>unavailable<")
    fake_aws.rule(action="DescribeAvailabilityZones", replace=[closed])
    answer = preflight("--json")
    assert (answer.returncode, answer.document["region"]["zones"]) == (0, [])


def test_missing(preflight: Preflight, fake_aws: FakeAws) -> None:
    """What is missing is found in each service's own words."""
    for action, rule in DENIED.items():
        fake_aws.rule(action=action, **rule)
    answer = preflight("--json", "--feature", "LoadBalancers")
    features = answer.document["features"]
    assert {each["name"] for each in features if each["is_needed"]} == {"Baseline", "LoadBalancers"}
    found = {action.partition(":")[2] for each in features for action in each["missing"]}
    assert found == DENIED.keys()
    assert (answer.returncode, answer.document["is_ready"]) == (1, False)


DENIES = (
    "explicitly denies ec2:RunInstances: no other policy can allow it. Meet its conditions, or ask its owner"
)
NO_POLICY = "because no {} allows the ec2:RunInstances action"


@pytest.mark.parametrize(
    ("cause", "why"),
    [
        ("with an explicit deny in a service control policy", f"The service control policy {DENIES}"),
        (NO_POLICY.format("permissions boundary"), "Allow ec2:RunInstances in the permissions boundary"),
        (NO_POLICY.format("identity-based policy"), ""),
    ],
)
def test_denied(preflight: Preflight, fake_aws: FakeAws, cause: str, why: str) -> None:
    """If another policy than that of the user does not allow an action, the report names that policy."""
    message = f"No. User: arn:aws:iam::1:user/a is not authorized to perform: ec2:RunInstances {cause}"
    fake_aws.refuse("RunInstances", "UnauthorizedOperation", message, 403)
    baseline = feature(preflight("--json"), "Baseline")
    assert baseline["missing"] == ["ec2:RunInstances"]
    assert baseline["denied"].get("ec2:RunInstances", "").startswith(why)
    assert baseline["denied"].keys() == ({"ec2:RunInstances"} if why else set())
    assert (f"denied: ec2:RunInstances: {why}" in preflight().stdout.decode()) is bool(why)


@pytest.mark.parametrize(
    ("action", "code", "words"),
    [
        ("GetCallerIdentity", "InvalidClientTokenId", ["AWS does not accept the keys of aws.access_key_id"]),
        ("GetCallerIdentity", "AuthFailure", ["AWS does not accept the keys", "clock", "enabled the region"]),
        ("GetCallerIdentity", "OptInRequired", ["account in region 'us-east-1'", "enable the region"]),
        ("GetCallerIdentity", "Blocked", ["account in region 'us-east-1'", "AWS has blocked the account"]),
        ("DescribeAvailabilityZones", "InternalError", ["EC2 does not list the zones of region 'us-east-1'"]),
        ("DescribeAvailabilityZones", "OptInRequired", ["EC2 does not list the zones", "enable the region"]),
    ],
)
def test_not_carried_out(
    preflight: Preflight, fake_aws: FakeAws, action: str, code: str, words: list[str]
) -> None:
    """Keys that AWS does not take end the command, and so does an EC2 that is out of order."""
    fake_aws.refuse(action, code, "no", 500 if "Zones" in action else 403)
    failed(preflight(), code, *words)


def test_refused_connection(preflight: Preflight, fake_aws: FakeAws) -> None:
    """An endpoint that does not answer is asked no more; only what is needed of it counts."""
    answer = preflight("--json", ebs_endpoint=NOWHERE, sts_endpoint=NOWHERE)
    assert answer.returncode == 0
    assert problems_of(answer) == {
        service: f"the connection is refused: check aws.{service}_endpoint, or create a VPC endpoint for it"
        for service in ("ebs", "sts")
    }
    assert feature(answer, "HeavyStemcells")["not_checkable"]["ebs:PutSnapshotBlock"] == "its endpoint fails"
    unknown = feature(answer, "LoadBalancers")["not_checkable"]
    assert unknown["elasticloadbalancing:RegisterTargets"] == "STS does not name the account"
    assert "RegisterTargets" not in fake_aws.actions()
    assert answer.document["credentials"]["arn"] is None


def test_owner_without_an_element(preflight: Preflight, fake_aws: FakeAws) -> None:
    """If STS names the account without an ARN, both are unknown; everything else is checked."""
    fake_aws.rule(action="GetCallerIdentity", replace=[["<Arn>.*?</Arn>", ""]])
    answer = preflight("--json")
    assert (answer.returncode, problems_of(answer), answer.document["is_ready"]) == (0, {}, True)
    assert answer.document["credentials"]["arn"] is None


def test_zones_without_an_element(preflight: Preflight, fake_aws: FakeAws) -> None:
    """If EC2's zones lack an element, the message names it."""
    fake_aws.rule(action="DescribeAvailabilityZones", replace=[["<zoneState>.*?</zoneState>", ""]])
    failed(preflight(), "EC2 does not list the zones of region", "DescribeAvailabilityZones, without State")


SERVICES = ("sts", "ec2", "ebs", "elb", "elbv2", "iam", "service-quotas")
SILENT = {
    ("preflight",): (1, SERVICES),
    ("check", "cloud-config.yml"): (2, ("ec2",)),
    ("sweep", "--director", DIRECTOR_UUID): (2, ("ec2",)),
    ("diagnose", "i-0123456789abcdef0"): (2, ()),
}
"""By command: its exit status at a server that never answers, and the services that it gives up."""


@pytest.mark.usefixtures("fast_clock")
@pytest.mark.parametrize("max_retries", [0, 8])
@pytest.mark.parametrize("command", SILENT, ids=" ".join)
def test_silence(world: World, command: tuple[str, ...], max_retries: int) -> None:
    """Each service that does not answer in time is asked once, which stderr says at once."""
    status, services = SILENT[command]
    with socket.create_server(("127.0.0.1", 0), backlog=50) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        cpi = Cpi(config(url, max_retries=max_retries), env={TIMEOUT_SPEED: "100"})
        (cpi.folder / "cloud-config.yml").write_text(json.dumps(right(world)))
        name, *arguments = command
        answer = cpi.run(
            name, *(str(cpi.folder / each) if each.endswith("yml") else each for each in arguments)
        )
        server.settimeout(0)
        asked = 0
        with suppress(BlockingIOError):
            while True:
                server.accept()[0].close()
                asked += 1
    given_up = [f"cpi: {each} does not answer in time, and is not asked again" for each in services]
    assert (answer.returncode, asked) == (status, len(services) or 1)
    assert answer.stderr.splitlines()[: len(services)] == given_up


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


def test_refused_role(preflight: Preflight, fake_aws: FakeAws) -> None:
    """A role that can't be assumed ends the command: its permissions are those that count."""
    fake_aws.refuse("AssumeRole", "AccessDenied", "not you", 403)
    failed(
        preflight(role_arn=ROLE), f"aws.role_arn '{ROLE}' can't be assumed", "AccessDenied", "trust policy"
    )
    assert fake_aws.actions() == ["AssumeRole"]


def test_ids_are_looked_at_first(preflight: Preflight, fake_aws: FakeAws) -> None:
    """Where EC2 looks for the ids before the permissions, little is known, and that is counted."""
    fake_aws.rule(action="*", where={"DryRun": "true"}, error=NOT_FOUND)
    answer = preflight("--json", "--feature", "Routes")
    unverified = len(FEATURES[BASELINE].actions) + 3
    assert (answer.returncode, answer.document["is_ready"], answer.document["unverified"]) == (
        0,
        True,
        unverified,
    )
    assert set(feature(answer, "Routes")["not_checkable"].values()) == {
        "answered with InvalidInstanceID.NotFound, which proves nothing"
    }


@pytest.mark.parametrize(
    ("code_of_elb", "words"),
    [
        (
            "SignatureDoesNotMatch",
            ["it refuses the keys that other services accept (SignatureDoesNotMatch)", "aws.elb_endpoint"],
        ),
        ("OptInRequired", ["it does not serve the account", "enable the region"]),
    ],
)
def test_no_verdict(preflight: Preflight, fake_aws: FakeAws, code_of_elb: str, words: list[str]) -> None:
    """An unforeseen answer is no verdict; a service that alone refuses the keys has a wrong endpoint.

    AuthFailure may be about an id, once EC2 has accepted the keys.
    """
    refused = {
        "CreateVolume": ("AuthFailure", 403),
        "CreateRoute": ("InvalidAction", 400),
        "DescribeTargetGroups": (code_of_elb, 403),
    }
    for action, (code, status) in refused.items():
        fake_aws.refuse(action, code, "no", status)
    answer = preflight("--json")
    assert (answer.returncode, answer.document["is_ready"]) == (1, False)
    for name, action in (("Baseline", "CreateVolume"), ("Routes", "CreateRoute")):
        code, _ = refused[action]
        assert feature(answer, name)["no_verdict"] == {f"ec2:{action}": f"answered with {code}: no"}
    assert "ec2:TerminateInstances" in feature(answer, "Baseline")["allowed"]
    ((service, problem),) = problems_of(answer).items()
    assert service == "elbv2"
    assert [word for word in words if word not in problem] == []


def test_page_of_a_proxy(preflight: Preflight) -> None:
    """Where a proxy answers in the place of AWS the endpoint fails, whatever the page's status."""
    with Page(200) as page, Page(403) as refusal:
        answer = preflight("--json", elb_endpoint=page.url, ebs_endpoint=refusal.url)
    problems = problems_of(answer)
    assert problems.keys() == {"elb", "elbv2", "ebs"}
    assert all(problem.startswith("the response is not from AWS") for problem in problems.values())
    assert answer.returncode == 0


def test_page_everywhere(preflight: Preflight) -> None:
    """If a proxy answers in the place of EC2 and STS, too, the last line says that nothing is ready."""
    with Page(503) as page:
        pages = {f"{name}_endpoint": page.url for name in ("ec2", "sts", "elb", "ebs")}
        answer = preflight(**pages)
    assert answer.returncode == 1
    assert "NOT READY for Baseline: endpoints that fail: ec2" in answer.stdout.decode().splitlines()[-1]


def test_page_for_the_role(story: Story, world: World) -> None:
    """No command can do anything if a proxy answers in the place of STS, and each says so."""
    with Page(200) as page:
        cpi = story.cpi_with(sts_endpoint=page.url, role_arn=ROLE)
        path = cpi.folder / "cloud-config.yml"
        path.write_text(json.dumps(right(world)))
        checked = cpi.run("check", str(path))
        diagnosed = cpi.run("diagnose", "i-0123456789abcdef0")
        called = cpi.call("has_vm", "i-0123456789abcdef0")
    where = "check env.https_proxy and aws.sts_endpoint, or create a VPC endpoint for it"
    failed(checked, f"STS, which aws.role_arn '{ROLE}' needs, fails: the response is not from AWS", where)
    for said in (diagnosed.stderr, called.error["message"]):
        assert "AssumeRole" in said
        assert where.removeprefix("check ") in said
    assert (diagnosed.returncode, called.error["type"]) == (2, "Bosh::Clouds::CloudError")
