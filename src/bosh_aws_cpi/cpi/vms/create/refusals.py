"""What EC2 refused of a VM's launch options, and which others need no attempt for that reason."""

from bosh_aws_cpi.aws.launches import GroupFailed, Refused, SubnetFull
from bosh_aws_cpi.errors import VMCreationFailed
from bosh_aws_cpi.log import logger
from bosh_aws_cpi.plan.launch_options import LaunchOption


class Refusals:
    """EC2's refusals of launch options, in their order.

    Capacity depends on instance type, market and zone, so a type without capacity is not tried in another
    subnet of the zone. Free addresses depend on the subnet, so a full subnet is not tried with another type.
    Nor is a full spread placement group.
    """

    def __init__(self) -> None:
        self._noted: list[tuple[LaunchOption, Refused]] = []

    def note(self, option: LaunchOption, answer: Refused) -> None:
        """Note that EC2 can't launch an option, and why."""
        logger.warning("EC2 can't launch %s: %s", option, answer.said)
        self._noted.append((option, answer))

    def allow(self, option: LaunchOption) -> bool:
        """Whether an option may work, as far as the answers tell."""
        return not any(_rules_out(other, answer, option) for other, answer in self._noted)

    def error(self) -> VMCreationFailed:
        """The error when no option is left; a single answer, to however many options, is the error itself."""
        option, answer = self._noted[-1]
        if len(self._noted) > 1:
            is_retriable = any(each.ok_to_retry for _, each in self._noted)
            return VMCreationFailed(self._summary(), ok_to_retry=is_retriable)
        if option.is_spot and not isinstance(answer, SubnetFull):
            why = "Spot instance creation failed, and spot_ondemand_fallback is not set"
            return VMCreationFailed(f"{why}: {answer.message}")
        return answer

    def _summary(self) -> str:
        listed = "; ".join(map(_shown, self._noted))
        full = [isinstance(answer, SubnetFull) for _, answer in self._noted]
        if all(isinstance(answer, GroupFailed) for _, answer in self._noted):
            answer = self._noted[-1][1]
            return listed + answer.message.removeprefix(answer.said)
        if all(full):
            return (
                "No free address in any of the network's subnets: use larger ones, delete resources in "
                f"them, or add subnets to subnet_fallbacks. {listed}"
            )
        if any(full):
            return (
                "Some subnets are full, and EC2 has no capacity for the VM's instance types in the others. "
                f"{listed}"
            )
        return f"No capacity for any of the VM's instance types. {listed}"


def _rules_out(refused: LaunchOption, answer: Refused, option: LaunchOption) -> bool:
    """Whether an answer to one option says that another one does not work either."""
    if isinstance(answer, SubnetFull):
        return option.subnet_id == refused.subnet_id
    if isinstance(answer, GroupFailed):
        return not option.is_outside and option.zone == refused.zone
    return option.offer == refused.offer


def _shown(noted: tuple[LaunchOption, Refused]) -> str:
    option, answer = noted
    label = option.subnet_id if isinstance(answer, SubnetFull) else ""
    return f"{label or option}: {answer.said}"
