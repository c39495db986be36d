"""The hashes of a document, with their models; where a key belongs that stands at another level. Pure."""

from collections.abc import Iterator, Sequence
from typing import Final

from bosh_aws_cpi.properties.disk import DiskProperties
from bosh_aws_cpi.properties.network import NetworkCloudProperties
from bosh_aws_cpi.properties.types import Properties
from bosh_aws_cpi.properties.vm import VmProperties
from bosh_aws_cpi.records import Record
from bosh_aws_cpi.tools.checks.bosh.models import Network, keys_in, of_network
from bosh_aws_cpi.tools.checks.documents import Node

_FEW: Final = (1, 2)
"""With more places for a key, none is proposed."""
_OWNERS: Final = {
    "VM types": VmProperties,
    "networks or their subnets": NetworkCloudProperties,
    "disk types": DiskProperties,
}


class Level(Record):
    """A hash.

    Attributes:
        node: Where it is.
        model: The model that reads it.
        above: The hash around it.
    """

    node: Node
    model: type[Properties]
    above: "Level | None" = None

    def within(self, others: Sequence[Node] = ()) -> "Iterator[Level]":
        """It, and the hashes in it.

        Args:
            others: The entries whose cloud properties are another CPI's, and so are left out.
        """
        yield self
        for entry in self.node.entries():
            key = str(entry.route[-1])
            inner = keys_in(self.model).get(key)
            if inner is None or (key == "cloud_properties" and any(map(self.node.is_within, others))):
                continue
            for each in entry.entries() if isinstance(entry.value, list) else [entry]:
                if isinstance(each.value, dict):
                    model = of_network(each.value) if inner is Network else inner
                    yield from Level(each, model, self).within(others)

    def elsewhere(self, key: str) -> str:
        """The remedy for a key that is ignored here, and known at another level; empty if it is not."""
        for outer, beside in self._around():
            if key in keys_in(outer.model) and outer.node.child(key) is None:
                return f"Move it up, beside {beside}"
        inner = _below(self.model, key)
        if len(inner) in _FEW:
            return f"Move it into {' or '.join(inner)}"
        owners = [words for words, model in _OWNERS.items() if key in keys_in(model)]
        if self.model in _OWNERS.values() and len(owners) == 1:
            return f"Move it into the cloud_properties of {owners[0]}"
        return ""

    def misplaced(self, key: str) -> str:
        """The remedy for an absent key that stands one level higher or lower; empty if it does not."""
        for outer, beside in self._around():
            if key not in keys_in(outer.model) and outer.node.child(key) is not None:
                return f"Move it down: it stands beside {beside}"
        for child in self.node.entries():
            inner = keys_in(self.model).get(str(child.route[-1]))
            if inner is not None and key not in keys_in(inner) and child.child(key) is not None:
                return f"Move it up: it stands in {child.route[-1]}"
        return ""

    def _around(self) -> "Iterator[tuple[Level, str | int]]":
        """The hashes around it, from the nearest on, and their keys that lead here."""
        outer = self.above
        while outer is not None:
            yield outer, self.node.route[len(outer.node.route)]
            outer = outer.above


def _below(model: type[Properties], key: str) -> list[str]:
    """The nearest hashes in a hash that have a key."""
    inner = {name: each for name, each in keys_in(model).items() if each is not None}
    found = [name for name, each in inner.items() if key in keys_in(each)]
    return found or [f"{rest} of {name}" for name, each in inner.items() for rest in _below(each, key)]
