"""Load balancers and target groups; only a target group is created, because it costs nothing."""

from ipaddress import ip_network

from acceptance.lab import Lab, said_to
from acceptance.network import SUBNETS
from acceptance.trials.trial import UNKNOWN, Seen, Trials, compared

TRIALS = Trials()


@TRIALS.of("balancers-unknown")
def balancers_unknown(lab: Lab) -> Seen:
    """Ask for a balancer and a target group that do not exist."""
    said = {
        "classic": said_to(lab.account.elb.describe_load_balancers, LoadBalancerNames=[f"cpi-{UNKNOWN}"]),
        "target group": said_to(lab.account.elbv2.describe_target_groups, Names=[f"cpi-{UNKNOWN}"]),
    }
    return compared(said, {"classic": {"LoadBalancerNotFound"}, "target group": {"TargetGroupNotFound"}})


@TRIALS.of("targets-by-address")
def targets_by_address(lab: Lab) -> Seen:
    """Register an address that no VM has, at two ports, and deregister it without and with the port."""
    elbv2 = lab.account.elbv2
    group = elbv2.create_target_group(
        Name=f"cpi-{lab.token()[:20]}", Protocol="TCP", Port=80, VpcId=lab.network.vpc_id, TargetType="ip"
    )
    arn = group["TargetGroups"][0]["TargetGroupArn"]
    address = str(ip_network(SUBNETS[0])[9])
    named = {"TargetGroupArn": arn, "Targets": [{"Id": address}]}
    overridden = {"TargetGroupArn": arn, "Targets": [{"Id": address, "Port": 9100}]}
    said = {
        "registered": said_to(elbv2.register_targets, **named),
        "at another port": said_to(elbv2.register_targets, **overridden),
        "deregistered": said_to(elbv2.deregister_targets, **named),
    }
    listed = elbv2.describe_target_health(TargetGroupArn=arn)["TargetHealthDescriptions"]
    at_ports = {
        str(each["Target"]["Port"])
        for each in listed
        if each["TargetHealth"].get("Reason") != "Target.DeregistrationInProgress"
    }
    said["with the port"] = said_to(elbv2.deregister_targets, **overridden)
    seen = compared(said, {key: {"success"} for key in said})
    return Seen(
        seen.agrees and at_ports == {"9100"}, f"{seen.text}; left at ports {', '.join(sorted(at_ports))}"
    )


@TRIALS.of("targets-quic")
def targets_quic(lab: Lab) -> Seen:
    """Register an instance with a QUIC target group, without a server id and with one."""
    elbv2 = lab.account.elbv2
    group = elbv2.create_target_group(
        Name=f"cpi-{lab.token()[:20]}", Protocol="QUIC", Port=443, VpcId=lab.network.vpc_id
    )
    arn = group["TargetGroups"][0]["TargetGroupArn"]
    target = {"Id": lab.instance_id}
    with_id = {**target, "QuicServerId": f"0x{lab.token()[:16]}"}
    said = {
        "without": said_to(elbv2.register_targets, TargetGroupArn=arn, Targets=[target]),
        "with": said_to(elbv2.register_targets, TargetGroupArn=arn, Targets=[with_id]),
    }
    elbv2.deregister_targets(TargetGroupArn=arn, Targets=[target])
    return compared(said, {"without": {"ValidationError", "InvalidTarget"}, "with": {"success"}})


@TRIALS.of("targets")
def targets(lab: Lab) -> Seen:
    """Register an unknown, a pending and a running instance; deregister one twice."""
    elbv2 = lab.account.elbv2
    group = elbv2.create_target_group(
        Name=f"cpi-{lab.token()[:20]}",
        Protocol="TCP",
        Port=80,
        VpcId=lab.network.vpc_id,
        TargetType="instance",
    )
    arn = group["TargetGroups"][0]["TargetGroupArn"]
    running = lab.instance_id
    pending = lab.launch()["InstanceId"]
    said = {
        "unknown": said_to(elbv2.register_targets, TargetGroupArn=arn, Targets=[{"Id": f"i-{UNKNOWN}"}]),
        "pending": said_to(elbv2.register_targets, TargetGroupArn=arn, Targets=[{"Id": pending}]),
        "running": said_to(elbv2.register_targets, TargetGroupArn=arn, Targets=[{"Id": running}]),
        "deregistered": said_to(elbv2.deregister_targets, TargetGroupArn=arn, Targets=[{"Id": running}]),
        "again": said_to(elbv2.deregister_targets, TargetGroupArn=arn, Targets=[{"Id": running}]),
    }
    lab.terminate(pending)
    return compared(
        said,
        {
            "unknown": {"InvalidTarget"},
            "pending": {"InvalidTarget", "success"},
            "running": {"success"},
            "deregistered": {"success"},
            "again": {"success", "InvalidTarget"},
        },
    )
