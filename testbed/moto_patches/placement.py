"""Where a launch may run: zones that offer the type, placement groups, hosts, and capacity reservations."""

from typing import Any

from moto.core.responses import ActionResult
from moto.ec2 import utils
from moto.ec2.models.instance_types import INSTANCE_TYPE_OFFERINGS
from moto.ec2.responses.general import General
from moto.ec2.responses.hosts import HostsResponse
from moto.ec2.responses.instances import InstanceResponse
from moto.ec2.utils import random_resource_id

from testbed.moto_patches import states
from testbed.moto_patches.patching import Original, Patches, parameter, refuse, tag_specifications

PATCHES = Patches()
MOST_PARTITIONS = 7
"""In one zone (user guide, "Placement groups"). That it is also the default is a guess."""
utils.EC2_RESOURCE_TO_PREFIX["placement-group"] = "pg"
utils.EC2_PREFIX_TO_RESOURCE["pg"] = "placement-group"
"""A placement group can have tags (API model, ResourceType); moto does not know its ids."""


def kept(response: Any, kind: str) -> dict[str, dict[str, Any]]:
    """The region's resources of a kind that moto lacks, by name or id."""
    resources: dict[str, dict[str, Any]] = vars(response.ec2_backend).setdefault(f"testbed_{kind}", {})
    return resources


def filtered(resources: list[dict[str, Any]], filters: dict[str, Any], keys: dict[str, str]) -> Any:
    """Apply a listing's filters, of which EC2 has those in `keys`."""
    return [each for each in resources if all(each[keys[name]] in filters[name] for name in filters)]


BEFORE_ACTIVE = ("payment-pending", "scheduled")
"""The states of a capacity block before it is active (EC2 user guide, "View Capacity Blocks")."""
MOST_IN_ZONE = 7
"""Running instances of a spread placement group in one zone (EC2 user guide, "Placement groups")."""


@PATCHES.adding(General, "create_placement_group")
def created_group(response: Any) -> Any:
    """EC2 creates a placement group, available at once, with its tags; moto lacks CreatePlacementGroup.

    The name is unique in account and region (API model). FDio/csit issue 179 has the error for a second one.
    The answer is that of the API model; the API reference's sample has only <return>true</return>.
    """
    name = parameter(response, "GroupName")
    if name in kept(response, "placement_groups"):
        refuse("InvalidPlacementGroup.Duplicate", f"The placement group '{name}' already exists.")
    group = {
        "GroupName": name,
        "GroupId": f"pg-{random_resource_id(17)}",
        "State": "available",
        "Strategy": parameter(response, "Strategy", "cluster"),
    }
    if group["Strategy"] == "partition":
        group["PartitionCount"] = int(parameter(response, "PartitionCount", MOST_PARTITIONS))
    kept(response, "placement_groups")[name] = group
    response.ec2_backend.create_tags(
        [group["GroupId"]], tag_specifications(response).get("placement-group", {})
    )
    return ActionResult({"PlacementGroup": shown_group(response, group)})


def shown_group(response: Any, group: dict[str, Any]) -> dict[str, Any]:
    """Add the tags to a placement group."""
    tags = response.ec2_backend.tags.get(group["GroupId"], {})
    return {**group, "Tags": [{"Key": key, "Value": value} for key, value in tags.items()]}


@PATCHES.adding(General, "delete_placement_group")
def deleted_group(response: Any) -> Any:
    """EC2 deletes a placement group once all of its instances are terminated; moto lacks the call.

    API model, DeletePlacementGroup. EC2's error codes, InvalidPlacementGroup.InUse and
    InvalidPlacementGroup.Unknown; hashicorp's provider for AWS retries the former until they are terminated.
    """
    name = parameter(response, "GroupName")
    check_group(response, name)
    if any(each.state != "terminated" for each in members(response, name)):
        refuse(
            "InvalidPlacementGroup.InUse", f"The placement group '{name}' is in use and may not be deleted."
        )
    kept(response, "placement_groups").pop(name)
    return ActionResult({})


def members(response: Any, name: str) -> list[Any]:
    """List the instances of a placement group."""
    return [
        each
        for each in response.ec2_backend.all_instances()
        if getattr(each.placement, "group_name", "") == name
    ]


