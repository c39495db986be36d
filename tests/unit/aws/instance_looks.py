"""An EC2 instance as EC2 shows it, one look after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.unit.conftest import Ec2

VM = "i-0123456789abcdef0"
IDS = {"InstanceIds": [VM]}
NOT_FOUND = "InvalidInstanceID.NotFound"


def entry(state: str = "running", **more: Any) -> dict[str, Any]:
    """Describe the instance."""
    return {"InstanceId": VM, "State": {"Name": state}, "InstanceType": "m5.large", **more}


def lay(ec2: Ec2, *states: str | None, **more: Any) -> None:
    """Lay out one look at the instance after the other; none: EC2 does not know it."""
    for state in states:
        if state is None:
            ec2.refuses("describe_instances", NOT_FOUND, **IDS)
        else:
            answer = {"Reservations": [{"Instances": [entry(state, **more)]}]}
            ec2.answers("describe_instances", answer, **IDS)
