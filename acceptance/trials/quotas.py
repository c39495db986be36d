"""The account's quotas."""

from acceptance.lab import Lab
from acceptance.trials.trial import Seen, Trials
from bosh_aws_cpi.aws import capacity

TRIALS = Trials()


@TRIALS.of("vcpu-quotas")
def vcpu_quotas(lab: Lab) -> Seen:
    """List the quotas of EC2."""
    found = capacity.quotas(lab.account.create_client("service-quotas"))
    names = [name for name in found if name.startswith("Running On-Demand Standard (")]
    return Seen(len(names) == 1, f"{len(found)} quotas, {', '.join(names) or 'none for Standard'}")