@PATCHES.adding(General, "describe_placement_groups")
def described_groups(response: Any) -> Any:
    """EC2 lists placement groups, by name or by tag for some; moto lacks DescribePlacementGroups."""
    groups = [shown_group(response, each) for each in kept(response, "placement_groups").values()]
    filters = response._filters_from_querystring()  # noqa: SLF001 - moto has no other way
    by_tag = {key: filters.pop(key) for key in list(filters) if key.startswith("tag:")}
    tagged = [
        each
        for each in groups
        if all(
            any(f"tag:{tag['Key']}" == key and tag["Value"] in values for tag in each["Tags"])
            for key, values in by_tag.items()
        )
    ]
    return ActionResult({"PlacementGroups": filtered(tagged, filters, {"group-name": "GroupName"})})


@PATCHES.adding(General, "create_capacity_reservation")
def created_reservation(response: Any) -> Any:
    """EC2 creates a capacity reservation, active at once; moto lacks CreateCapacityReservation."""
    count = int(parameter(response, "InstanceCount"))
    reservation = {
        "CapacityReservationId": f"cr-{random_resource_id(17)}",
        "InstanceType": parameter(response, "InstanceType"),
        "AvailabilityZone": parameter(response, "AvailabilityZone"),
        "Tenancy": parameter(response, "Tenancy", "default"),
        "InstanceMatchCriteria": parameter(response, "InstanceMatchCriteria", "open"),
        "OwnerId": response.current_account,
        "TotalInstanceCount": count,
        "AvailableInstanceCount": count,
        "State": "active",
    }
    kept(response, "reservations")[reservation["CapacityReservationId"]] = reservation
    return ActionResult({"CapacityReservation": reservation})


@PATCHES.adding(General, "cancel_capacity_reservation")
def cancelled_reservation(response: Any) -> Any:
    """EC2 keeps a cancelled reservation in its lists for a while; moto lacks CancelCapacityReservation."""
    kept(response, "reservations")[parameter(response, "CapacityReservationId")]["State"] = "cancelled"
    return ActionResult({"Return": True})


@PATCHES.adding(General, "describe_capacity_reservations")
def described_reservations(response: Any) -> Any:
    """EC2 lists capacity reservations; moto lacks DescribeCapacityReservations.

    Its filters have no id (API reference): a caller lists all, or names ids, of which each must exist.
    """
    there, ids = kept(response, "reservations"), parameter(response, "CapacityReservationIds", [])
    found = [there[each] for each in ids] if ids else list(there.values())
    states.look(response, "CapacityReservationIds", found)
    keys = {"state": "State", "instance-type": "InstanceType", "availability-zone": "AvailabilityZone"}
    filters = response._filters_from_querystring()  # noqa: SLF001 - moto has no other way
    return ActionResult({"CapacityReservations": filtered(found, filters, keys)})


@PATCHES.around(HostsResponse, "describe_hosts")
def described_hosts(original: Original, response: Any) -> Any:
    """EC2's parameter is named Filter, not Filters (API model); moto ignored it."""
    result = original(response)
    wanted = {each["Name"]: each["Values"] for each in parameter(response, "Filter", [])}
    hosts = [each for each in result.result["Hosts"] if shows(each, wanted)]
    return ActionResult({"Hosts": hosts})


def shows(host: Any, wanted: dict[str, list[str]]) -> bool:
    """Whether a host passes a listing's filters."""
    return all(host.get_filter_value(name) in values for name, values in wanted.items())


@PATCHES.around(InstanceResponse, "run_instances")
def launched_where_possible(original: Original, response: Any) -> Any:
    """EC2 refuses a zone without the type, and unknown or unfit groups and reservations.

    moto accepted all of them.
    """
    check_offered(response)
    if name := parameter(response, "Placement.GroupName"):
        check_group(response, name)
        check_spread(response, name)
    reservation = checked_reservation(response)
    result = original(response)
    if reservation is not None:
        reservation["AvailableInstanceCount"] -= 1
    return result


def check_offered(response: Any) -> None:
    """Refuse a type that the zone does not offer.

    Code and message: skyplane-project/skyplane issue 172. moto itself refuses a type that no zone offers.
    """
    name, zone = parameter(response, "InstanceType"), parameter(response, "Placement.AvailabilityZone")
    zones = {each["Location"] for each in offerings(response.region) if each["InstanceType"] == name}
    if zone and zones and zone not in zones:
        refuse(
            "Unsupported",
            f"Your requested instance type ({name}) is not supported in your requested Availability Zone "
            f"({zone}). Please retry your request by not specifying an Availability Zone or choosing "
            f"{', '.join(sorted(zones))}.",
        )


