"""The permutations that the V1-to-V2 migration guide asks a CPI's pipeline for, as one table.

The guide ("Migrating from V1 to V2 of the CPI API contract") wants all contracts with all stemcells in
"Reference pipeline", and describes each in "V2 flow depending on registry availability". V3 and stemcell 3
came later; both are like 2 here.
"""

import enum
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from testbed.cloud import FakeAws
from testbed.demo import network
from testbed.executable import Answer, Cpi, config
from testbed.registry import PASSWORD, USER, Registry
from testbed.world import World


class Place(enum.Enum):
    """Where create_vm writes the settings that the agent boots with."""

    USER_DATA = enum.auto()
    REGISTRY = enum.auto()
    REFUSED = enum.auto()
    """Nowhere: the agent needs a registry, and none is configured."""


@dataclass(frozen=True)
class Permutation:
    """One row of the table.

    Attributes:
        contract: The highest contract that `info` announces, by `debug.cpi.api_version`; callers use it.
        stemcell: The stemcell's api_version.
        has_registry: Whether a registry is configured.
        place: Where the agent's settings are.
    """

    contract: int
    stemcell: int
    has_registry: bool
    place: Place

    def __str__(self) -> str:
        registry = "registry" if self.has_registry else "none"
        return f"V{self.contract}-stemcell{self.stemcell}-{registry}"


CONTRACTS: Final = (1, 2, 3)
STEMCELLS: Final = (1, 2, 3)
_PLACES: Final = {
    (1, 1): (Place.REGISTRY, Place.REFUSED),
    (1, 2): (Place.REGISTRY, Place.REFUSED),
    (1, 3): (Place.REGISTRY, Place.REFUSED),
    (2, 1): (Place.REGISTRY, Place.REFUSED),
    (2, 2): (Place.USER_DATA, Place.USER_DATA),
    (2, 3): (Place.USER_DATA, Place.USER_DATA),
    (3, 1): (Place.REGISTRY, Place.REFUSED),
    (3, 2): (Place.USER_DATA, Place.USER_DATA),
    (3, 3): (Place.USER_DATA, Place.USER_DATA),
}
"""By contract and stemcell: with a registry, and without."""
TABLE: Final = tuple(
    Permutation(contract, stemcell, has_registry=has_registry, place=place)
    for (contract, stemcell), places in _PLACES.items()
    for has_registry, place in zip((True, False), places, strict=True)
)


def placed(*places: Place) -> list[Permutation]:
    """List the rows whose settings are in one of these places."""
    return [each for each in TABLE if each.place in places]


class Caller:
    """The executable as a permutation configures it, and calls as its Director makes them."""

    def __init__(
        self,
        permutation: Permutation,
        fake_aws: FakeAws,
        registry: Registry,
        agent: Mapping[str, Any] | None = None,
    ) -> None:
        """Configure it; the registry only if the permutation has one.

        Args:
            permutation: The row.
            fake_aws: The stand-in for AWS.
            registry: The registry, which runs in either case.
            agent: The agent section, in place of the default one.
        """
        self.permutation = permutation
        section = {"endpoint": registry.endpoint, "user": USER, "password": PASSWORD}
        used = section if permutation.has_registry else None
        document = config(fake_aws.endpoint, registry=used, agent=agent)
        self.agent: dict[str, Any] = document["cloud"]["properties"]["agent"]
        document["cloud"]["properties"]["debug"] = {"cpi": {"api_version": permutation.contract}}
        self._cpi = Cpi(document)

    def announced(self) -> int:
        """Ask `info` for the contract, as callers do before each call: without a version."""
        version: int = self._cpi.call("info", api_version=None).ok()["api_version"]
        return version

    def call(self, method: str, *arguments: Any) -> Answer:
        """Call a method in the permutation's contract, for a VM of its stemcell."""
        row = self.permutation
        return self._cpi.call(method, *arguments, api_version=row.contract, stemcell=row.stemcell)


def vm_arguments(world: World, env: Mapping[str, Any]) -> list[Any]:
    """Return the arguments of create_vm, for a VM with one network."""
    properties = {"instance_type": "m5.large", "availability_zone": world.zone}
    return ["agent-1", f"{world.image_id} light", properties, network(world), [], env]


def created_vm(permutation: Permutation, result: Any, networks: Mapping[str, Any]) -> str:
    """Check the shape of create_vm's result, and return the VM's id.

    In V1 it is the id, from V2 on an array of the id and the networks.
    """
    if permutation.contract == 1:
        assert isinstance(result, str)
        return result
    vm_cid, network_info = result
    assert network_info == networks
    assert isinstance(vm_cid, str)
    return vm_cid


def without_name(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Check the VM's name in full settings, and return the rest of them."""
    name = settings["vm"]["name"]
    assert settings["vm"] == {"name": name}
    assert name == f"vm-{uuid.UUID(name.removeprefix('vm-'))}"
    assert uuid.UUID(name.removeprefix("vm-")).version == 5
    return {key: value for key, value in settings.items() if key != "vm"}
