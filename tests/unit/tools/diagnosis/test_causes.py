"""The causes of `cpi diagnose` from facts, their order, and the report."""

from pathlib import Path
from typing import Any

import pytest

from bosh_aws_cpi.aws.firewalls import ANY_PORT, Group, GroupRule
from bosh_aws_cpi.aws.instances import Health
from bosh_aws_cpi.model import Instance, StateReason
from bosh_aws_cpi.tools import diagnose
from bosh_aws_cpi.tools.diagnosis import causes
from bosh_aws_cpi.tools.diagnosis.agent_settings import Address, AgentSettings
from bosh_aws_cpi.tools.diagnosis.facts import Facts, Side, own_interface, peer_interface
from bosh_aws_cpi.tools.diagnosis.facts import side as side_of
from bosh_aws_cpi.tools.findings import Finding, Severity
from tests.unit.tools.diagnosis.diagnosis_facts import DIRECTOR, VM, healthy, interface, side

NATS_ONLY = GroupRule("tcp", (4222, 4222), ("10.0.0.0/16",))
PAGE = Path(__file__).parents[4] / "docs/diagnose.md"


def causes_of(facts: Facts) -> list[tuple[str, str]]:
    """The severity and text of each finding."""
    return [(finding.severity.value, finding.what) for finding in causes.find(facts)]


def tcp_only() -> Side:
    """The VM's side, whose group lets only TCP out."""
    rule = GroupRule("tcp", ANY_PORT, ("0.0.0.0/0",))
    return side("vm", VM).replace(groups=(Group("sg-vm", "vm", "vpc-1", (), (rule,)),))


NO_DNS = "DNS is disabled in the VPC"
BY_NAME = {"mbus": Address("nats", "director.example", 4222), "remote": "", "peer": None, "holders": {}}


@pytest.mark.parametrize(
    ("changes", "severity", "words"),
    [
        ({"instance": healthy().instance.replace(state="pending")}, "warning", "pending"),
        (
            {
                "instance": healthy().instance.replace(
                    nics=[interface("vm", "2001:db8::10"), interface("b", VM)]
                )
            },
            "warning",
            "is in an IPv6-only subnet",
        ),
        ({"health": Health("running", "initializing", "ok", "ok")}, "note", "are not complete"),
        ({"health": Health("running", "ok", "ok", "impaired")}, "error", "attached EBS status check fails"),
        ({"mbus": Address("nats", "localhost", 4222), "remote": ""}, "error", "is on the VM itself"),
        (BY_NAME, "not checked", "'director.example' is a name"),
        ({**BY_NAME, "has_dns": False}, "error", NO_DNS),
        ({"has_dns": False}, "warning", NO_DNS),
        ({"has_dns": False, "settings": AgentSettings(9, dns=("10.0.1.53",))}, "note", NO_DNS),
        ({"has_dns": False, "settings": AgentSettings(9, dns=("10.0.0.2",))}, "warning", NO_DNS),
        (
            {"vm": tcp_only(), "settings": AgentSettings(9, ntp=("time.example",))},
            "warning",
            "let no udp 123 out to any address, for an NTP server",
        ),
        (
            {"peer": side("director", DIRECTOR, NATS_ONLY, status="available")},
            "error",
            "is attached to no instance",
        ),
    ],
)
def test_cause(changes: dict[str, Any], severity: str, words: str) -> None:
    """The cause is the first finding, with its severity."""
    first, *_ = causes_of(healthy(**changes))
    assert (first[0], words in first[1]) == (severity, True)


def test_nothing_known() -> None:
    """If nothing could be looked up, the findings say only that."""
    not_checked = Finding(Severity.NOT_CHECKED, "everything")
    assert causes.find(Facts(healthy().instance, not_checked=(not_checked,))) == [not_checked]


