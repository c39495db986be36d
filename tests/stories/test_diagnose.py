"""`cpi diagnose`: the cause for which a VM does not answer is the first finding; nothing is changed."""

import json
from collections.abc import Callable

import pytest

from bosh_aws_cpi.aws.sdk.permissions import FEATURES
from testbed.cloud import FakeAws
from testbed.executable import ABSENT, MBUS_PASSWORD, Cpi, config
from testbed.world import World
from tests.stories.operators import failed
from tests.stories.vm_and_director import (
    AGENT,
    BLOBSTORE_PASSWORD,
    CREATE_ENV,
    DIRECTOR,
    PRIVATE_KEY,
    VmAndDirector,
)

PANIC = "[    1.234] Kernel panic - not syncing: VFS: Unable to mount root fs on unknown-block(0,0)"
READS = {
    "DescribeInstanceAttribute",
    "DescribeInstanceStatus",
    "DescribeInstances",
    "DescribeNetworkAcls",
    "DescribeNetworkInterfaces",
    "DescribeRouteTables",
    "DescribeSecurityGroups",
    "DescribeVpcAttribute",
    "DescribeVpcs",
    "GetConsoleOutput",
}


def test_healthy(pair: VmAndDirector) -> None:
    """There is no finding about a VM that can reach its Director, and each AWS call is made once."""
    answer = pair.diagnose("--json")
    assert (answer.returncode, answer.stderr) == (0, "")
    document = answer.document
    assert document["findings"] == []
    assert document["vm"] == {"id": pair.vm_cid, "state": "running", "type": "t3.micro", "zone": "us-east-1a"}
    assert document["director_address"] == DIRECTOR
    data = document["user_data"]
    assert data.pop("size") > 500
    assert data == {
        "mbus": f"nats://{DIRECTOR}:4222",
        "blobstore": f"https://{DIRECTOR}:25250",
        "registry": None,
        "dns": [],
        "ntp": ["169.254.169.123"],
    }
    actions = pair.fake_aws.actions()
    assert len(actions) == len(set(actions))
    assert set(actions) == READS


def test_text(pair: VmAndDirector) -> None:
    """The text ends with the VM, its message bus, what to do next and the console's last lines."""
    pair.says_on_console("\n".join(f"line {number}" for number in range(100)))
    lines = pair.diagnose().stdout.decode().splitlines()
    vm = f"{pair.vm_cid}: running, t3.micro, us-east-1a"
    assert lines[0] == f"0 errors, 0 warnings, 0 notes, 0 not checked. {vm}; mbus nats://{DIRECTOR}:4222"
    assert "/var/vcap/bosh/log/current" in lines[1]
    assert lines[2:4] == ["", "The console's last lines:"]
    assert lines[4:] == [f"  line {number}" for number in range(90, 100)]


def stop(pair: VmAndDirector) -> None:
    """Stop the VM."""
    pair.ec2.stop_instances(InstanceIds=[pair.vm_cid])


def terminate(pair: VmAndDirector) -> None:
    """Terminate the VM."""
    pair.ec2.terminate_instances(InstanceIds=[pair.vm_cid])


def disable_metadata(pair: VmAndDirector) -> None:
    """Switch the instance metadata off."""
    pair.ec2.modify_instance_metadata_options(InstanceId=pair.vm_cid, HttpEndpoint="disabled")


def leave_interface(pair: VmAndDirector) -> None:
    """Give the Director's address to an interface without an instance."""
    pair.ec2.terminate_instances(InstanceIds=[pair.director])
    pair.ec2.create_network_interface(
        SubnetId=pair.world.subnet_ids[1], PrivateIpAddress=DIRECTOR, Groups=[pair.director_group]
    )


BY_NAME = {"mbus": f"nats://nats:{MBUS_PASSWORD}@director.example:4222"}


def disable_dns(pair: VmAndDirector) -> None:
    """Name the message bus's host, and disable DNS in the VPC."""
    pair.has_settings(BY_NAME)
    pair.ec2.modify_vpc_attribute(VpcId=pair.world.vpc_id, EnableDnsSupport={"Value": False})


def on_console(text: str) -> Callable[[VmAndDirector], None]:
    """Make EC2 show a text on the console."""
    return lambda pair: pair.says_on_console(f"booting\n{text}\n")


