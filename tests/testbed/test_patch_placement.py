"""Placement groups, hosts, reservations, keys and quotas answer as AWS does."""

from typing import Any

import pytest

from testbed.reservations import MARKETS, reserved

ZONE, OTHER_ZONE = "us-east-1a", "us-east-1b"


def placed(**placement: str) -> dict[str, Any]:
    """Write a launch's placement in the first zone."""
    return {"Placement": {"AvailabilityZone": ZONE, **placement}}


def into(reservation_id: str) -> dict[str, Any]:
    """Write a launch's capacity reservation."""
    target = {"CapacityReservationTarget": {"CapacityReservationId": reservation_id}}
    return {**placed(), "CapacityReservationSpecification": target}


def test_partitions(ec2: Any, run: Any, refused: Any) -> None:
    """A launch's partition is one of its group's; only groups of the strategy partition have any."""
    ec2.create_placement_group(GroupName="near", Strategy="cluster")
    ec2.create_placement_group(GroupName="apart", Strategy="partition", PartitionCount=2)
    for name, number in (("near", 1), ("apart", 3)):
        with refused("InvalidParameterValue", f"partition number {number}"):
            run(Placement={"AvailabilityZone": ZONE, "GroupName": name, "PartitionNumber": number})
    assert run(Placement={"AvailabilityZone": ZONE, "GroupName": "apart", "PartitionNumber": 2})


def test_spread_group(ec2: Any, world: Any, run: Any, refused: Any) -> None:
    """A spread group takes seven running instances in a zone, none of them dedicated."""
    ec2.create_placement_group(GroupName="apart", Strategy="spread")
    ids = [run(**placed(GroupName="apart"))["InstanceId"] for _ in range(7)]
    by_group = [{"Name": "placement-group-name", "Values": ["apart"]}]
    found = ec2.describe_instances(Filters=by_group)["Reservations"]
    assert sorted(each["InstanceId"] for entry in found for each in entry["Instances"]) == sorted(ids)
    with refused("InsufficientInstanceCapacity", "limit of instances in this spread placement group"):
        run(**placed(GroupName="apart"))
    elsewhere = {"AvailabilityZone": OTHER_ZONE, "GroupName": "apart"}
    assert run(SubnetId=world.subnet_ids[2], Placement=elsewhere)
    with refused("InvalidParameterCombination", "Dedicated Instances"):
        run(**placed(GroupName="apart", Tenancy="dedicated"))
    ec2.stop_instances(InstanceIds=ids[:1])
    assert run(**placed(GroupName="apart"))


def test_zone_without_type(ec2: Any, world: Any, refused: Any) -> None:
    """A zone launches only the types that it offers."""
    common = {"ImageId": world.image_id, "MinCount": 1, "MaxCount": 1, "InstanceType": "vt1.3xlarge"}
    second = {"SubnetId": world.subnet_ids[2], "Placement": {"AvailabilityZone": OTHER_ZONE}}
    with refused("Unsupported", f"choosing {ZONE}"):
        ec2.run_instances(**common, **second)
    assert ec2.run_instances(**common, SubnetId=world.subnet_id, **placed())["Instances"]


def test_hosts(ec2: Any, run: Any, refused: Any) -> None:
    """A host takes launches of its type in its zone."""
    with refused("InvalidHostID.NotFound"):
        run(**placed(HostId="h-0123456789abcdef0"))
    hosts = {
        (name, zone): ec2.allocate_hosts(InstanceType=name, AvailabilityZone=zone, Quantity=1)["HostIds"][0]
        for name, zone in (("m5.large", ZONE), ("m5.xlarge", ZONE), ("m5.large", OTHER_ZONE))
    }
    (family,) = ec2.allocate_hosts(InstanceFamily="m5", AvailabilityZone=ZONE, Quantity=1)["HostIds"]
    for unfit in (hosts["m5.xlarge", ZONE], hosts["m5.large", OTHER_ZONE]):
        with refused("InvalidHostConfiguration"):
            run(**placed(HostId=unfit))
    for fit in (hosts["m5.large", ZONE], family):
        shown = run(**placed(HostId=fit, Tenancy="host"))["Placement"]
        assert (shown["HostId"], shown["Tenancy"]) == (fit, "host")
    in_zone = [{"Name": "availability-zone", "Values": [OTHER_ZONE]}]
    (listed,) = ec2.describe_hosts(Filter=in_zone)["Hosts"]
    assert listed["HostId"] == hosts["m5.large", OTHER_ZONE]


def test_reservations(ec2: Any, run: Any, refused: Any) -> None:
    """A reservation takes as many launches of its type in its zone as it has room for, while it is active."""
    with refused("InvalidCapacityReservationId.NotFound"):
        run(**into("cr-0123456789abcdef0"))
    made = [
        ec2.create_capacity_reservation(
            InstanceType=name, InstancePlatform="Linux/UNIX", AvailabilityZone=zone, InstanceCount=1
        )["CapacityReservation"]["CapacityReservationId"]
        for name, zone in (
            ("m5.large", ZONE),
            ("m5.xlarge", ZONE),
            ("m5.large", OTHER_ZONE),
            ("m5.large", ZONE),
        )
    ]
    fit, *unfit = made
    ec2.cancel_capacity_reservation(CapacityReservationId=unfit[-1])
    for reservation_id in unfit:
        with refused("InvalidParameterValue", reservation_id):
            run(**into(reservation_id))
    shown = run(**into(fit))
    given = into(fit)["CapacityReservationSpecification"]
    assert (shown["CapacityReservationId"], shown["CapacityReservationSpecification"]) == (fit, given)
    with refused("ReservationCapacityExceeded"):
        run(**into(fit))
    active = [{"Name": "state", "Values": ["active"]}]
    listed = ec2.describe_capacity_reservations(Filters=active)["CapacityReservations"]
    free = {each["CapacityReservationId"]: each["AvailableInstanceCount"] for each in listed}
    assert free == {fit: 0, unfit[0]: 1, unfit[1]: 1}


