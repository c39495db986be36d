"""EC2's answers to the launches of one create_vm: what can still be tried, and the error when nothing can."""

from bosh_aws_cpi.aws.launches import Ended, NoCapacity, SubnetFull
from bosh_aws_cpi.errors import VMCreationFailed
from bosh_aws_cpi.log import logger
from bosh_aws_cpi.plan.launch_options import LaunchOption


class Answers:
    """The answers, in their order.

    Capacity depends on instance type, market and zone, so a type without capacity is not tried in another
    subnet of the zone. Free addresses depend on the subnet, so a full subnet is not tried with another type.
    """

    def __init__(self) -> None:
        self._noted: list[tuple[LaunchOption, NoCapacity | Ended | SubnetFull]] = []

    def note(self, option: LaunchOption, answer: NoCapacity | Ended | SubnetFull) -> None:
        """Note that EC2 can't launch an option, and why."""
        logger.warning("EC2 can't launch %s: %s", option, answer.said)
        self._noted.append((option, answer))

    def allow(self, option: LaunchOption) -> bool:
        """Whether an option may work, as far as the answers tell."""
        return not any(
            option.subnet_id == other.subnet_id if isinstance(answer, SubnetFull) else option.way == other.way
            for other, answer in self._noted
        )

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


def _shown(noted: tuple[LaunchOption, NoCapacity | Ended | SubnetFull]) -> str:
    option, answer = noted
    label = option.subnet_id if isinstance(answer, SubnetFull) else ""
    return f"{label or option}: {answer.said}"
