"""Network interfaces, addresses, routes."""

from ipaddress import ip_network

from acceptance.lab import Lab, said_to
from acceptance.network import SUBNETS
from acceptance.patience import NotYet, until
from acceptance.trials.trial import Seen, Trials, compared
from bosh_aws_cpi.aws.sdk.errors import NIC_IN_USE, SUBNET_FULL

TRIALS = Trials()
FREE = 11
"""Addresses of a /28 that EC2 gives to interfaces: 16 without the first four and the last."""
TAKEN = {"InvalidIPAddress.InUse"}


@TRIALS.of("address-in-use")
def address_in_use(lab: Lab) -> Seen:
    """Ask for an address that an interface has, by both calls."""
    address = str(ip_network(SUBNETS[0])[20])
    lab.create_interface(PrivateIpAddress=address)
    nic = lab.launch_interface(PrivateIpAddress=address)
    said = {
        "CreateNetworkInterface": said_to(
            lab.ec2.create_network_interface, **lab.interface_arguments(PrivateIpAddress=address)
        ),
        "RunInstances": said_to(lab.ec2.run_instances, **lab.launch_arguments(NetworkInterfaces=[nic])),
    }
    return compared(said, dict.fromkeys(said, TAKEN))


@TRIALS.of("subnet-full")
def subnet_full(lab: Lab) -> Seen:
    """Take all addresses of a small subnet, and ask for one more, by both calls."""
    small = lab.network.subnet_ids[2]
    arguments = lab.interface_arguments(SubnetId=small)
    lab.ec2.create_network_interface(**arguments, SecondaryPrivateIpAddressCount=FREE - 1)
    nic = lab.launch_interface(SubnetId=small)
    said = {
        "CreateNetworkInterface": said_to(lab.ec2.create_network_interface, **arguments),
        "RunInstances": said_to(lab.ec2.run_instances, **lab.launch_arguments(NetworkInterfaces=[nic])),
    }
    agrees = all(SUBNET_FULL(each.error) for each in said.values())
    return Seen(agrees, ", ".join(f"{what} {each.text}" for what, each in said.items()))


@TRIALS.of("interface-in-use")
def interface_in_use(lab: Lab) -> Seen:
    """Delete the interface of an instance that runs."""
    said = said_to(lab.ec2.delete_network_interface, NetworkInterfaceId=lab.interface_id)
    return Seen(said.code in NIC_IN_USE, said.text)


@TRIALS.of("interface-by-filter")
def interface_by_filter(lab: Lab) -> Seen:
    """Find the instance that holds an address."""
    address = lab.describe_instance(lab.instance_id)["PrivateIpAddress"]
    filters = [
        {"Name": "subnet-id", "Values": [lab.network.subnet_ids[0]]},
        {"Name": "addresses.private-ip-address", "Values": [address]},
    ]
    found = lab.ec2.describe_network_interfaces(Filters=filters)["NetworkInterfaces"]
    holders = [each["Attachment"]["InstanceId"] for each in found]
    return Seen(holders == [lab.instance_id], f"{len(found)} interfaces, of {', '.join(holders) or 'nobody'}")


@TRIALS.of("filter-wildcards")
def filter_wildcards(lab: Lab) -> Seen:
    """Find an interface by a tag with wildcards and a backslash: escaped, and by patterns."""
    mark = lab.token()
    nic_id = lab.create_interface()
    lab.ec2.create_tags(Resources=[nic_id], Tags=[{"Key": "bosh_call", "Value": f"{mark}*?\\x"}])
    wanted = {r"\*\?\\x": True, "*": True, r"\*?\\x": True, r"\?\*\\x": False, r"\*\?x": False}
    found = {}
    for ending in wanted:
        by_tag = [{"Name": "tag:bosh_call", "Values": [mark + ending]}]
        found[ending] = bool(lab.ec2.describe_network_interfaces(Filters=by_tag)["NetworkInterfaces"])
    text = ", ".join(f"{ending} finds {'it' if found[ending] else 'nothing'}" for ending in wanted)
    return Seen(found == wanted, text)