@pytest.mark.parametrize("market", MARKETS)
def test_markets(ec2: Any, run: Any, refused: Any, market: str) -> None:
    """A reservation takes launches only on its own market, and shows of which kind it is."""
    reservation_id = reserved(ec2, "m5.large", ZONE, market=market)
    listed = ec2.describe_capacity_reservations()["CapacityReservations"]
    (shown,) = (each for each in listed if each["CapacityReservationId"] == reservation_id)
    assert shown.get("ReservationType") == ("capacity-block" if market == "capacity-block" else None)
    assert shown.get("Interruptible") == (True if market.startswith("interruptible") else None)
    for other in MARKETS:
        if other != market:
            with refused("InvalidParameterValue", reservation_id):
                run(
                    **into(reservation_id),
                    **({"InstanceMarketOptions": {"MarketType": other}} if other else {}),
                )
    assert run(
        **into(reservation_id), **({"InstanceMarketOptions": {"MarketType": market}} if market else {})
    )


def test_block_before_it_begins(ec2: Any, run: Any, refused: Any) -> None:
    """A bought block is payment-pending, then scheduled, and takes no launches until it is active."""
    market = {"InstanceMarketOptions": {"MarketType": "capacity-block"}}
    for state in ("payment-pending", "scheduled"):
        block = reserved(ec2, "m5.large", ZONE, market="capacity-block", state=state)
        shown = {
            each["CapacityReservationId"]: each
            for each in ec2.describe_capacity_reservations()["CapacityReservations"]
        }[block]
        counts = (shown["TotalInstanceCount"], shown["AvailableInstanceCount"])
        assert (shown["State"], counts) == (state, (0, 0))
        with refused("InvalidCapacityReservationState.PendingActivation", "not active yet"):
            run(**into(block), **market)
    assert run(**into(reserved(ec2, "m5.large", ZONE, market="capacity-block")), **market)


def test_tenancy(ec2: Any, run: Any, refused: Any) -> None:
    """A reservation takes only launches of its tenancy."""
    where = {"InstanceType": "m5.large", "InstancePlatform": "Linux/UNIX", "AvailabilityZone": ZONE}
    made = ec2.create_capacity_reservation(**where, InstanceCount=1, Tenancy="dedicated")
    launch = into(made["CapacityReservation"]["CapacityReservationId"])
    with refused("InvalidParameterValue", "does not match the launch"):
        run(**launch)
    launch["Placement"]["Tenancy"] = "dedicated"
    assert run(**launch)


def test_block_in_a_placement_group(ec2: Any, run: Any, refused: Any) -> None:
    """A capacity block takes no launch in a placement group."""
    ec2.create_placement_group(GroupName="near", Strategy="cluster")
    launch = into(reserved(ec2, "m5.large", ZONE, market="capacity-block"))
    launch["Placement"]["GroupName"] = "near"
    with refused("InvalidParameterCombination", "placement groups"):
        run(**launch, InstanceMarketOptions={"MarketType": "capacity-block"})


def test_instances_by_subnet(ec2: Any, world: Any, run: Any) -> None:
    """Instances are found by the subnet of any of their interfaces."""
    nics = [{"DeviceIndex": index, "SubnetId": world.subnet_ids[index]} for index in (0, 1)]
    instance_id = run(NetworkInterfaces=nics)["InstanceId"]
    for subnet_id, expected in zip(world.subnet_ids, ([instance_id], [instance_id], []), strict=True):
        by_subnet = [{"Name": "network-interface.subnet-id", "Values": [subnet_id]}]
        found = ec2.describe_instances(Filters=by_subnet)["Reservations"]
        assert [each["InstanceId"] for entry in found for each in entry["Instances"]] == expected


@pytest.mark.parametrize("size", [3, 100])
def test_quotas(fake_aws: Any, size: int) -> None:
    """Quotas come in pages, each quota once."""
    pages = (
        fake_aws.client("service-quotas")
        .get_paginator("list_service_quotas")
        .paginate(ServiceCode="ec2", PaginationConfig={"PageSize": size})
    )
    names = [[each["QuotaName"] for each in page["Quotas"]] for page in pages]
    assert len(names) > 1
    flat = [name for page in names for name in page]
    assert len(set(flat)) == len(flat)
    assert "Running On-Demand P instances" in flat
    assert "Running On-Demand Trn instances" not in flat


def test_errors(fake_aws: Any, refused: Any) -> None:
    """Rules make errors of the JSON protocols too, and see their calls."""
    for service, action in (("kms", "DescribeKey"), ("service-quotas", "ListServiceQuotas")):
        error = {"code": "AccessDeniedException", "message": "no", "status": 400}
        fake_aws.rule(action=action, error=error)
        client = fake_aws.client(service)
        with refused("AccessDeniedException", "no"):
            client.describe_key(KeyId="1") if service == "kms" else client.list_service_quotas(
                ServiceCode="ec2"
            )
    assert [(call["service"], call["action"]) for call in fake_aws.calls()] == [
        ("kms", "DescribeKey"),
        ("servicequotas", "ListServiceQuotas"),
    ]