@pytest.mark.parametrize(
    ("owner", "ranges", "severity", "of_resolver"),
    [
        ("123456789012", ("10.0.0.0/16",), "error", "warning"),
        ("999999999999", ("10.0.0.0/16",), "warning", "note"),
        ("123456789012", ("10.1.0.0/16",), "note", None),
    ],
)
def test_address_that_nobody_has(
    owner: str, ranges: tuple[str, ...], severity: str, of_resolver: str | None
) -> None:
    """An unused address in the account's own VPC is an error; in a shared VPC another account may use it."""
    elsewhere = interface("elsewhere", DIRECTOR, vpc_id="vpc-2")
    facts = healthy(peer=None, holders={DIRECTOR: [elsewhere]})
    assert facts.vpc is not None
    facts = facts.replace(vpc=facts.vpc.replace(owner_id=owner, ranges=ranges))
    found = causes_of(facts)
    assert [each for each, _ in found] == [severity]
    assert DIRECTOR in found[0][1]
    facts = facts.replace(
        holders={"10.0.2.53": []} if of_resolver else {}, settings=AgentSettings(9, dns=("10.0.2.53",))
    )
    assert [each for each, _ in causes_of(facts)] == ([of_resolver] if of_resolver else [])


@pytest.mark.parametrize(
    ("held", "remote", "lacking"),
    [
        ({"addresses": ("10.0.1.10",)}, "2600::6", "IPv6"),
        ({"addresses": ("10.0.1.10", "2600:1::a")}, "2600::6", ""),
        ({"addresses": ("10.0.1.10",), "prefixes": ("2600:1::/80",)}, "2600::6", ""),
        ({"addresses": ("2600:1::a",)}, "10.9.0.6", "IPv4"),
        ({"addresses": ("2600:1::a",)}, "", ""),  # the message bus has a name
    ],
)
def test_other_ip_version(held: dict[str, Any], remote: str, lacking: str) -> None:
    """A VM without any address of the other side's IP version has that error, and no other about the way."""
    mbus, nics = Address("nats", remote or "director.example", 4222), [interface("a", VM, **held)]
    facts = healthy(remote=remote, mbus=mbus, settings=None, peer=None, holders={})
    errors = [what for each, what in causes_of(facts.replace(instance=facts.instance.replace(nics=nics)))]
    assert any("address, and so no connection with" in what for what in errors) is bool(lacking)
    assert not lacking or errors[0] == f"The VM has no {lacking} address, and so no connection with {remote}"


@pytest.mark.parametrize(
    ("host", "is_minimal", "words"),
    [
        (DIRECTOR, True, "let no tcp 25777 in"),
        ("10.9.0.9", True, "no route to 10.9.0.9, the registry"),
        (DIRECTOR, False, ""),
        ("127.0.0.1", True, ""),  # a tunnel, as of old versions of `bosh create-env`
        ("registry.example", True, ""),
    ],
)
def test_way_to_the_registry(host: str, *, is_minimal: bool, words: str) -> None:
    """An agent that needs the registry must reach it."""
    settings = AgentSettings(100, is_minimal=is_minimal, registry=Address("http", host, 25777))
    found = causes_of(healthy(settings=settings))
    errors = [what for severity, what in found if severity == "error"]
    assert len(errors) == bool(words)
    assert all(words in what for what in errors)


def test_blobstore_elsewhere() -> None:
    """Of a blobstore with a name, the VM's own rules are checked; with an address, the way to it."""
    facts = healthy()
    assert facts.settings is not None
    assert facts.vm is not None
    by_name = facts.settings.replace(blobstore=Address("https", "s3.amazonaws.com", 443))
    assert causes_of(facts.replace(settings=by_name)) == []
    shut_in = facts.vm.replace(groups=(Group("sg-vm", "vm", "vpc-1", (), (NATS_ONLY,)),))
    ((severity, what), *_) = causes_of(facts.replace(settings=by_name, vm=shut_in))
    assert (severity, "no tcp 443 out to any address, for the blobstore" in what) == ("error", True)
    elsewhere = facts.settings.replace(blobstore=Address("https", "10.9.0.9", 25250))
    ((_, what),) = causes_of(facts.replace(settings=elsewhere))
    assert "no route to 10.9.0.9, the blobstore" in what


def test_groups_that_are_not_known() -> None:
    """The groups of an interface count only if all are known; a load balancer's interface may have none."""
    known = {"sg-1": Group("sg-1", "one", "vpc-1")}
    alone = interface("a", DIRECTOR, group_ids=("sg-1",))
    assert side_of(alone, known, None, None).groups == (known["sg-1"],)
    for group_ids in (("sg-1", "sg-2"), ()):
        lacking = interface("a", DIRECTOR, group_ids=group_ids)
        assert side_of(lacking, known, None, None).groups is None
    assert side_of(alone, None, None, None).groups is None


