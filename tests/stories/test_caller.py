"""The User-Agent, which CloudTrail shows: the program's version, the Director and its request."""

from typing import Any

import pytest

from bosh_aws_cpi import VERSION
from testbed.cloud import FakeAws
from testbed.executable import DIRECTOR_UUID, Cpi, config
from tests.stories.stemcell_images import Heavy
from tests.stories.story import Story

VM = "i-00000000000000001"
NAME = f" bosh-aws-cpi/{VERSION}"
DIRECTOR = f"{NAME} director/{DIRECTOR_UUID}"
ROLE = "arn:aws:iam::123456789012:role/cpi"


def agents(fake_aws: FakeAws) -> dict[str, set[str]]:
    """Return what the User-Agents of the program's calls say of it, by service."""
    found: dict[str, set[str]] = {}
    for call in fake_aws.calls():
        _, name, rest = call["user_agent"].partition(" bosh-aws-cpi")
        found.setdefault(call["service"], set()).add(name + rest)
    return found


def test_each_call(fake_aws: FakeAws) -> None:
    """Each call names the Director and its request, also the call that gets a role's keys."""
    cpi = Cpi(config(fake_aws.endpoint, role_arn=ROLE))
    cpi.call("has_vm", VM, context={"request_id": "cpi-123456"}).ok()
    said = f"{DIRECTOR} request/cpi-123456"
    assert agents(fake_aws) == {"sts": {said}, "ec2": {said}}


@pytest.mark.usefixtures("traffic")
def test_each_service(story: Story, exposed: dict[str, Any], heavy: Heavy, fake_aws: FakeAws) -> None:
    """All services that methods call are told."""
    fake_aws.forget_calls()
    story.create_vm(**exposed).ok()
    heavy.create().ok()
    assert agents(fake_aws) == {service: {DIRECTOR} for service in ("ec2", "elasticloadbalancing", "ebs")}


def test_commands(fake_aws: FakeAws) -> None:
    """The services that commands call are told the version; no Director asks."""
    Cpi(config(fake_aws.endpoint)).run("preflight")
    found = agents(fake_aws)
    assert found.keys() >= {"ec2", "elasticloadbalancing", "ebs", "sts", "iam"}
    assert set().union(*found.values()) == {NAME}


@pytest.mark.parametrize(
    "text",
    ["cpi-1\r\nX-Forged: 1", "\uff11", "cpi/1", "--", "x" * 65, ["cpi-1"]],
    ids=repr,
)
def test_other_ids(fake_aws: FakeAws, text: Any) -> None:
    """A caller's id of another form is left out of the header, which nothing can be added to."""
    context = {"request_id": text}
    if isinstance(text, str):
        context["director_uuid"] = text
    Cpi(config(fake_aws.endpoint)).call("has_vm", VM, context=context).ok()
    assert agents(fake_aws) == {"ec2": {NAME if isinstance(text, str) else DIRECTOR}}


def test_longest_ids(fake_aws: FakeAws) -> None:
    """Ids of 64 letters, digits, hyphens and underscores are passed on."""
    context = {"director_uuid": "My_Director-" + "0" * 52, "request_id": "x" * 64}
    Cpi(config(fake_aws.endpoint)).call("has_vm", VM, context=context).ok()
    (said,) = agents(fake_aws)["ec2"]
    assert said == f"{NAME} director/{context['director_uuid']} request/{context['request_id']}"