def offerings(region: str) -> list[dict[str, str]]:
    """What the zones of a region offer."""
    found: list[dict[str, str]] = INSTANCE_TYPE_OFFERINGS["availability-zone"].get(region, [])
    return found


def check_group(response: Any, name: str) -> None:
    """Refuse an unknown placement group.

    EC2's error codes, InvalidPlacementGroup.Unknown; the message is in bcbio/bcbio-nextgen-vm issue 37.
    """
    if name not in kept(response, "placement_groups"):
        refuse("InvalidPlacementGroup.Unknown", f"The Placement Group '{name}' is unknown.")
    check_partition(response, kept(response, "placement_groups").get(name, {}))


def check_partition(response: Any, group: dict[str, Any]) -> None:
    """Refuse a partition that the group lacks.

    A partition is "valid only if the placement group strategy is set to partition" (API model, Placement,
    PartitionNumber). The code is a guess.
    """
    number = parameter(response, "Placement.PartitionNumber")
    if number is not None and int(number) not in range(1, group.get("PartitionCount", 0) + 1):
        refuse(
            "InvalidParameterValue", f"The partition number {number} is not valid for the placement group."
        )


def check_spread(response: Any, name: str) -> None:
    """Refuse more running instances in a zone than a spread placement group allows, and dedicated hardware.

    EC2 user guide, "Placement groups", spread placement groups: seven per zone, and no Dedicated Instances,
    whose code is a guess. Code and message of the limit: aws/karpenter-provider-aws, its design of placement
    groups. That instances which are ending still count is a guess.
    """
    if kept(response, "placement_groups")[name]["Strategy"] != "spread":
        return
    if parameter(response, "Placement.Tenancy") == "dedicated":
        refuse("InvalidParameterCombination", "Dedicated Instances can't be in a spread placement group.")
    zone = parameter(response, "Placement.AvailabilityZone")
    there = [
        each
        for each in members(response, name)
        if each.state not in {"stopped", "terminated"} and each.placement.zone == zone
    ]
    if len(there) >= MOST_IN_ZONE:
        refuse(
            "InsufficientInstanceCapacity",
            "You've reached the limit of instances in this spread placement group. A spread placement group "
            "can have up to seven instances per Availability Zone.",
        )


def checked_reservation(response: Any) -> dict[str, Any] | None:
    """Refuse a reservation that is unknown, not active, full, or for another type or zone; return it.

    EC2's error codes: InvalidCapacityReservationId.NotFound, ReservationCapacityExceeded ("not enough
    available instance capacity"), and InvalidCapacityReservationState.PendingActivation ("Your Capacity Block
    is not active yet."). InvalidParameterValue for the others is a guess; that the attributes must match is
    documented (EC2 user guide, "Launch instances into an existing Capacity Reservation", and for the tenancy
    the API model, CapacityReservationSpecification).
    """
    specification = parameter(response, "CapacityReservationSpecification", {})
    wanted = specification.get("CapacityReservationTarget", {}).get("CapacityReservationId")
    if not wanted:
        return None
    found = kept(response, "reservations").get(wanted)
    if found is None:
        refuse(
            "InvalidCapacityReservationId.NotFound", f"The capacity reservation ID '{wanted}' does not exist"
        )
    given = {
        "InstanceType": parameter(response, "InstanceType"),
        "AvailabilityZone": parameter(response, "Placement.AvailabilityZone"),
        "Tenancy": parameter(response, "Placement.Tenancy", "default"),
        "State": "active",
    }
    if found.get("ReservationType") == "capacity-block" and found["State"] in BEFORE_ACTIVE:
        refuse("InvalidCapacityReservationState.PendingActivation", "Your Capacity Block is not active yet.")
    if any(found[name] != value for name, value in given.items()):
        refuse("InvalidParameterValue", f"The capacity reservation '{wanted}' does not match the launch")
    if not found["AvailableInstanceCount"]:
        refuse("ReservationCapacityExceeded", "The requested reservation does not have sufficient capacity.")
    return found