def test_own_interface() -> None:
    """The VM's interface is the one in the Director's subnet, else the default gateway's, else the first."""
    first, second, third = (interface(str(n), f"10.0.{n}.1") for n in (1, 2, 3))
    own = (first, second, third)
    peer = interface("director", DIRECTOR).replace(subnet_id="subnet-3")
    assert own_interface(own, "10.0.2.1", peer) is third
    assert own_interface(own, "10.0.2.1", None) is second
    assert own_interface(own, "", None) is first
    assert own_interface((), "", None) is None


def test_peer_interface() -> None:
    """Of several interfaces with an address, the VM reaches the one in its VPC, if there is one."""
    near, far, farther = (interface(str(n), DIRECTOR).replace(vpc_id=f"vpc-{n}") for n in (1, 2, 3))
    assert peer_interface([far, near], {"vpc-1"}, is_local=True) is near
    assert peer_interface([far], {"vpc-1"}, is_local=False) is far
    assert peer_interface([far], {"vpc-1"}, is_local=True) is None  # another VPC with the same range
    assert peer_interface([far, farther], {"vpc-1"}, is_local=False) is None
    assert peer_interface([], {"vpc-1"}, is_local=False) is None


def test_example_of_the_documentation() -> None:
    """The example in docs/diagnose.md is what the command prints."""
    facts = healthy(console="bosh-stemcell login:")
    director = side("director", DIRECTOR)
    assert director.groups is not None
    assert facts.settings is not None
    found = facts.replace(
        peer=director.replace(groups=(director.groups[0].replace(group_id="sg-0123456789abcdef0"),)),
        settings=facts.settings.replace(blobstore=None),
        not_checked=(
            Finding(
                Severity.NOT_CHECKED,
                "network ACLs: DescribeNetworkAcls failed with UnauthorizedOperation: You are not authorized "
                "to perform this operation. (request id 5f3c…)",
                "Allow ec2:DescribeNetworkAcls in the policy of the CPI's user or role",
            ),
        ),
    )
    text = "\n".join(diagnose.lines(found, causes.find(found)))
    assert f"```\n{text}\n```" in PAGE.read_text(), text


@pytest.mark.parametrize(
    ("state", "code", "remedy"),
    [
        ("stopped", "Client.UserInitiatedShutdown", "reboot the VM"),
        ("terminated", "Client.InstanceInitiatedShutdown", "get-console-output"),
        ("stopped", "Client.InstanceInitiatedShutdown", "It shut itself down"),
        ("stopped", "Server.SpotInstanceShutdown", "Spot instance"),
        ("terminated", "Server.InsufficientInstanceCapacity", "another instance type"),
        ("terminated", "Client.VolumeLimitExceeded", "EBS quota"),
        ("terminated", "Server.InternalError", "Recreate the VM"),
    ],
)
def test_reason(state: str, code: str, remedy: str) -> None:
    """The remedy fits EC2's reason (API reference, StateReason)."""
    instance = Instance("i-1", state, "m5.large", "us-east-1a", {}, state_reason=StateReason(code, code))
    (finding,) = causes.find(Facts(instance))
    assert remedy in finding.remedy
    assert ". ." not in str(finding)


@pytest.mark.parametrize(
    ("health", "words"),
    [
        (Health("running", "impaired", "ok", ""), "i-director fails EC2's status checks"),
        (Health("running", "ok", "impaired", ""), "i-director fails EC2's status checks"),
        (Health("running", "ok", "initializing", ""), ""),
    ],
)
def test_health_of_the_director(health: Health, words: str) -> None:
    """A Director that does not work is the cause, if its interface is certain to be meant."""
    facts = healthy(peer_health=health)
    assert facts.peer is not None
    nic = facts.peer.interface
    peer = facts.peer.replace(interface=nic.replace(vm_cid="i-director", vm_owner_id=nic.owner_id))
    found = causes_of(facts.replace(peer=peer))
    assert [severity for severity, _ in found] == (["error"] if words else [])
    assert all(words in what for _, what in found)
    far = peer.replace(interface=peer.interface.replace(vpc_id="vpc-2"))
    assert not any("i-director" in what for _, what in causes_of(facts.replace(peer=far)))
