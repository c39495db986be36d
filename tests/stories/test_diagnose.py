"""`cpi diagnose`: the cause for which a VM does not answer is the first finding; nothing is changed."""

import json
from collections.abc import Callable

import pytest

from bosh_aws_cpi.aws.sdk.permissions import FEATURES
from testbed.executable import ABSENT, MBUS_PASSWORD, Cpi, config
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
    allowed = {*FEATURES["Diagnose"].actions, *FEATURES["Baseline"].actions}
    assert {f"ec2:{action}" for action in READS} <= allowed


def test_text(pair: VmAndDirector) -> None:
    """The text ends with the VM, its message bus, what to do next and the console's last lines."""
    pair.says_on_console("\n".join(f"line {number}" for number in range(100)))
    lines = pair.diagnose().stdout.decode().splitlines()
    vm = f"{pair.vm_cid}: running, t3.micro, us-east-1a"
    assert lines[0] == f"0 errors, 0 warnings, 0 notes, 0 not checked. {vm}; mbus nats://{DIRECTOR}:4222"
    assert "/var/vcap/bosh/log/current" in lines[1]
    assert lines[2:4] == ["", "The console's last lines:"]
    assert lines[4:] == [f"  line {number}" for number in range(90, 100)]


ON_VM = {
    "EC2's system status check fails": "recreate",
    "EC2's instance status check fails": "reboot",
    f"The VM did not start: the console shows '{PANIC}'": "stemcell",
    "Instance metadata is disabled": "metadata_options.http_endpoint",
}
IN_NETWORK = {
    "The Director's instance {director} is stopped": "Start it",
    "The security groups of the VM, {vm_group} (bosh), let no tcp 4222 out to 10.0.2.6": "rule for tcp 4222",
    "of the VM's subnet {vm_subnet} drops tcp 4222 to 10.0.2.6": "outbound rule",
    "of the VM's subnet {vm_subnet} drops the answers from 10.0.2.6": "1024 to 65535",
    "of the Director's subnet {director_subnet} drops tcp 4222 from 10.0.1.10": "inbound rule",
    "of the Director's subnet {director_subnet} drops the answers to 10.0.1.10": "stateless",
    "The security groups of the Director, {director_group} (web), let no tcp 4222 in from the VM, "
    "10.0.1.10": "from the VM's security group",
}


def test_all_is_broken(pair: VmAndDirector) -> None:
    """Each error has its remedy: the VM first, then the network from near to far; then warnings."""
    pair.fails_checks("system", "instance")
    pair.says_on_console(f"booting\n{PANIC}\nbosh-agent failed\n")
    pair.ec2.modify_instance_metadata_options(InstanceId=pair.vm_cid, HttpEndpoint="disabled")
    pair.ec2.modify_vpc_attribute(VpcId=pair.world.vpc_id, EnableDnsSupport={"Value": False})
    pair.ec2.stop_instances(InstanceIds=[pair.director])
    pair.shut_in(pair.vm_group)
    for subnet_id in pair.world.subnet_ids[:2]:
        pair.acl(subnet_id)
    for port in (4222, 25250):
        pair.shut_out(port)
    *errors, agent, dns = pair.findings()
    names = {
        "vm_group": pair.vm_group,
        "director": pair.director,
        "director_group": pair.director_group,
        "vm_subnet": pair.world.subnet_ids[0],
        "director_subnet": pair.world.subnet_ids[1],
    }
    expected = [(what.format_map(names), remedy) for what, remedy in {**ON_VM, **IN_NETWORK}.items()]
    blobstore = errors[len(expected) :]
    for found, (what, remedy) in zip(errors[: len(expected)], expected, strict=True):
        assert what in found["what"]
        assert remedy in found["remedy"]
    assert {each["severity"] for each in errors} == {"error"}
    assert "let no tcp 25250 in" in blobstore[-1]["what"]
    assert "bosh-agent failed" in agent["what"]
    assert "DNS is disabled in the VPC" in dns["what"]
    assert {agent["severity"], dns["severity"]} == {"warning"}


