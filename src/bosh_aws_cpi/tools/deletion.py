"""Carries out `cpi sweep`: marks, deletes or spares each stray."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final

from bosh_aws_cpi.aws import (
    images,
    instances,
    inventory,
    network_interfaces,
    placement_groups,
    snapshots,
    tags,
    volumes,
)
from bosh_aws_cpi.aws.inventory import Kind, Resource
from bosh_aws_cpi.aws.sdk.errors import FAILURES, described
from bosh_aws_cpi.cpi.vms.deregister import deregister_addresses
from bosh_aws_cpi.errors import BoshError, CloudError
from bosh_aws_cpi.log import logger
from bosh_aws_cpi.records import Record
from bosh_aws_cpi.tools.strays import Action, Inventory, Removal, Stray, Wish, action, mark
from bosh_aws_cpi.tools.sweep_report import FAILED, GONE, NOT_CERTAIN, SPARED, Row

if TYPE_CHECKING:
    from bosh_aws_cpi.aws.sdk.clients import Clients

_NO_DISK: Final = "not a stray of this Director: it must exist, be detached and lack the Director's tags"
_NO_INSTANCE: Final = (
    "not a stray of this Director: it must exist, have the Director's UUID as a tag, and lack the tags of "
    "set_vm_metadata"
)


class Run(Record):
    """One run of the command.

    Attributes:
        clients: The AWS clients.
        there: All resources at its start.
        wish: The operator's options.
        now: The time of its start.
    """

    clients: "Clients"
    there: Inventory
    wish: Wish
    now: datetime

    def carry_out(self, rows: list[Row]) -> None:
        """Carry out the action for each stray, and add a row for it.

        Args:
            rows: Gets a row for each stray, so that the report is correct even after an interruption.
        """
        for stray in self.there.strays():
            rows.append(Row(stray, NOT_CERTAIN))
            rows[-1] = self._row(stray, action(stray, self.wish, self.now), rows[:-1])
        rows += self._named_in_error("volume", self.wish.disks, Removal.DISK, _NO_DISK, rows)
        rows += self._named_in_error("instance", self.wish.instances, Removal.INSTANCE, _NO_INSTANCE, rows)

    def _named_in_error(
        self, kind: Kind, named: frozenset[str], removal: Removal, why_not: str, rows: Sequence[Row]
    ) -> list[Row]:
        """A row for each resource that the operator named and that is no stray of this kind."""
        option = removal.value.split()[-1]
        listed = {row.stray.resource.resource_id for row in rows}
        resources = [Resource(kind, each, "", {}, None) for each in sorted(named - listed)]
        return [Row(Stray(each, f"named by {option}", removal, None), FAILED, why_not) for each in resources]

    def _row(self, stray: Stray, then: Action, before: Sequence[Row]) -> Row:
        """Carry out an action; an error goes into the stray's row, and the run continues."""
        try:
            if then is Action.MARK:
                tags.require(self.clients.ec2, stray.resource.resource_id, mark(stray.resource, self.now))
            elif then is Action.REMOVE:
                return Row(stray, self._delete(stray, before))
        except (*FAILURES, BoshError) as error:
            said = error.message if isinstance(error, BoshError) else described(error)
            return Row(stray, FAILED, said)
        return Row(stray, then.value)

    def _delete(self, stray: Stray, before: Sequence[Row]) -> str:
        """Delete a stray if it still is one; returns the outcome."""
        stayed = {row.stray.resource.resource_id for row in before if row.outcome not in _WENT}
        if stayed & set(stray.images):
            return SPARED
        fresh = inventory.reload(self.clients.ec2, stray.resource)
        if fresh is None:
            return GONE
        judged = self.there.judge(fresh)
        if judged is None or action(judged, self.wish, self.now) is not Action.REMOVE:
            return SPARED
        logger.info("Deleting %s '%s'", fresh.kind, fresh.resource_id)
        return Action.REMOVE.value if _DELETERS[fresh.kind](self.clients, judged) else SPARED


def _delete_image(clients: "Clients", stray: Stray) -> bool:
    images.deregister(clients.ec2, stray.resource.resource_id)
    return True


def _delete_snapshot(clients: "Clients", stray: Stray) -> bool:
    if not snapshots.delete(clients.ec2, stray.resource.resource_id, next(iter(stray.images), None)):
        raise CloudError("Another AMI uses it")
    return True


def _delete_volume(clients: "Clients", stray: Stray) -> bool:
    """Delete a volume; False when it is now in use. There is no retry: a volume in use is not a stray."""
    if not volumes.delete_idle(clients.ec2, stray.resource.resource_id):
        return False
    volumes.wait_until_deleted(clients.ec2, stray.resource.resource_id)
    return True


def _delete_interface(clients: "Clients", stray: Stray) -> bool:
    return network_interfaces.delete_unattached(clients.ec2, stray.resource.resource_id)


def _delete_group(clients: "Clients", stray: Stray) -> bool:
    return placement_groups.delete_unused(clients.ec2, stray.resource.group)


def _delete_instance(clients: "Clients", stray: Stray) -> bool:
    """Terminate an instance, and wait until it has released its addresses, also in target groups."""
    vm_cid = stray.resource.resource_id
    instances.terminate(clients.ec2, vm_cid)
    instances.wait_until_terminated(clients.ec2, vm_cid, lambda now: deregister_addresses(clients, now))
    return True


_WENT: Final = frozenset({Action.REMOVE.value, GONE})
_DELETERS: Final[Mapping[Kind, Callable[["Clients", Stray], bool]]] = {
    "AMI": _delete_image,
    "snapshot": _delete_snapshot,
    "volume": _delete_volume,
    "interface": _delete_interface,
    "placement group": _delete_group,
    "instance": _delete_instance,
}
"""Each returns whether the resource is gone; False when it is in use. A subnet is never deleted."""