@TRIALS.of("prefix-taken")
def prefix_taken(lab: Lab) -> Seen:
    """Delegate a prefix that another interface has."""
    prefix, *_ = list(ip_network(SUBNETS[1]).subnets(new_prefix=28))[8:]
    # Both interfaces get an address outside of the prefix; by itself EC2 might choose one inside.
    ids = [
        lab.create_interface(SubnetId=lab.network.subnet_ids[1], PrivateIpAddress=str(address))
        for address in list(ip_network(SUBNETS[1]))[30:32]
    ]
    first, second = (
        said_to(lab.ec2.assign_private_ip_addresses, NetworkInterfaceId=each, Ipv4Prefixes=[str(prefix)])
        for each in ids
    )
    return Seen(not first.code and second.code in TAKEN, f"at first {first.text}, then {second.text}")


@TRIALS.of("connection-tracking")
def connection_tracking(lab: Lab) -> Seen:
    """Create an interface with the longest time-outs, and ask for a longer one, by both calls."""
    most = {"TcpEstablishedTimeout": 432_000, "UdpStreamTimeout": 180, "UdpTimeout": 60}
    nic_id = lab.create_interface(ConnectionTrackingSpecification=most)
    (shown,) = lab.ec2.describe_network_interfaces(NetworkInterfaceIds=[nic_id])["NetworkInterfaces"]
    beyond = {"ConnectionTrackingSpecification": {"UdpTimeout": 61}}
    nic = lab.launch_interface(**beyond)
    said = {
        "CreateNetworkInterface": said_to(
            lab.ec2.create_network_interface, **lab.interface_arguments(**beyond)
        ),
        "RunInstances": said_to(lab.ec2.run_instances, **lab.launch_arguments(NetworkInterfaces=[nic])),
    }
    kept = shown.get("ConnectionTrackingConfiguration")
    agrees = kept == most and all(each.code for each in said.values())
    answers = ", ".join(f"{what} {each.text}" for what, each in said.items())
    return Seen(agrees, f"{kept}, then {answers}")


@TRIALS.of("route-twice")
def route_twice(lab: Lab) -> Seen:
    """Create a route twice, and replace and delete one that does not exist."""
    route = {
        "RouteTableId": lab.network.table_id,
        "DestinationCidrBlock": "192.0.2.0/24",
        "NetworkInterfaceId": lab.interface_id,
    }
    other = {**route, "DestinationCidrBlock": "198.51.100.0/24"}
    first = said_to(lab.ec2.create_route, **route)
    said = {
        "CreateRoute again": said_to(lab.ec2.create_route, **route),
        "ReplaceRoute": said_to(lab.ec2.replace_route, **other),
    }
    unknown = said_to(
        lab.ec2.delete_route,
        RouteTableId=lab.network.table_id,
        DestinationCidrBlock=other["DestinationCidrBlock"],
    )
    lab.ec2.delete_route(
        RouteTableId=lab.network.table_id, DestinationCidrBlock=route["DestinationCidrBlock"]
    )
    seen = compared(
        {**said, "DeleteRoute": unknown},
        {
            # CreateRoute may also answer success for a route that is identical to the existing one.
            "CreateRoute again": {"RouteAlreadyExists", "success"},
            "ReplaceRoute": {"InvalidRoute.NotFound", "InvalidParameterValue"},
            "DeleteRoute": {"InvalidRoute.NotFound"},
        },
    )
    return Seen(seen.agrees and not first.code, seen.text)


@TRIALS.of("elastic-ip-moves")
def elastic_ip_moves(lab: Lab) -> Seen:
    """Give an elastic IP to an instance that has just been launched, and then to another one."""
    allocation = lab.ec2.allocate_address(Domain="vpc", TagSpecifications=lab.tagged("elastic-ip"))
    allocation_id = allocation["AllocationId"]
    launched = lab.launch()
    nic_id = launched["NetworkInterfaces"][0]["NetworkInterfaceId"]
    early = said_to(lab.ec2.associate_address, AllocationId=allocation_id, NetworkInterfaceId=nic_id)
    assumed = {"", "IncorrectInstanceState", "InvalidInstanceID", "InvalidNetworkInterfaceID.NotFound"}

    def associated() -> str:
        said = said_to(lab.ec2.associate_address, AllocationId=allocation_id, NetworkInterfaceId=nic_id)
        if said.code in assumed - {""}:
            raise NotYet(said.text)
        return said.text

    try:
        later = until(associated)
    except NotYet as refused:
        later = str(refused)
    moved = said_to(
        lab.ec2.associate_address, AllocationId=allocation_id, NetworkInterfaceId=lab.interface_id
    )
    lab.terminate(launched["InstanceId"])
    agrees = early.code in assumed and later == "success" and not moved.code
    return Seen(agrees, f"pending: {early.text}; running: {later}; taken over: {moved.text}")