def test_terminated(pair: VmAndDirector) -> None:
    """If the VM is deleted, nothing else is said of it than why, and how to keep the next one."""
    pair.ec2.terminate_instances(InstanceIds=[pair.vm_cid])
    (found,) = pair.findings()
    what = "The instance is not running but terminated: Client.UserInitiatedShutdown"
    assert (found["severity"], what in found["what"]) == ("error", True)
    assert "keep_unreachable_vms" in found["remedy"]


def test_black_hole(pair: VmAndDirector) -> None:
    """A Director outside the VPC needs a route whose target exists."""
    nic = pair.ec2.create_network_interface(SubnetId=pair.world.subnet_id)["NetworkInterface"]
    pair.route("10.9.0.0/16", NetworkInterfaceId=nic["NetworkInterfaceId"])
    first, *_ = pair.findings("--director-address", "10.9.0.5")
    assert (first["severity"], first["source"]) == ("error", "AWS")
    assert "a black hole" in first["what"]
    assert "target that exists" in first["remedy"]


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


def test_create_env(pair: VmAndDirector) -> None:
    """The operator's machine must reach the agent; without its address, any rule for the port will do."""
    create_env = Cpi(config(pair.fake_aws.endpoint, agent=CREATE_ENV))
    vm_cid = pair.create_vm(create_env, ip="10.0.1.11")
    first, *_ = pair.findings(cpi=create_env, vm_cid=vm_cid)
    assert "let no tcp 6868 in from any address" in first["what"]
    pair.admit(pair.vm_group, 6868, IpRanges=[{"CidrIp": "52.1.2.3/32"}])
    (note,) = pair.findings(cpi=create_env, vm_cid=vm_cid)
    assert (note["severity"], "only private addresses" in note["what"]) == ("note", True)
    pair.publish(vm_cid)
    (first,) = pair.findings(cpi=create_env, vm_cid=vm_cid)
    assert "has no route to an internet gateway" in first["what"]
    pair.route("0.0.0.0/0", GatewayId=pair.internet_gateway())
    assert pair.findings(cpi=create_env, vm_cid=vm_cid) == []
    assert pair.findings("--director-address", "52.1.2.3", cpi=create_env, vm_cid=vm_cid) == []


def test_servers(pair: VmAndDirector) -> None:
    """DNS and NTP servers that nobody has or the VM can't reach are warnings; Amazon's are not checked."""
    agent = {**AGENT, "ntp": ["10.9.0.7", "169.254.169.123"]}
    cpi = Cpi(config(pair.fake_aws.endpoint, agent=agent))
    vm_cid = pair.create_vm(cpi, ip="10.0.1.11", dns=["10.9.0.8", "10.0.0.2", DIRECTOR, "10.0.2.53"])
    found = pair.findings(cpi=cpi, vm_cid=vm_cid)
    assert [each["severity"] for each in found] == ["warning"] * 3
    assert "The DNS server's address 10.0.2.53 is in the range of the VM's VPC" in found[0]["what"]
    assert "no route to 10.9.0.8, a DNS server" in found[1]["what"]
    assert "no route to 10.9.0.7, an NTP server" in found[2]["what"]


@pytest.mark.parametrize("host", ["0.0.0.0", "127.0.0.1", "[::1]", "localhost"])  # noqa: S104 - none listens
def test_bus_on_the_vm(pair: VmAndDirector, host: str) -> None:
    """A message bus on the VM itself is the cause, and nothing is said of a way to it."""
    pair.has_settings({**AGENT, "mbus": f"nats://nats:{MBUS_PASSWORD}@{host}:4222"})
    document = pair.diagnose("--json").document
    (found,) = document["findings"]
    assert f"(mbus), nats://{host}:4222, is on the VM itself" in found["what"]
    assert document["director_address"] is None


