"""Making an instance run: one offer after the other, and again when EC2 itself ends it.

The same create_vm may be made twice: a Director repeats it, or our process was killed in the
middle of it. Each launch carries a client token made of the agent's id, so EC2 answers the
repetition with the instance that is there. A token whose instance is gone is spent for at
least a day; then the next *generation* of it is used.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bosh_aws_cpi.aws import instances, network_interfaces
from bosh_aws_cpi.aws.cleanup import in_turn
from bosh_aws_cpi.aws.errors import described
from bosh_aws_cpi.aws.instances import Ended, NoCapacity, TokenSpent
from bosh_aws_cpi.cpi.addresses import AddressTaken, claiming
from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.cpi.interfaces import nic_failed
from bosh_aws_cpi.cpi.launch_plan import LaunchPlan
from bosh_aws_cpi.cpi.undo import Undo
from bosh_aws_cpi.errors import VMCreationFailed
from bosh_aws_cpi.log import logger
from bosh_aws_cpi.model import Instance, Json, Nic
from bosh_aws_cpi.plan import agent_settings, nics, run_instances
from bosh_aws_cpi.plan import tags as tag_plan
from bosh_aws_cpi.plan.offers import Offer
from bosh_aws_cpi.plan.tokens import client_token

MAX_RELAUNCHES = 2
"""How often an instance that EC2 ended for a reason of its own is launched again."""
MAX_GENERATIONS = 20
"""Instances of earlier calls that may stand behind the client tokens of one offer."""
_BY_US = "Client.UserInitiatedShutdown"
"""The reason of an instance that TerminateInstances ended: an earlier call that failed."""
_SHORTAGES = frozenset({"Server.InsufficientInstanceCapacity", "Server.SpotInstanceTermination"})


@dataclass(frozen=True)
class Launched:
    """An instance that runs, and which offer it came from."""

    instance: Instance
    offer: Offer


class Launching:
    """The launches of one create_vm.

    Args:
        cloud: The call's cloud.
        plan: The VM.
        made: The interfaces that were made before; none when there is one that is made with it.
        undo: Where the removal of each instance is armed.
    """

    def __init__(self, cloud: Cloud, plan: LaunchPlan, made: Sequence[Nic], undo: Undo) -> None:
        self._cloud = cloud
        self._plan = plan
        self._made = made
        self._undo = undo
        self._relaunches = MAX_RELAUNCHES
        self._answers: list[tuple[Offer, VMCreationFailed]] = []

    def run(self) -> Launched:
        """Launch until an instance runs.

        Raises:
            CloudError: EC2 refused the launch, or its interface's address belongs to somebody else.
            VMCreationFailed: No offer is to be had, or EC2 ended what it had launched.
        """
        offers, generation = self._offers()
        for position, offer in enumerate(offers):
            has_more = position + 1 < len(offers)
            if launched := self._try(offer, generation, has_more=has_more):
                return launched
            generation = 0
        raise self._exhausted()

    def _offers(self) -> tuple[list[Offer], int]:
        """The offers to try, and the generation to begin with.

        With several, the same create_vm may have got further down the list before it was cut off:
        what it launched comes first. With a single one its client token says it all.
        """
        offers = list(self._plan.offers)
        if len(offers) == 1:
            return offers, 0
        alive = {entry.client_token for entry in self._instances() if not entry.is_ending}
        for offer in offers:
            for generation in range(MAX_GENERATIONS):
                if self._token(offer, generation) in alive:
                    logger.info("This VM was launched before, as %s", offer)
                    return [offer, *(other for other in offers if other is not offer)], generation
        return offers, 0

    def _try(self, offer: Offer, generation: int, *, has_more: bool) -> Launched | None:
        """Launch one offer; None when it is not to be had and another one is worth trying."""
        following: int | None = generation
        while following is not None and following < MAX_GENERATIONS:
            generation = following
            try:
                launched = self._launch(offer, generation, has_more=has_more)
                nic_count = len(self._plan.nic_plans)
                running = instances.wait_until_running(self._cloud.ec2, launched.vm_cid, nic_count)
                return Launched(running, offer)
            except NoCapacity as error:
                self._note(offer, error)
                return None
            except TokenSpent as error:
                logger.info("An earlier launch stands behind the client token: %s", error)
                following = self._generation_after(offer, generation)
            except Ended as error:
                following = self._after_end(offer, generation, error, has_more=has_more)
        if following is None:
            return None
        message = f"{MAX_GENERATIONS} instances were launched for this VM before; none of them is left"
        raise VMCreationFailed(message)

    def _launch(self, offer: Offer, generation: int, *, has_more: bool) -> Instance:
        """RunInstances, as soon as the address is free.

        Raises:
            CloudError: EC2 refuses it.
            NoCapacity: It is not to be had, or a spot launch failed in another way: on demand it may go.
            TokenSpent: The client token can't be used for this launch.
        """
        cloud = self._cloud
        arguments = self._arguments(offer, self._token(offer, generation))
        logger.info("Launching %s", offer)

        def make() -> Instance:
            return self._undo.make(
                lambda: instances.run(cloud.ec2, arguments),
                lambda made: _discard(cloud, made.vm_cid),
            )

        nic_plan = self._plan.nic_plans[0]
        try:
            if self._made:
                return make()
            return claiming(cloud, nic_plan.subnet_id, nic_plan.addresses, make)
        except AddressTaken as error:
            raise nic_failed(nic_plan, error.message) from error
        except cloud.ec2.exceptions.ClientError as error:
            if offer.is_spot:
                raise NoCapacity(described(error)) from error
            raise
        except NoCapacity:
            raise
        except VMCreationFailed as error:  # AWS is at fault, or throttles
            if offer.is_spot and has_more:
                raise NoCapacity(error.message, ok_to_retry=True) from error
            raise

    def _after_end(self, offer: Offer, generation: int, error: Ended, *, has_more: bool) -> int | None:
        """What to do about an instance that is ended: the next generation, or None for the next offer.

        Raises:
            Ended: It is no use to launch it again.
        """
        used = self._used(offer)
        if error.code == _BY_US or any(later > generation for later in used):
            logger.info("Instance '%s' was an earlier call's", error.instance.vm_cid)
            return _following(generation, used)
        if not error.ok_to_retry:
            raise error
        goes_on = has_more and (offer.is_spot or error.code in _SHORTAGES)
        if not (goes_on or self._relaunches):
            raise error
        self._wait_for_interfaces()
        if goes_on:
            self._note(offer, error)
            return None
        self._relaunches -= 1
        logger.warning("Launching it again: %s", error.message)
        return generation + 1

    def _generation_after(self, offer: Offer, generation: int) -> int:
        used = self._used(offer)
        if generation in used and not used[generation].is_ending:
            vm_cid = used[generation].vm_cid
            logger.warning("Instance '%s' was made for this agent with other arguments; it is left", vm_cid)
        return _following(generation, used)

    def _used(self, offer: Offer) -> dict[int, Instance]:
        """The instances that EC2 still shows of this offer, by generation."""
        by_token = {entry.client_token: entry for entry in self._instances()}
        tokens = {generation: self._token(offer, generation) for generation in range(MAX_GENERATIONS)}
        return {generation: by_token[token] for generation, token in tokens.items() if token in by_token}

    def _instances(self) -> list[Instance]:
        return instances.of_agent(self._cloud.ec2, tag_plan.of_origin(*self._plan.identity))

    def _token(self, offer: Offer, generation: int) -> str:
        return client_token("instance", *self._plan.identity, offer, generation)

    def _wait_for_interfaces(self) -> None:
        """Until EC2 has taken the interfaces off an instance that it ended."""
        for nic in self._made:
            try:
                network_interfaces.wait_until_usable(self._cloud.ec2, nic.nic_id, lambda _: False)
            except network_interfaces.NicGone as error:
                raise VMCreationFailed(error.message, ok_to_retry=True) from error

    def _arguments(self, offer: Offer, token: str) -> Json:
        plan = self._plan
        if self._made:
            interfaces = [nics.attached_specification(n, nic.nic_id) for n, nic in enumerate(self._made)]
        else:
            is_public = plan.blueprint.properties.auto_assign_public_ip
            interfaces = [nics.inline_specification(plan.nic_plans[0], plan.group_ids, is_public=is_public)]
        is_registry_used = self._cloud.registry.is_used
        macs = mac_addresses(plan, self._made)
        return run_instances.arguments(
            plan.blueprint,
            offer,
            interfaces=interfaces,
            user_data=agent_settings.user_data(
                plan.facts_for(offer), macs, is_registry_used=is_registry_used
            ),
            client_token=token,
        )

    def _note(self, offer: Offer, answer: VMCreationFailed) -> None:
        logger.warning("%s is not to be had: %s", offer, answer.message)
        self._answers.append((offer, answer))

    def _exhausted(self) -> VMCreationFailed:
        offer, answer = self._answers[-1]
        if len(self._plan.offers) > 1:
            listed = "; ".join(f"{offer}: {answer.message}" for offer, answer in self._answers)
            message = f"None of the VM's instance types is to be had. {listed}"
            return VMCreationFailed(message, ok_to_retry=any(each.ok_to_retry for _, each in self._answers))
        if offer.is_spot:
            message = (
                f"Spot instance creation failed, and spot_ondemand_fallback is not set: {answer.message}"
            )
            return VMCreationFailed(message)
        return answer


def mac_addresses(plan: LaunchPlan, made: Sequence[Nic]) -> Mapping[str, str]:
    """MAC address by network, for the interfaces that were made before the launch."""
    return nics.mac_addresses(plan.nic_plans, [nic.mac_address for nic in made])


def _following(generation: int, used: Mapping[int, Instance]) -> int:
    """The next generation: one whose instance is alive, else the first that was never used."""
    alive = [later for later, entry in used.items() if later > generation and not entry.is_ending]
    return min(alive) if alive else max([generation, *used]) + 1


def _discard(cloud: Cloud, vm_cid: str) -> None:
    """Remove the instance and its settings: the registry may have taken some whose answer was lost."""
    in_turn(lambda: instances.discard(cloud.ec2, vm_cid), lambda: cloud.registry.delete(vm_cid))
