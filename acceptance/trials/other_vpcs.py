"""Security groups of other VPCs."""

from acceptance.lab import Lab, Said, said_to
from acceptance.network import tagged
from acceptance.patience import NotYet, until
from acceptance.trials.trial import Seen, Trials
from bosh_aws_cpi.aws import firewalls

TRIALS = Trials()
OTHER_VPC = "10.98.0.0/16"


@TRIALS.of("group-associations")
def group_associations(lab: Lab) -> Seen:
    """Use a group of another VPC before it is associated with the subnet's, and after."""
    other = lab.ec2.create_vpc(CidrBlock=OTHER_VPC, TagSpecifications=lab.tagged("vpc"))["Vpc"]["VpcId"]
    name = f"cpi-{lab.token()}"
    group_id = lab.ec2.create_security_group(
        GroupName=name,
        Description="bosh-aws-cpi acceptance",
        VpcId=other,
        TagSpecifications=tagged(lab.tags, "security-group"),
    )["GroupId"]
    vpc_id = lab.network.vpc_id

    def use() -> Said:
        return said_to(lab.ec2.create_network_interface, **lab.interface_arguments(Groups=[group_id]))

    before = use()
    state = lab.ec2.associate_security_group_vpc(GroupId=group_id, VpcId=vpc_id)["State"]

    def associated() -> None:
        found = firewalls.group_associations(lab.ec2, [group_id])
        if found != {(group_id, vpc_id): "associated"}:
            raise NotYet(str(found))

    until(associated)
    is_listed = bool(firewalls.security_group_ids(lab.ec2, vpc_id, [name])[name])
    after = use()
    if after.answer is not None:
        nic = after.answer["NetworkInterface"]["NetworkInterfaceId"]
        lab.ec2.delete_network_interface(NetworkInterfaceId=nic)
    lab.ec2.disassociate_security_group_vpc(GroupId=group_id, VpcId=vpc_id)
    listed = "" if is_listed else "not "
    return Seen(
        bool(before.code) and not after.code and state == "associating" and not is_listed,
        f"at first {before.text}; {state}, {listed}listed by vpc-id; then {after.text}",
    )
