"""`cpi preflight` where AWS gives no verdict, and where something else answers in its place."""

import json
from collections.abc import Iterator

import pytest

from bosh_aws_cpi.aws.sdk.permissions import BASELINE, FEATURES
from testbed.cloud import FakeAws
from testbed.loopback import LoopbackServer, Reply, Request
from testbed.world import World
from tests.protocols import CpiWith
from tests.stories.checked_config import right
from tests.stories.operators import Preflight, Unnamed, failed, feature

NEEDED = len(FEATURES[BASELINE].actions)
ROLE = "arn:aws:iam::123456789012:role/cpi"
NOT_FOUND = {"code": "InvalidInstanceID.NotFound", "message": "no such thing"}


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


@pytest.fixture
def preflight(fake_aws: FakeAws) -> Iterator[Preflight]:
    """Return the command."""
    with Unnamed(fake_aws.endpoint) as relay:
        yield Preflight(relay.url)


def test_ids_are_looked_at_first(preflight: Preflight, fake_aws: FakeAws) -> None:
    """Where EC2 looks for the ids before the permissions, little is known, and that is counted."""
    fake_aws.rule(action="*", where={"DryRun": "true"}, error=NOT_FOUND)
    text = preflight().stdout.decode()
    assert text.splitlines()[-1] == (
        f"Ready for Baseline: not verified: {NEEDED - 1} of the {NEEDED} needed actions"
    )
    answer = preflight("--json", "--feature", "Routes")
    assert (answer.returncode, answer.document["is_ready"], answer.document["unverified"]) == (
        0,
        True,
        NEEDED + 3,
    )
    assert set(feature(answer, "Routes")["not_checkable"].values()) == {
        "answered with InvalidInstanceID.NotFound, which proves nothing"
    }


@pytest.mark.parametrize(
    ("action", "needed", "code", "status"),
    [
        ("CreateVolume", True, "InternalError", 500),
        ("CreateVolume", True, "AuthFailure", 403),
        ("CreateRoute", False, "InvalidAction", 400),
    ],
)
def test_no_verdict(
    preflight: Preflight, fake_aws: FakeAws, action: str, code: str, status: int, *, needed: bool
) -> None:
    """An answer that nobody has foreseen is no verdict; what is needed is then not known to be there.

    That goes for AuthFailure too, once the keys were taken: it may be about an id.
    """
    fake_aws.rule(action=action, error={"code": code, "message": "no", "status": status})
    answer = preflight("--json")
    assert (answer.returncode, answer.document["is_ready"]) == ((1, False) if needed else (0, True))
    said = feature(answer, "Baseline" if needed else "Routes")["no_verdict"]
    assert said == {f"ec2:{action}": f"answered with {code}"}
    assert "ec2:TerminateInstances" in feature(answer, "Baseline")["allowed"]


@pytest.mark.parametrize("status", [200, 403])
def test_page_of_a_proxy(preflight: Preflight, status: int) -> None:
    """Where a proxy answers in the place of AWS the endpoint fails, whatever the page's status."""
    with Page(status) as page:
        answer = preflight("--json", elb_endpoint=page.url, ebs_endpoint=page.url)
        needed = preflight(
            *("--feature", "LoadBalancers", "--feature", "HeavyStemcells"),
            elb_endpoint=page.url,
            ebs_endpoint=page.url,
        )
    problems = {each["service"]: each["problem"] for each in answer.document["endpoints"] if each["problem"]}
    assert problems.keys() == {"elb", "elbv2", "ebs"}
    assert all(problem.startswith("the response is not from AWS") for problem in problems.values())
    assert [answer.returncode, needed.returncode] == [0, 1]
    assert "endpoints that fail: elb, elbv2, ebs" in needed.stdout.decode().splitlines()[-1]


@pytest.mark.parametrize("role", [None, ROLE])
def test_page_everywhere(preflight: Preflight, role: str | None) -> None:
    """So it is with EC2 and STS; without STS no role can be had."""
    with Page(503) as page:
        pages = {f"{name}_endpoint": page.url for name in ("ec2", "sts", "elb", "ebs")}
        answer = preflight(**pages, **({"role_arn": role} if role else {}))
    if role:
        failed(answer, f"STS, which aws.role_arn '{ROLE}' needs, fails: the response is not from AWS")
        return
    assert answer.returncode == 1
    assert "NOT READY for Baseline: endpoints that fail: ec2" in answer.stdout.decode().splitlines()[-1]


def test_page_for_the_role(cpi_with: CpiWith, world: World) -> None:
    """No command can do anything if a proxy answers in the place of STS, and each says so."""
    with Page(200) as page:
        cpi = cpi_with(sts_endpoint=page.url, role_arn=ROLE)
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


def test_other_keys(preflight: Preflight, fake_aws: FakeAws) -> None:
    """A service that alone does not take the keys is not the one that is meant: its endpoint fails."""
    error = {"code": "SignatureDoesNotMatch", "message": "no", "status": 403}
    fake_aws.rule(action="DescribeTargetGroups", error=error)
    answer = preflight("--json", "--feature", "LoadBalancers")
    problems = [each["problem"] for each in answer.document["endpoints"] if each["service"] == "elbv2"]
    assert "it refuses the keys that other services accept (SignatureDoesNotMatch)" in problems[0]
    assert "aws.elb_endpoint" in problems[0]
    assert answer.returncode == 1


def test_unknown_caller(preflight: Preflight, fake_aws: FakeAws) -> None:
    """An ARN that is none ends nothing: only what needs the account is not asked about."""
    fake_aws.rule(action="GetCallerIdentity", replace=[["<Arn>[^<]*</Arn>", "<Arn>root</Arn>"]])
    answer = preflight("--json")
    unknown = feature(answer, "LoadBalancers")["not_checkable"]
    assert unknown["elasticloadbalancing:RegisterTargets"] == "STS does not name the account"
    assert answer.returncode == 0