def test_bus_by_ipv6(pair: VmAndDirector) -> None:
    """A VM without an IPv6 address has no connection with one: nothing is said of groups and routes."""
    host = "2600:1f18::6"
    agent = json.loads(json.dumps(AGENT).replace(DIRECTOR, f"[{host}]"))
    pair.has_settings(agent)
    (found,) = pair.findings()
    assert (found["severity"], host in found["what"]) == ("error", True)
    assert "The VM has no IPv6 address" in found["what"]
    pair.has_settings(CREATE_ENV)
    (found,) = pair.findings("--director-address", host)
    assert "The VM has no IPv6 address" in found["what"]


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
    for text, arguments in ((lines, ["--json"]), (lines[::-1], [])):
        pair.says_on_console("\r\n".join(text))
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
    """User data that is missing or truncated is an error, and not quoted."""
    whole = json.dumps({"agent_id": "a", **AGENT}).encode()
    for data, what in ((whole[:-1], f"({len(whole) - 1} bytes) is not a JSON object"), (b"", "no user data")):
        pair.has_user_data(data)
        first, *_ = pair.findings()
        assert (first["severity"], what in first["what"]) == ("error", True)


def test_console_of_an_old_type(pair: VmAndDirector) -> None:
    """EC2 shows the latest output only for types on Nitro; for others a second call omits Latest."""
    vm_cid = pair.create_vm(pair.cpi, instance_type="m4.large", ip="10.0.1.11")
    pair.says_on_console(PANIC)
    assert "Kernel panic" in pair.findings(vm_cid=vm_cid)[0]["what"]
    assert pair.fake_aws.actions().count("GetConsoleOutput") == 2


def test_refused(pair: VmAndDirector) -> None:
    """A lookup that the policy does not allow is named and left out; the others are made."""
    error = {"code": "UnauthorizedOperation", "message": "You may not.", "status": 403}
    refused = READS - {"DescribeInstances"}
    for action in refused:
        pair.fake_aws.rule(action=action, error=error)
    found = pair.findings()
    assert {each["severity"] for each in found} == {"not checked"}
    assert sorted(each["remedy"] for each in found) == sorted(
        f"Allow ec2:{action} in the policy of the CPI's user or role" for action in refused
    )
    assert set(pair.fake_aws.actions()) == READS


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


def test_empty_lists(pair: VmAndDirector) -> None:
    """What each VM and VPC has is not checked if EC2 lists none, which can't be true."""
    looked_up = {
        "DescribeInstanceStatus": "status checks",
        "DescribeNetworkAcls": "network ACLs",
        "DescribeRouteTables": "routes",
        "DescribeSecurityGroups": "security groups",
        "DescribeVpcs": "the VPC's address ranges",
    }
    for action in looked_up:
        pair.fake_aws.rule(action=action, replace=[[r"(?s)<(\w+(Set|Info))>.*</\1>", r"<\1/>"]])
    none = "AWS lists none, though there must be some"
    found = pair.findings()
    assert {(each["severity"], each["what"], each["remedy"]) for each in found} == {
        ("not checked", f"{what}: {none}", "Repeat this command") for what in looked_up.values()
    }


@pytest.mark.parametrize(
    ("action", "element", "name"),
    [
        ("DescribeInstanceStatus", "instanceState", "InstanceState"),
        ("DescribeNetworkAcls", "entrySet", "Entries"),
        ("DescribeRouteTables", "routeSet", "Routes"),
        ("DescribeSecurityGroups", "ipPermissionsEgress", "IpPermissionsEgress"),
    ],
)
def test_answer_without_an_element(pair: VmAndDirector, action: str, element: str, name: str) -> None:
    """What an answer lacks, such as the rules of a group, is not checked: it is not that there are none."""
    pair.fake_aws.rule(action=action, replace=[[rf"(?s)<{element}>.*?</{element}>", ""]])
    (found,) = pair.findings()
    assert found["severity"] == "not checked"
    assert f"(ec2:{action}" in found["what"]
    assert found["what"].endswith(f", without {name})")


@pytest.mark.usefixtures("world")
def test_unknown_vm(cpi: Cpi) -> None:
    """If EC2 does not know the VM, the message says what may be wrong."""
    words = ("VM `worker/0' not found in us-east-1. VM_CID must be an", "keep_unreachable_vms")
    failed(cpi.run("diagnose", "worker/0"), *words)