BROKEN: dict[str, tuple[Callable[[VmAndDirector], object], str, str]] = {
    "stopped": (stop, "The instance is not running but stopped", "bosh cck"),
    "deleted by BOSH": (
        terminate,
        "The instance is not running but terminated: Client.UserInitiatedShutdown",
        "keep_unreachable_vms",
    ),
    "host": (lambda pair: pair.has_status("system", "impaired"), "system status check fails", "recreate"),
    "kernel": (lambda pair: pair.has_status("instance", "impaired"), "instance status check fails", "reboot"),
    "panic": (on_console(PANIC), f"did not start: the console shows '{PANIC}'", "stemcell"),
    "metadata": (disable_metadata, "Instance metadata is disabled", "metadata_options.http_endpoint"),
    "no user data": (lambda pair: pair.has_user_data(b""), "no user data", "Recreate"),
    "no message bus": (
        lambda pair: pair.has_user_data(b'{"agent_id":"a","networks":{"a":{}}}'),
        "no usable message bus",
        "agent",
    ),
    "no networks": (
        lambda pair: pair.has_user_data(b'{"agent_id":"a","mbus":"nats://10.0.2.6:4222"}'),
        "have no networks",
        "Recreate",
    ),
    "VM's group": (
        lambda pair: pair.shut_in(pair.vm_group),
        "The security groups of the VM, {vm_group} (bosh), let no tcp 4222 out to 10.0.2.6",
        "outbound rule for tcp 4222",
    ),
    "VM's ACL, out": (
        lambda pair: pair.acl(pair.world.subnet_id, "in"),
        "drops tcp 4222 to 10.0.2.6",
        "outbound rule",
    ),
    "VM's ACL, answers": (
        lambda pair: pair.acl(pair.world.subnet_id, "out"),
        "of the VM's subnet {vm_subnet} drops the answers from 10.0.2.6",
        "1024 to 65535",
    ),
    "Director's ACL, in": (
        lambda pair: pair.acl(pair.world.subnet_ids[1], "out"),
        "of the Director's subnet {director_subnet} drops tcp 4222 from 10.0.1.10",
        "inbound rule",
    ),
    "Director's ACL, answers": (
        lambda pair: pair.acl(pair.world.subnet_ids[1], "in"),
        "of the Director's subnet {director_subnet} drops the answers to 10.0.1.10",
        "stateless",
    ),
    "Director's group": (
        lambda pair: pair.shut_out(4222),
        "security groups of the Director, {director_group} (web), let no tcp 4222 in from the VM, 10.0.1.10",
        "from the VM's security group",
    ),
    "blobstore": (lambda pair: pair.shut_out(25250), "let no tcp 25250 in", "tcp 25250"),
    "no Director": (
        lambda pair: pair.ec2.terminate_instances(InstanceIds=[pair.director]),
        "No network interface has the Director's address 10.0.2.6",
        "agent.mbus",
    ),
    "stopped Director": (
        lambda pair: pair.ec2.stop_instances(InstanceIds=[pair.director]),
        "The Director's instance {director} is stopped",
        "Start it",
    ),
    "idle Director's interface": (leave_interface, "is attached to no instance", "Recreate the Director"),
    "name without DNS": (disable_dns, "DNS is disabled in the VPC (enableDnsSupport)", "Enable it"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_cause(pair: VmAndDirector, name: str) -> None:
    """If one thing is broken, the first finding is an error about it, with the remedy."""
    broken, what, remedy = BROKEN[name]
    broken(pair)
    first = pair.findings()[0]
    assert first["severity"] == "error"
    expected = what.format(
        vm_group=pair.vm_group,
        director=pair.director,
        director_group=pair.director_group,
        vm_subnet=pair.world.subnet_ids[0],
        director_subnet=pair.world.subnet_ids[1],
    )
    assert expected in first["what"]
    assert remedy in first["remedy"]


def shut_in_all_but_tcp(pair: VmAndDirector) -> None:
    """Let nothing but TCP out of the VM."""
    pair.shut_in(pair.vm_group)
    permission = {"IpProtocol": "tcp", "FromPort": 0, "ToPort": 65535, "IpRanges": [{"CidrIp": "0.0.0.0/0"}]}
    pair.ec2.authorize_security_group_egress(GroupId=pair.vm_group, IpPermissions=[permission])
    pair.has_settings({**AGENT, "ntp": ["time.example"]})


@pytest.mark.parametrize(
    ("broken", "what", "remedy"),
    [
        (on_console("x509: certificate has expired or is not yet valid"), "A certificate is refused", "ntp"),
        (shut_in_all_but_tcp, "let no udp 123 out to any address, for an NTP server", "udp 123"),
    ],
    ids=["clock", "NTP"],
)
def test_suspect(
    pair: VmAndDirector, broken: Callable[[VmAndDirector], None], what: str, remedy: str
) -> None:
    """A possible cause is a warning, and comes first."""
    broken(pair)
    first = pair.findings()[0]
    assert (first["severity"], what in first["what"], remedy in first["remedy"]) == ("warning", True, True)


def no_route(pair: VmAndDirector) -> str:
    """Put the Director elsewhere, without a route there."""
    del pair
    return "10.9.0.5"


def black_hole(pair: VmAndDirector) -> str:
    """Create a route to the Director whose target is gone."""
    pair.route("10.9.0.0/16", NetworkInterfaceId=pair.idle_interface())
    return "10.9.0.5"


def internet(pair: VmAndDirector) -> str:
    """Put the Director in the internet, with a route there."""
    pair.route("0.0.0.0/0", GatewayId=pair.internet_gateway())
    return "52.1.2.3"


@pytest.mark.parametrize(
    ("lay", "what", "remedy"),
    [
        (black_hole, "a black hole", "target that exists"),
        (no_route, "has no route to 10.9.0.5", "peering"),
        (internet, "but the VM has no public address", "NAT gateway"),
    ],
    ids=["black hole", "none", "internet"],
)
def test_route(pair: VmAndDirector, lay: Callable[[VmAndDirector], str], what: str, remedy: str) -> None:
    """A Director outside the VPC needs a route that the VM can use."""
    first, *_ = pair.findings("--director-address", lay(pair))
    assert (first["severity"], first["source"]) == ("error", "AWS")
    assert what in first["what"]
    assert remedy in first["remedy"]


def test_peered_vpc(pair: VmAndDirector) -> None:
    """A Director in another VPC needs a route back, and rules for the VM's address.

    Without the route it is not certain that the VM means this VPC: all that is wrong there is a warning.
    """
    subnet_id = pair.peer()
    pair.launch_in(subnet_id, "10.50.1.6")
    group, way_back, *_ = pair.findings("--director-address", "10.50.1.6")
    assert (group["severity"], way_back["severity"]) == ("warning", "warning")
    assert "let no tcp 4222 in from the VM, 10.0.1.10" in group["what"]
    assert f"of the Director's subnet {subnet_id} has no route back to the VM, 10.0.1.10" in way_back["what"]
    pair.route_back(subnet_id)
    group, *_ = pair.findings("--director-address", "10.50.1.6")
    assert (group["severity"], "let no tcp 4222 in" in group["what"]) == ("error", True)


@pytest.fixture
def create_env(fake_aws: FakeAws) -> Cpi:
    """Return the executable as `bosh create-env` configures it."""
    return Cpi(config(fake_aws.endpoint, agent=CREATE_ENV))


def test_create_env(pair: VmAndDirector, create_env: Cpi) -> None:
    """The machine that runs `bosh create-env` must be able to connect to the agent."""
    internet(pair)
    pair.admit(pair.vm_group, 6868, IpRanges=[{"CidrIp": "10.0.0.0/8"}])
    vm_cid = pair.create_vm(create_env, ip="10.0.1.11")
    first, *_ = pair.findings("--director-address", "52.1.2.3", cpi=create_env, vm_cid=vm_cid)
    assert first["severity"] == "error"
    assert "let no tcp 6868 in from 52.1.2.3" in first["what"]


def test_create_env_from_anywhere(pair: VmAndDirector, create_env: Cpi) -> None:
    """Without the operator's address, any rule for the agent's port will do."""
    vm_cid = pair.create_vm(create_env, ip="10.0.1.11")
    first, *_ = pair.findings(cpi=create_env, vm_cid=vm_cid)
    assert "let no tcp 6868 in from any address" in first["what"]
    pair.admit(pair.vm_group, 6868, IpRanges=[{"CidrIp": "192.0.2.0/24"}])
    (note,) = pair.findings(cpi=create_env, vm_cid=vm_cid)
    assert (note["severity"], "only private addresses" in note["what"]) == ("note", True)
    address = pair.ec2.allocate_address(Domain="vpc")
    pair.ec2.associate_address(AllocationId=address["AllocationId"], InstanceId=vm_cid)
    (first,) = pair.findings(cpi=create_env, vm_cid=vm_cid)
    assert "has no route to an internet gateway" in first["what"]


def test_message_bus_on_the_vm(pair: VmAndDirector) -> None:
    """A message bus of NATS on the VM itself is a mistake, and not that of `bosh create-env`."""
    pair.has_settings({**AGENT, "mbus": f"nats://nats:{MBUS_PASSWORD}@localhost:4222"})
    (found,) = pair.findings()
    assert found["severity"] == "error"
    assert "(mbus), nats://localhost:4222, is on the VM itself" in found["what"]
    assert "agent.mbus" in found["remedy"]


def test_servers(pair: VmAndDirector) -> None:
    """DNS and NTP servers that the VM can't reach are warnings; Amazon's own are not checked."""
    agent = {**AGENT, "ntp": ["10.9.0.7", "169.254.169.123"]}
    cpi = Cpi(config(pair.fake_aws.endpoint, agent=agent))
    vm_cid = pair.create_vm(cpi, ip="10.0.1.11", dns=["10.9.0.8", "10.0.0.2"])
    found = pair.findings(cpi=cpi, vm_cid=vm_cid)
    assert [each["severity"] for each in found] == ["warning", "warning"]
    assert "no route to 10.9.0.8, a DNS server" in found[0]["what"]
    assert "no route to 10.9.0.7, an NTP server" in found[1]["what"]


def test_servers_by_name(pair: VmAndDirector) -> None:
    """The way to a message bus with a name can't be checked."""
    cpi = Cpi(config(pair.fake_aws.endpoint, agent={**BY_NAME, "ntp": ["0.pool.ntp.org"]}))
    vm_cid = pair.create_vm(cpi, ip="10.0.1.11")
    (not_checked,) = pair.findings(cpi=cpi, vm_cid=vm_cid)
    assert not_checked["severity"] == "not checked"
    assert "'director.example' is a name" in not_checked["what"]
    assert "--director-address" in not_checked["remedy"]
    assert pair.findings("--director-address", DIRECTOR, cpi=cpi, vm_cid=vm_cid) == []


def test_unfinished_checks(pair: VmAndDirector) -> None:
    """Unfinished status checks are a note."""
    pair.has_status("system", "initializing")
    (note,) = pair.findings()
    assert (note["severity"], "not complete" in note["what"]) == ("note", True)


def test_console(pair: VmAndDirector) -> None:
    """Errors of the agent and of cloud-init on the console are warnings, without secrets."""
    lines = [
        "\x1b[32m[main] 2026/05/01 ERROR - App setup: no route to nats://nats:unknown-secret@10.0.2.6:4222\x1b[0m",
        *PRIVATE_KEY.splitlines(),
        "cloud-init[512]: Traceback (most recent call last):",
        f"login: {MBUS_PASSWORD}",
    ]
    pair.says_on_console("\n".join(lines))
    answer = pair.diagnose("--json")
    found = answer.document["findings"]
    assert [each["severity"] for each in found] == ["warning", "warning"]
    assert "'[main] 2026/05/01 ERROR - App setup: no route to nats://<redacted>@10.0.2.6" in found[0]["what"]
    assert "cloud-init[512]: Traceback" in found[1]["what"]
    assert answer.document["console"] == [
        "[main] 2026/05/01 ERROR - App setup: no route to nats://<redacted>@10.0.2.6:4222",
        "<redacted>cloud-init[512]: Traceback (most recent call last):",
        "login: <redacted>",
    ]
    assert "unknown-secret" not in pair.diagnose().stdout.decode()


def test_secrets_that_are_cut_up(pair: VmAndDirector) -> None:
    """The keys and passwords of the settings are masked on the console, even between other texts."""
    key = PRIVATE_KEY.splitlines()
    lines = [
        "\n".join(f"[  9.{number}] bosh-agent[512]: {line}" for number, line in enumerate(key[1:])),
        f"user data: {json.dumps({'mbus': AGENT['mbus']})}",
        f'parse "{AGENT["mbus"]}/%zz": invalid URL escape',
        f"{MBUS_PASSWORD[:6]}\x1b[0m{MBUS_PASSWORD[6:]}",
        f"{BLOBSTORE_PASSWORD}{key[2]}",
        f"settings {json.dumps(json.dumps(AGENT))}",
    ]
    for text in (lines, lines[::-1]):
        pair.says_on_console("\r\n".join(text))
        for arguments in (["--json"], []):
            answer = pair.diagnose(*arguments)  # which looks for all secrets, also on stderr
            assert "redacted" in answer.stdout.decode()


def test_debug_log(pair: VmAndDirector) -> None:
    """The log of each AWS call contains no secret of the user data or of the console."""
    pair.says_on_console(f"{PRIVATE_KEY} {json.dumps(AGENT)}")
    document = config(pair.fake_aws.endpoint, agent=AGENT)
    document["cloud"]["properties"]["debug"] = {"cpi": {"log_level": "debug"}}
    answer = pair.diagnose("--json", cpi=Cpi(document))
    assert "AWS ec2.GetConsoleOutput" in answer.stderr  # diagnose has looked for secrets in all of it
    assert "AWS ec2.DescribeInstanceAttribute" in answer.stderr


def test_unreadable_user_data(pair: VmAndDirector) -> None:
    """User data that is truncated or not JSON is not quoted."""
    whole = json.dumps({"agent_id": "a", **AGENT}).encode()
    for data in (whole[:-1], b"\x1f\x8b" + whole, whole * 2, b"#cloud-config\n" + whole):
        pair.has_user_data(data)
        first, *_ = pair.findings()
        assert f"The user data ({len(data)} bytes) is not a JSON object" in first["what"]


def test_console_of_an_old_type(pair: VmAndDirector) -> None:
    """EC2 shows the latest output only for types on Nitro; for others a second call omits Latest."""
    vm_cid = pair.create_vm(pair.cpi, instance_type="m4.large", ip="10.0.1.11")
    pair.says_on_console(PANIC)
    assert "Kernel panic" in pair.findings(vm_cid=vm_cid)[0]["what"]
    assert pair.fake_aws.actions().count("GetConsoleOutput") == 2


@pytest.mark.parametrize("action", sorted(READS - {"DescribeInstances"}))
def test_refused(pair: VmAndDirector, action: str) -> None:
    """A lookup that the policy does not allow is named and left out; the others are made."""
    error = {"code": "UnauthorizedOperation", "message": "You may not.", "status": 403}
    pair.fake_aws.rule(action=action, error=error)
    (finding,) = pair.findings()
    assert finding["severity"] == "not checked"
    assert finding["remedy"] == f"Allow ec2:{action}"
    assert set(pair.fake_aws.actions()) == READS


def test_actions(pair: VmAndDirector) -> None:
    """The feature Diagnose has all actions beyond those of Baseline."""
    pair.diagnose()
    allowed = {*FEATURES["Diagnose"].actions, *FEATURES["Baseline"].actions}
    assert {f"ec2:{action}" for action in pair.fake_aws.actions()} <= allowed


def test_fault_of_aws(pair: VmAndDirector) -> None:
    """A call that AWS does not answer is left out without a retry."""
    errors = {
        "DescribeNetworkAcls": {"code": "InternalError", "message": "oops", "status": 500},
        "DescribeSecurityGroups": {"code": "RequestLimitExceeded", "message": "slowly", "status": 503},
    }
    for action, error in errors.items():
        pair.fake_aws.rule(action=action, error=error)
    groups, acls = pair.findings()
    assert groups["what"].startswith(
        "security groups: DescribeSecurityGroups failed with RequestLimitExceeded"
    )
    assert acls["what"].startswith("network ACLs: DescribeNetworkAcls failed with InternalError: oops")
    assert {each["severity"] for each in (groups, acls)} == {"not checked"}
    assert {each["remedy"] for each in (groups, acls)} == {"Repeat this command"}
    assert [pair.fake_aws.actions().count(action) for action in errors] == [1, 1]


@pytest.mark.parametrize("vm_cid", ["i-0123456789abcdef0", "worker/0"])
def test_unknown_vm(cpi: Cpi, world: World, vm_cid: str) -> None:
    """If EC2 does not know the VM, the message says what may be wrong."""
    del world
    words = (f"VM `{vm_cid}' not found in us-east-1. VM_CID must be an", "keep_unreachable_vms")
    failed(cpi.run("diagnose", vm_cid), *words)


def test_mistyped_address(pair: VmAndDirector) -> None:
    """If nobody has the address that the operator gave, it is to be corrected, and not the message bus."""
    first, *_ = pair.findings("--director-address", "10.0.2.66")
    assert first["what"].startswith("No network interface has the Director's address 10.0.2.66")
    assert first["remedy"].startswith("Correct --director-address (agent.mbus has 10.0.2.6), or ")


def test_not_carried_out(pair: VmAndDirector) -> None:
    """Bad arguments, a bad configuration and refused keys end the command."""
    for text in ("director", "10.0.2.0/24", "10.0.2.6:4222", "nats://10.0.2.6", ""):
        answer = pair.diagnose("--director-address", text)
        assert answer.returncode == 2
        assert f"not an IP address: '{text}'" in answer.stderr
    broken = Cpi(config(pair.fake_aws.endpoint, region=ABSENT, ec2_endpoint=ABSENT))
    failed(pair.diagnose(cpi=broken), "aws:region")
    pair.fake_aws.rule(
        action="DescribeInstances", error={"code": "AuthFailure", "message": "no", "status": 401}
    )
    failed(pair.diagnose(), "AuthFailure")
