"""A healthy VM and its Director, as facts that tests change one by one."""

from typing import Any

from bosh_aws_cpi.aws.firewalls import ALL, ANY_PORT, Acl, AclRule, Group, GroupRule
from bosh_aws_cpi.aws.instances import Health
from bosh_aws_cpi.aws.routes import Route, RouteTable
from bosh_aws_cpi.aws.subnets import Vpc
from bosh_aws_cpi.model import Instance, Nic
from bosh_aws_cpi.tools.diagnosis.agent_settings import Address, AgentSettings
from bosh_aws_cpi.tools.diagnosis.facts import Facts, Side

VM = "10.0.1.10"
DIRECTOR = "10.0.2.6"
ALLOWING = (
    AclRule(100, ALL, ANY_PORT, "0.0.0.0/0", is_allowing=True, is_egress=True),
    AclRule(100, ALL, ANY_PORT, "0.0.0.0/0", is_allowing=True, is_egress=False),
)
OUT = GroupRule(ALL, ANY_PORT, ("0.0.0.0/0", "::/0"))
LOCAL = Route("10.0.0.0/16", {"LocalTarget": True}, is_blackhole=False)


def interface(name: str, address: str, **more: Any) -> Nic:
    """An interface in a subnet and a group of its own."""
    whole = {
        "nic_id": f"eni-{name}",
        "subnet_id": f"subnet-{name}",
        "vpc_id": "vpc-1",
        "owner_id": "123456789012",
        "device_index": 0,
        "group_ids": (f"sg-{name}",),
        "addresses": (address,),
        "public": (),
    }
    return Nic(**{**whole, **more})


def side(name: str, address: str, *ingress: GroupRule, **more: Any) -> Side:
    """An interface in a subnet whose network ACL lets everything pass."""
    return Side(
        interface(name, address, **more),
        (Group(f"sg-{name}", name, "vpc-1", ingress, (OUT,)),),
        Acl(f"acl-{name}", "vpc-1", frozenset({f"subnet-{name}"}), ALLOWING),
        RouteTable(f"rtb-{name}", more.get("vpc_id", "vpc-1"), [LOCAL]),
    )


def routed(there: Side, destination: str, is_blackhole: bool = False, **target: str) -> Side:  # noqa: FBT001, FBT002
    """A side with one more route."""
    assert there.table is not None
    route = Route(destination, target, is_blackhole)
    return there.replace(table=there.table.replace(routes=[*there.table.routes, route]))


def healthy(**changes: Any) -> Facts:
    """A VM that reaches its Director."""
    vm = side("vm", VM)
    admitting = [GroupRule("tcp", (port, port), group_ids=("sg-vm",)) for port in (4222, 25250)]
    director = side("director", DIRECTOR, *admitting)
    mbus = Address("nats", DIRECTOR, 4222)
    instance = Instance(
        "i-0123456789abcdef0",
        "running",
        "m5.large",
        "us-east-1a",
        {},
        nics=[vm.interface],
        vpc_id="vpc-1",
        metadata_endpoint="enabled",
    )
    whole = {
        "instance": instance,
        "health": Health("running", "ok", "ok", "ok"),
        "console": "",
        "settings": AgentSettings(812, mbus=mbus, blobstore=Address("https", DIRECTOR, 25250)),
        "mbus": mbus,
        "remote": DIRECTOR,
        "vm": vm,
        "peer": director,
        "holders": {DIRECTOR: [director.interface]},
        "vpc": Vpc("vpc-1", ["10.0.0.0/16"], [], "123456789012"),
        "has_dns": True,
    }
    return Facts(**{**whole, **changes})
