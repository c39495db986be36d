"""A VM that the executable created, its Director, and what can be wrong between them: for `cpi diagnose`."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from typing import Any

import pytest

from testbed.cloud import FakeAws
from testbed.executable import MBUS_PASSWORD, SECRETS, Answer, Cpi, config
from testbed.world import World

DIRECTOR = "10.0.2.6"
VM = "10.0.1.10"
BLOBSTORE_PASSWORD = "blobstore-secret-19c4"
PRIVATE_KEY = (
    "-----BEGIN RSA PRIVATE KEY-----\nMIIkeyfirstline\nMIIkeysecondline\n-----END RSA PRIVATE KEY-----\n"
)
HIDDEN = (*SECRETS, BLOBSTORE_PASSWORD, "MIIkeyfirstline", "MIIkeysecondline")
AGENT = {
    "mbus": f"nats://nats:{MBUS_PASSWORD}@{DIRECTOR}:4222",
    "ntp": ["169.254.169.123"],
    "blobstore": {
        "provider": "dav",
        "options": {
            "endpoint": f"https://{DIRECTOR}:25250",
            "user": "agent",
            "password": BLOBSTORE_PASSWORD,
        },
    },
}
CREATE_ENV = {"mbus": f"https://mbus:{MBUS_PASSWORD}@0.0.0.0:6868", "ntp": ["169.254.169.123"]}
ENV = {"bosh": {"mbus": {"cert": {"private_key": PRIVATE_KEY}}}}


@pytest.fixture
def pair(fake_aws: FakeAws, world: World) -> VmAndDirector:
    """Return a VM and its Director, between which all is well."""
    return VmAndDirector(fake_aws, world)


class VmAndDirector:
    """A VM in one subnet, its Director in another one, and the command.

    Attributes:
        vm_cid: The VM.
        director: The Director's instance.
    """

    def __init__(self, fake_aws: FakeAws, world: World) -> None:
        """Create both; the Director's group lets the VM's group in."""
        self.world = world
        self.ec2: Any = world.ec2
        self.fake_aws = fake_aws
        self.cpi = Cpi(config(fake_aws.endpoint, agent=AGENT))
        self.vm_group, self.director_group = world.groups["bosh"], world.groups["web"]
        for port in (4222, 25250):
            self.admit(self.director_group, port, UserIdGroupPairs=[{"GroupId": self.vm_group}])
        self.director = self.launch(
            SubnetId=world.subnet_ids[1], PrivateIpAddress=DIRECTOR, SecurityGroupIds=[self.director_group]
        )
        self.vm_cid = self.create_vm(self.cpi)

    def launch(self, **parameters: Any) -> str:
        """Have an instance run without the executable."""
        answer = self.ec2.run_instances(
            ImageId=self.world.image_id, InstanceType="t3.micro", MinCount=1, MaxCount=1, **parameters
        )
        return str(answer["Instances"][0]["InstanceId"])

    def create_vm(
        self, cpi: Cpi, stemcell: int = 2, instance_type: str = "t3.micro", ip: str = VM, **network: Any
    ) -> str:
        """Have the executable create a VM."""
        properties = {"instance_type": instance_type, "availability_zone": self.world.zone}
        given = {
            "type": "manual",
            "ip": ip,
            "cloud_properties": {"subnet": self.world.subnet_id},
            "default": ["dns", "gateway"],
            **network,
        }
        image = f"{self.world.image_id} light"
        arguments = [f"agent-{ip}", image, properties, {"private": given}, [], ENV]
        answer = cpi.call("create_vm", *arguments, stemcell=stemcell)
        return str(answer.ok()[0])

    def diagnose(self, *arguments: str, cpi: Cpi | None = None, vm_cid: str = "") -> Answer:
        """Run the command; it must print no secret. The list of calls begins anew."""
        self.fake_aws.forget_calls()
        answer = (cpi or self.cpi).run("diagnose", vm_cid or self.vm_cid, *arguments)
        said = answer.stdout.decode() + answer.stderr
        assert [secret for secret in HIDDEN if secret in said] == []
        return answer

    def findings(self, *arguments: str, **others: Any) -> list[dict[str, Any]]:
        """Run the command, and return what it found; its exit status must fit."""
        answer = self.diagnose("--json", *arguments, **others)
        found: list[dict[str, Any]] = answer.document["findings"]
        assert answer.returncode == int(any(each["severity"] == "error" for each in found)), answer
        return found

    def admit(self, group_id: str, port: int, **source: Any) -> None:
        """Let TCP to a port in."""
        permission = {"IpProtocol": "tcp", "FromPort": port, "ToPort": port, **source}
        self.ec2.authorize_security_group_ingress(GroupId=group_id, IpPermissions=[permission])

    def shut_in(self, group_id: str) -> None:
        """Let nothing out of a group."""
        everything = [{"IpProtocol": "-1", "IpRanges": [{"CidrIp": "0.0.0.0/0"}]}]
        self.ec2.revoke_security_group_egress(GroupId=group_id, IpPermissions=everything)

    def shut_out(self, port: int) -> None:
        """Let TCP to a port no longer into the Director."""
        permission = {
            "IpProtocol": "tcp",
            "FromPort": port,
            "ToPort": port,
            "UserIdGroupPairs": [{"GroupId": self.vm_group}],
        }
        self.ec2.revoke_security_group_ingress(GroupId=self.director_group, IpPermissions=[permission])

    def acl(self, subnet_id: str, *ways: str, rules: Sequence[tuple[str, tuple[int, int]]] = ()) -> str:
        """Give a subnet a network ACL that lets everything pass "in" or "out", or TCP ports."""
        acl_id: str = self.ec2.create_network_acl(VpcId=self.world.vpc_id)["NetworkAcl"]["NetworkAclId"]
        given: list[tuple[str, dict[str, Any]]] = [(way, {"Protocol": "-1"}) for way in ways]
        given += [(way, {"Protocol": "6", "PortRange": {"From": a, "To": b}}) for way, (a, b) in rules]
        for number, (way, traffic) in enumerate(given, 100):
            self.ec2.create_network_acl_entry(
                NetworkAclId=acl_id,
                RuleNumber=number,
                RuleAction="allow",
                Egress=way == "out",
                CidrBlock="0.0.0.0/0",
                **traffic,
            )
        filters = [{"Name": "association.subnet-id", "Values": [subnet_id]}]
        (old,) = self.ec2.describe_network_acls(Filters=filters)["NetworkAcls"]
        (own,) = [each for each in old["Associations"] if each["SubnetId"] == subnet_id]
        self.ec2.replace_network_acl_association(
            AssociationId=own["NetworkAclAssociationId"], NetworkAclId=acl_id
        )
        return acl_id

    def route(self, destination: str, **target: str) -> str:
        """Give the VM's subnet a route table of its own, with a route; returns the table's id."""
        table_id: str = self.ec2.create_route_table(VpcId=self.world.vpc_id)["RouteTable"]["RouteTableId"]
        self.ec2.associate_route_table(RouteTableId=table_id, SubnetId=self.world.subnet_id)
        self.ec2.create_route(RouteTableId=table_id, DestinationCidrBlock=destination, **target)
        return table_id

    def internet_gateway(self) -> str:
        """Attach an internet gateway to the VPC."""
        gateway: str = self.ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
        self.ec2.attach_internet_gateway(InternetGatewayId=gateway, VpcId=self.world.vpc_id)
        return gateway

    def publish(self, vm_cid: str) -> str:
        """Give an instance a public address; moto's own choice may be a private one."""
        taken = len(self.ec2.describe_addresses()["Addresses"])
        address = self.ec2.allocate_address(Domain="vpc", Address=f"52.9.9.{taken + 1}")
        self.ec2.associate_address(AllocationId=address["AllocationId"], InstanceId=vm_cid)
        return str(address["PublicIp"])

    def peer(self) -> str:
        """Have another VPC, and a peering connection and routes to it but none back; returns its subnet."""
        vpc_id = self.ec2.create_vpc(CidrBlock="10.50.0.0/16")["Vpc"]["VpcId"]
        subnet = self.ec2.create_subnet(VpcId=vpc_id, CidrBlock="10.50.1.0/24")["Subnet"]
        answer = self.ec2.create_vpc_peering_connection(VpcId=self.world.vpc_id, PeerVpcId=vpc_id)
        peering = answer["VpcPeeringConnection"]["VpcPeeringConnectionId"]
        self.ec2.accept_vpc_peering_connection(VpcPeeringConnectionId=peering)
        self.route("10.50.0.0/16", VpcPeeringConnectionId=peering)
        return str(subnet["SubnetId"])

    def route_back(self, subnet_id: str) -> None:
        """Give the VPC of `peer` a route back to the VM."""
        (peering,) = self.ec2.describe_vpc_peering_connections()["VpcPeeringConnections"]
        vpc_id = self.ec2.describe_subnets(SubnetIds=[subnet_id])["Subnets"][0]["VpcId"]
        (table,) = self.ec2.describe_route_tables(Filters=[{"Name": "vpc-id", "Values": [vpc_id]}])[
            "RouteTables"
        ]
        self.ec2.create_route(
            RouteTableId=table["RouteTableId"],
            DestinationCidrBlock="10.0.0.0/16",
            VpcPeeringConnectionId=peering["VpcPeeringConnectionId"],
        )

    def launch_in(self, subnet_id: str, address: str, **source: Any) -> str:
        """Have an instance in a subnet of another VPC; with a source, its group lets TCP from there in."""
        vpc_id = self.ec2.describe_subnets(SubnetIds=[subnet_id])["Subnets"][0]["VpcId"]
        group_id = self.ec2.create_security_group(GroupName="far", Description="far", VpcId=vpc_id)["GroupId"]
        for port in (4222, 25250) if source else ():
            self.admit(group_id, port, **source)
        return self.launch(SubnetId=subnet_id, PrivateIpAddress=address, SecurityGroupIds=[group_id])

    def says_on_console(self, text: str) -> None:
        """Have EC2 show this as the console's output."""
        output = base64.b64encode(text.encode()).decode()
        self.fake_aws.rule(
            action="GetConsoleOutput", replace=[["<output>.*</output>", f"<output>{output}</output>"]]
        )

    def has_user_data(self, data: bytes) -> None:
        """Have EC2 show this as the user data."""
        value = (
            f"<userData><value>{base64.b64encode(data).decode()}</value></userData>"
            if data
            else "<userData/>"
        )
        self.fake_aws.rule(action="DescribeInstanceAttribute", replace=[["<userData>.*</userData>", value]])

    def has_settings(self, agent: dict[str, Any]) -> None:
        """Have EC2 show the user data of a VM whose agent section is this one."""
        self.has_user_data(json.dumps({"agent_id": "a", "networks": {"a": {}}, **agent}).encode())

    def fails_checks(self, *checks: str) -> None:
        """Have EC2 show that these checks fail: "system", "instance"."""
        shown = [
            [f"(<{check}Status>(?:(?!</{check}Status>).)*<status>)ok", r"\g<1>impaired"] for check in checks
        ]
        self.fake_aws.rule(action="DescribeInstanceStatus", replace=shown)
