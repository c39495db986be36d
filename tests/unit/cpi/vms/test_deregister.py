"""Deregistering a VM from its load balancers before it is deleted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from botocore.exceptions import EndpointConnectionError

from bosh_aws_cpi.cpi.vms.deregister import deregister

if TYPE_CHECKING:
    import pytest

    from bosh_aws_cpi.cpi.cloud import Cloud
    from tests.unit.conftest import Clock, Ec2, ProgramLog, Stub

VM = "i-1"
ARNS = ["arn:a", "arn:b"]
HEALTHY = [{"TargetHealth": {"State": "healthy"}}]
DRAINING = [{"TargetHealth": {"State": "draining", "Reason": "Target.DeregistrationInProgress"}}]


def target(arn: str) -> dict[str, Any]:
    """Name the VM as a target."""
    return {"TargetGroupArn": arn, "Targets": [{"Id": VM}]}


def lay_instance(ec2: Ec2, vpc_id: str | None = "vpc-1") -> None:
    """Lay out DescribeInstances; a terminated VM has no VPC."""
    more = {"VpcId": vpc_id} if vpc_id else {}
    entry = {"InstanceId": VM, "State": {"Name": "running"}, "InstanceType": "t", **more}
    ec2.answers("describe_instances", {"Reservations": [{"Instances": [entry]}]}, InstanceIds=[VM])


def lay_load_balancers(elb: Stub, *names: str) -> None:
    """Lay out that the VM is deregistered from these classic load balancers."""
    found = [{"LoadBalancerName": name, "Instances": [{"InstanceId": VM}]} for name in names]
    elb.answers("describe_load_balancers", {"LoadBalancerDescriptions": found})
    for name in names:
        instances = [{"InstanceId": VM}]
        elb.answers("deregister_instances_from_load_balancer", LoadBalancerName=name, Instances=instances)


def lay_target_groups(elbv2: Stub, *arns: str) -> None:
    """Lay out that the VM is in these target groups."""
    found = [{"TargetGroupArn": arn, "VpcId": "vpc-1", "TargetType": "instance"} for arn in arns]
    elbv2.answers("describe_target_groups", {"TargetGroups": found})
    for arn in arns:
        elbv2.answers("describe_target_health", {"TargetHealthDescriptions": HEALTHY}, **target(arn))


def errors(program_log: ProgramLog) -> list[str]:
    """List the errors in the log."""
    return [record.text for record in program_log.records if record.level == "ERROR"]


def test_one_of_several_refused(
    cloud: Cloud, ec2: Ec2, elb: Stub, elbv2: Stub, clock: Clock, program_log: ProgramLog
) -> None:
    """After a refusal the VM is deregistered from the others; the wait covers only those."""
    lay_instance(ec2)
    found = [{"LoadBalancerName": name, "Instances": [{"InstanceId": VM}]} for name in ("c", "d")]
    elb.answers("describe_load_balancers", {"LoadBalancerDescriptions": found})
    for name, call in (("c", elb.refuses), ("d", elb.answers)):
        said: tuple[Any, ...] = ("AccessDenied", "no") if name == "c" else ()
        sent = {"LoadBalancerName": name, "Instances": [{"InstanceId": VM}]}
        call("deregister_instances_from_load_balancer", *said, **sent)
    lay_target_groups(elbv2, *ARNS)
    elbv2.refuses("deregister_targets", "AccessDenied", "no", **target(ARNS[0]))
    elbv2.answers("deregister_targets", **target(ARNS[1]))
    for states in (DRAINING, []):
        elbv2.answers("describe_target_health", {"TargetHealthDescriptions": states}, **target(ARNS[1]))
    deregister(cloud, VM)
    assert [said.split(": ")[1] for said in errors(program_log)] == [
        "deregistering from 'c'",
        f"deregistering '{VM}' from '{ARNS[0]}'",
    ]
    assert len(clock.pauses) == 1


def test_no_answer(
    cloud: Cloud,
    ec2: Ec2,
    elbv2: Stub,
    program_log: ProgramLog,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An endpoint that can't be reached is logged, and is no error."""

    def fail(*_: object) -> list[str]:
        raise EndpointConnectionError(endpoint_url="http://h/")

    monkeypatch.setattr("bosh_aws_cpi.aws.load_balancers.load_balancers_of", fail)
    lay_instance(ec2)
    lay_target_groups(elbv2)
    deregister(cloud, VM)
    (said,) = errors(program_log)
    assert said.startswith(
        "Deregistration failed, the VM is terminated anyway: finding classic load balancers: "
    )
    assert "EndpointConnectionError" in said


def test_never_drained(
    cloud: Cloud,
    ec2: Ec2,
    elb: Stub,
    elbv2: Stub,
    program_log: ProgramLog,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The end of the wait for draining is logged, and is no error."""
    answer = {"TargetHealthDescriptions": DRAINING}
    monkeypatch.setattr(elbv2.client, "describe_target_health", lambda **_: answer)
    lay_instance(ec2)
    lay_load_balancers(elb)
    found = [{"TargetGroupArn": ARNS[0], "VpcId": "vpc-1", "TargetType": "instance"}]
    elbv2.answers("describe_target_groups", {"TargetGroups": found})
    elbv2.answers("deregister_targets", **target(ARNS[0]))
    deregister(cloud, VM)
    (said,) = errors(program_log)
    assert "Timed out after 330 seconds" in said
