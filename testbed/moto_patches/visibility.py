"""Eventual consistency: some parts of AWS do not know a new resource at first.

A resource that a rule makes `unseen` is hidden from moto while it answers a call that looks for the
resource: any call that names its id, and calls that describe its kind by filters. moto then answers
that the resource does not exist, with the error code of its kind, and leaves it out of lists. Calls
that list everything see it. A placement group is hidden by its name, which launches and filters have;
so is an instance profile.
"""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from moto.ec2.models import ec2_backends
from moto.iam.models import iam_backends

from testbed.protocols import REST, Call

DESCRIBED = {
    "DescribeImages": "ami",
    "DescribeInstances": "i",
    "DescribeInstanceStatus": "i",
    "DescribeNetworkInterfaces": "eni",
    "DescribeSnapshots": "snap",
    "DescribeSubnets": "subnet",
    "DescribeVolumes": "vol",
    "DescribeVolumeStatus": "vol",
    "DescribeVolumesModifications": "vol",
}
"""The calls that take filters, with the prefix of the ids that they look for."""


class Unseen:
    """Hidden resources, and how many lookups fail until each is visible."""

    def __init__(self) -> None:
        self._looks: dict[str, int] = {}

    @contextmanager
    def during(self, call: Call, looks: int) -> Iterator[None]:
        """Hide the resources that a call looks for while moto answers it.

        Args:
            call: The call.
            looks: How many lookups of the call's new resource fail; 0: it is visible at once.
        """
        with hidden(self._looked_for(call)):
            before = existing() if looks else set()
            yield
        if looks:
            self._looks.update(dict.fromkeys(existing() - before, looks))

    def forget(self) -> None:
        """Hide nothing any more."""
        self._looks = {}

    def _looked_for(self, call: Call) -> list[str]:
        """List the resources for which this lookup fails."""
        if call.service in REST:  # the EBS direct APIs know their snapshots at once
            return []
        looks, named = self._looks, set(call.parameters.values())
        kind = DESCRIBED.get(call.action) if "Filter.1.Name" in call.parameters else None
        found = [each for each in looks if each in named or each.split("-")[0] == kind]
        for identifier in found:
            looks[identifier] -= 1
            if not looks[identifier]:
                del looks[identifier]
        return found


def existing() -> set[str]:
    """Collect the ids of all resources that can be hidden."""
    ids = {instance.id for backend in _backends() for instance in backend.all_instances()}
    ids |= {profile.name for profiles in _profiles() for profile in profiles.values()}
    return ids.union(*(collection for backend in _backends() for collection in _collections(backend)))


@contextmanager
def hidden(identifiers: Iterable[str]) -> Iterator[None]:
    """Take resources out of moto's collections for a while."""
    with ExitStack() as stack:
        for identifier in identifiers:
            for backend in _backends():
                for collection in _collections(backend):
                    if identifier in collection:
                        stack.callback(collection.__setitem__, identifier, collection.pop(identifier))
                _hide_instance(backend, identifier, stack)
            for profiles in _profiles():
                for key in [key for key, profile in profiles.items() if profile.name == identifier]:
                    stack.callback(profiles.__setitem__, key, profiles.pop(key))
        yield


def _hide_instance(backend: Any, identifier: str, stack: ExitStack) -> None:
    for reservation in backend.reservations.values():
        for instance in reservation.instances:
            if instance.id == identifier:
                stack.callback(setattr, reservation, "instances", reservation.instances)
                reservation.instances = [each for each in reservation.instances if each is not instance]


def _backends() -> list[Any]:
    return [backend for regions in ec2_backends.values() for backend in regions.values()]


def _profiles() -> list[dict[str, Any]]:
    return [backend.instance_profiles for regions in iam_backends.values() for backend in regions.values()]


def _collections(backend: Any) -> list[dict[str, Any]]:
    groups = vars(backend).get("testbed_placement_groups", {})
    return [backend.volumes, backend.snapshots, backend.amis, backend.enis, groups, *backend.subnets.values()]
