"""One call to each service."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from bosh_aws_cpi.aws.sdk.clients import Clients

CALLS: dict[str, Callable[[Clients], object]] = {
    "ec2": lambda clients: clients.ec2.describe_instances(),
    "elb": lambda clients: clients.elb.describe_load_balancers(),
    "elbv2": lambda clients: clients.elbv2.describe_target_groups(),
    "ebs": lambda clients: clients.ebs.start_snapshot(VolumeSize=1),
    "sts": lambda clients: clients.sts.get_caller_identity(),
}
