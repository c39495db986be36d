"""Targets of target groups, and the tags with which a VM records those that ELB does not find by its id.

ELB deregisters a terminated instance that is registered by its id. It does neither deregister an address, nor
list an instance's ports or the groups that have an address: so the instance itself records them.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from bosh_aws_cpi.records import Record

TAG: Final = "bosh_target_"
"""What the keys of these tags begin with: bosh_target_GROUP_PORT = "ARN TARGET"."""
_VALUE: Final = re.compile(r"(arn:[\w:/-]+) (i-[0-9a-f]+|[0-9.]+|[0-9a-f:.]*:[0-9a-f:.]*)", re.ASCII)
"""Nothing else: messages quote both parts in a command for a shell."""


class Target(Record):
    """A VM in a target group."""

    group_arn: str
    target_id: str
    """The instance's id, or an IP address of it."""
    port: int | None = None
    """None for an instance at the group's own port."""

    def __str__(self) -> str:
        shown = f"[{self.target_id}]" if ":" in self.target_id else self.target_id
        return f"'{shown}:{self.port}'" if self.port else f"'{shown}'"

    @property
    def is_address(self) -> bool:
        """Whether it is registered by an address, which ELB keeps when the instance is terminated."""
        return not self.target_id.startswith("i-")

    @property
    def removal(self) -> str:
        """The command with which an operator deregisters it."""
        return (
            f"aws elbv2 deregister-targets --target-group-arn {self.group_arn} "
            f"--targets Id={self.target_id},Port={self.port}"
        )


def tags_of(targets: Iterable[Target]) -> dict[str, str]:
    """The tags that record targets; those that ELB finds by the instance's id have none."""
    return {
        f"{TAG}{target.group_arn.rpartition('/')[2]}_{target.port}": f"{target.group_arn} {target.target_id}"
        for target in targets
        if target.port is not None
    }


def is_record(key: str) -> bool:
    """Whether a tag's key is one of these."""
    return re.fullmatch(rf"{TAG}[0-9a-f]+_[0-9]+", key) is not None


def recorded(tags: Mapping[str, str]) -> Iterator[Target]:
    """The targets that an instance's tags record, whoever wrote them; a tag of another form is none."""
    for key, value in tags.items():
        if is_record(key) and (found := _VALUE.fullmatch(value)):
            yield Target(found[1], found[2], int(key.rpartition("_")[2]))
