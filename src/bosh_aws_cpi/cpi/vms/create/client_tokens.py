"""The client token of each launch, and the instances that earlier calls of the same create_vm have launched.

A Director may retry a create_vm, even if our process was killed in the middle of it. The client token of each
launch is derived from the agent's id, so EC2 answers the retry with the existing instance. A token whose
instance is gone is spent for at least a day, so the next *generation* of the token is used.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from bosh_aws_cpi.aws import instances
from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.log import logger
from bosh_aws_cpi.model import Instance
from bosh_aws_cpi.plan import tags as tag_plan
from bosh_aws_cpi.plan.launch_options import LaunchOption
from bosh_aws_cpi.plan.tokens import client_token

MAX_GENERATIONS: Final = 20
"""The maximum number of client tokens, and so of earlier calls' instances, for one launch option."""


class ClientTokens:
    """The client tokens of one create_vm.

    Args:
        cloud: The call's cloud.
        identity: Director and agent, which are the same for a create_vm and its retry.
    """

    def __init__(self, cloud: Cloud, identity: tuple[str, str]) -> None:
        self._cloud = cloud
        self._identity = identity

    def token(self, option: LaunchOption, generation: int) -> str:
        """The client token of a launch, which is the same in every process."""
        return client_token("instance", *self._identity, option, generation)

    def begin(self, options: Sequence[LaunchOption]) -> tuple[list[LaunchOption], int]:
        """The launch options in the order in which to try them, and the first generation.

        With several options, an earlier call may have got further down the list before it was interrupted:
        the option that it launched comes first. For a single option, the client token suffices.
        """
        if len(options) > 1:
            alive = {entry.client_token for entry in self._instances() if not entry.is_ending}
            for option in options:
                for generation in range(MAX_GENERATIONS):
                    if self.token(option, generation) in alive:
                        logger.info("An earlier call has launched this VM as %s", option)
                        return [option, *(other for other in options if other is not option)], generation
        return list(options), 0

    def launched(self, option: LaunchOption, generation: int) -> Instance | None:
        """The instance of a launch; None while EC2 shows none."""
        return self.used(option).get(generation)

    def used(self, option: LaunchOption) -> dict[int, Instance]:
        """The instances that EC2 still shows of this launch option, by generation."""
        by_token = {entry.client_token: entry for entry in self._instances()}
        tokens = {generation: self.token(option, generation) for generation in range(MAX_GENERATIONS)}
        return {generation: by_token[token] for generation, token in tokens.items() if token in by_token}

    def _instances(self) -> list[Instance]:
        return instances.tagged(self._cloud.ec2, tag_plan.of_origin(*self._identity))


def following(generation: int, used: Mapping[int, Instance]) -> int:
    """The next generation: one whose instance is alive, otherwise the first that was never used."""
    alive = [later for later, entry in used.items() if later > generation and not entry.is_ending]
    return min(alive) if alive else max([generation, *used]) + 1
