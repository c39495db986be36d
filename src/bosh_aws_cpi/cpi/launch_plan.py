"""A VM that was checked and planned and is to be made."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bosh_aws_cpi.cpi.exposure import Exposure
from bosh_aws_cpi.model import NicPlan
from bosh_aws_cpi.plan.agent_settings import VmFacts
from bosh_aws_cpi.plan.offers import Offer
from bosh_aws_cpi.plan.run_instances import Blueprint


@dataclass(frozen=True)
class LaunchPlan:
    """All that create_vm knows before it makes the first thing."""

    blueprint: Blueprint
    facts: VmFacts
    offers: Sequence[Offer]
    """The ways in which it may be launched, in the order in which they are tried."""
    nic_plans: Sequence[NicPlan]
    nics_first: bool
    """Whether the interfaces are made before the instance; else there is one, made with it."""
    group_ids: Sequence[str]
    exposure: Exposure
    director_uuid: str | None

    @property
    def identity(self) -> tuple[str, str]:
        """What the same create_vm has in common with its repetition, and with no other."""
        return self.director_uuid or "", self.facts.agent_id

    def facts_for(self, offer: Offer) -> VmFacts:
        """What the agent's settings are made of, when this offer is launched."""
        return replace(self.facts, devices=offer.devices)
