"""The account's quotas."""

from __future__ import annotations

from typing import TYPE_CHECKING

from acceptance.trials.trial import Seen, Trials
from bosh_aws_cpi.aws import instance_types

if TYPE_CHECKING:
    from acceptance.lab import Lab

TRIALS = Trials()


@TRIALS.of("vcpu-quotas")
def vcpu_quotas(lab: Lab) -> Seen:
    """List the quotas of EC2, and compare their ARNs' account with the one of the keys."""
    found = instance_types.quotas(lab.account.create_client("service-quotas"))
    account = lab.account.create_client("sts").get_caller_identity()["Account"]
    names = [name for name in found.values if name.startswith("Running On-Demand Standard (")]
    agrees = len(names) == 1 and found.account == account
    whose = "the keys'" if found.account == account else f"'{found.account}'"
    return Seen(
        agrees, f"{len(found.values)} quotas, {', '.join(names) or 'none for Standard'}; account {whose}"
    )