def test_mistyped_address(pair: VmAndDirector) -> None:
    """If nobody has the address that the operator gave, it is to be corrected, and not the message bus."""
    first, *_ = pair.findings("--director-address", "10.0.2.66")
    assert first["what"].startswith("The Director's address 10.0.2.66 is in the range of the VM's VPC")
    assert first["remedy"].startswith("Correct --director-address (agent.mbus has 10.0.2.6), or ")


def test_not_carried_out(pair: VmAndDirector) -> None:
    """Bad arguments, a bad configuration and refused keys end the command."""
    for text in ("10.0.2.6:4222", ""):
        answer = pair.diagnose("--director-address", text)
        assert answer.returncode == 2
        assert f"not an IP address: '{text}'" in answer.stderr
    broken = Cpi(config(pair.fake_aws.endpoint, region=ABSENT, ec2_endpoint=ABSENT))
    failed(pair.diagnose(cpi=broken), "aws:region")
    pair.fake_aws.refuse("DescribeInstances", "AuthFailure", "no", 401)
    failed(pair.diagnose(), "AuthFailure")


def by_own_public_address(pair: VmAndDirector) -> str:
    """Put both into one VPC; the VM uses the Director's public address, whose rules let the VM's in."""
    pair.route("0.0.0.0/0", GatewayId=pair.internet_gateway())
    pair.publish(pair.vm_cid)
    source = pair.world.instance(pair.vm_cid)["PublicIpAddress"]
    for port in (4222, 25250):
        pair.admit(pair.director_group, port, IpRanges=[{"CidrIp": f"{source}/32"}])
    return pair.publish(pair.director)


def peered(pair: VmAndDirector) -> str:
    """Put the Director into a peered VPC with a route back and a rule for the VM's address."""
    subnet_id = pair.peer()
    pair.route_back(subnet_id)
    pair.launch_in(subnet_id, "10.50.1.6", IpRanges=[{"CidrIp": "10.0.0.0/16"}])
    return "10.50.1.6"


def strict_acls(pair: VmAndDirector) -> str:
    """Create network ACLs that let only the needed packets pass."""
    pair.acl(
        pair.world.subnet_id, rules=[("out", (4222, 4222)), ("out", (25250, 25250)), ("in", (1024, 65535))]
    )
    pair.acl(pair.world.subnet_ids[1], rules=[("in", (4222, 25250)), ("out", (1024, 65535))])
    return DIRECTOR


@pytest.mark.parametrize("lay", [by_own_public_address, peered, strict_acls])
def test_no_false_alarm(pair: VmAndDirector, lay: Callable[[VmAndDirector], str]) -> None:
    """A VM that can reach its Director has no error."""
    director = lay(pair)
    agent = json.loads(json.dumps(AGENT).replace(DIRECTOR, director))
    pair.has_settings(agent)
    answer = pair.diagnose("--json")
    found = [each["what"] for each in answer.document["findings"] if each["severity"] == "error"]
    assert (answer.returncode, found) == (0, [])
    assert answer.document["director_address"] == director


def test_several_interfaces(pair: VmAndDirector) -> None:
    """Of several interfaces, only the one that leads to the Director counts."""
    lonely = pair.ec2.create_security_group(
        GroupName="lonely", Description="lonely", VpcId=pair.world.vpc_id
    )["GroupId"]
    pair.shut_in(lonely)
    nic = pair.ec2.create_network_interface(SubnetId=pair.world.subnet_ids[1], Groups=[pair.vm_group])
    nic_id = nic["NetworkInterface"]["NetworkInterfaceId"]
    pair.ec2.attach_network_interface(NetworkInterfaceId=nic_id, InstanceId=pair.vm_cid, DeviceIndex=1)
    (first, *_) = pair.world.instance(pair.vm_cid)["NetworkInterfaces"]
    pair.ec2.modify_network_interface_attribute(
        NetworkInterfaceId=first["NetworkInterfaceId"], Groups=[lonely]
    )
    assert pair.findings() == []
