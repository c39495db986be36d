"""RunInstances' arguments, and what a launch template may hold beside them.

EC2 user guide, "Launch instances from a launch template", and API model, RunInstancesRequest: parameters of
the request replace the template's, tags are merged by key, and block devices by name. "Use Amazon EC2 launch
templates to control launching": a request can't remove a parameter of the template.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.model import NicPlan, TemplateVersion
from bosh_aws_cpi.plan import nics, tag_plan
from bosh_aws_cpi.plan.launch_options import LaunchOption
from bosh_aws_cpi.plan.spread import SpreadGroup
from bosh_aws_cpi.properties.types import Problem, camel_keys
from bosh_aws_cpi.properties.vm import CapacityReservation, VmProperties
from bosh_aws_cpi.records import Record

_NETWORKS: Final = "use the networks, and security_groups"
_UNDELETABLE: Final = "with it, the CPI could not delete the VM"
REFUSED: Final = {
    "BlockDeviceMappings": "use root_disk and ephemeral_disk",
    "CapacityReservationSpecification": "use capacity_reservation",
    "DisableApiStop": _UNDELETABLE,
    "DisableApiTermination": _UNDELETABLE,
    "HibernationOptions": "use hibernation",
    "InstanceMarketOptions": "use spot, or capacity_reservation.market",
    "InstanceRequirements": "use instance_type and instance_type_fallbacks",
    "NetworkInterfaces": _NETWORKS,
    "Placement": "use placement_group, tenancy or dedicated_host",
    "SecondaryInterfaces": _NETWORKS,
    "SecurityGroupIds": _NETWORKS,
    "SecurityGroups": _NETWORKS,
    "TagSpecifications": "use tags",
}
"""Parameters that a template must not hold, and what to use in their place, or why.

With them EC2 would refuse every launch, or the VM would be another one than the properties say, because a
launch without such a property does not have the parameter.
"""


class InstanceSpec(Record):
    """The VM's settings for RunInstances that are the same for all launch options."""

    ami_id: str
    properties: VmProperties
    key_name: str | None
    iam_instance_profile: str | None
    metadata_options: Json
    """EC2's instance metadata options, in snake case."""
    tags: Mapping[str, str]
    """The tags of the instance, its volumes, its spot request, and an interface that is created with it."""
    spread: SpreadGroup | None
    """The placement group of the VM's instance group, with the property ``spread``."""
    template: TemplateVersion | None
    """The version of a launch template, with the property ``launch_template``."""


def template_problems(template: TemplateVersion) -> Iterator[Problem]:
    """What create_vm refuses of a version of a launch template."""
    if wrong := [f"{name} ({why})" for name, why in REFUSED.items() if name in template.parameters]:
        text = f"cloud_properties.launch_template: {template} holds {', '.join(wrong)}"
        yield Problem("launch_template", f"{text}. Use a version of the template without them")


def arguments(
    spec: InstanceSpec,
    option: LaunchOption,
    *,
    interfaces: Sequence[Json],
    user_data: str,
    client_token: str,
) -> Json:
    """All arguments of RunInstances except the counts.

    Args:
        spec: The VM.
        option: The instance type and the market.
        interfaces: The network interfaces, each with its device index.
        user_data: The agent's settings as JSON; the SDK encodes them in Base64.
        client_token: Lets EC2 recognise a retry.
    """
    properties = spec.properties
    tagged = ["instance", "volume"]
    if any("SubnetId" in interface for interface in interfaces):  # the launch creates it
        tagged.append("network-interface")
    if option.is_spot:
        tagged.append("spot-instances-request")
    credit = properties.credit_specification if option.of_type.is_burstable else None
    weighting = properties.bandwidth_weighting
    weighting = None if weighting == "default" else weighting  # which all types have
    optional = {
        "KeyName": spec.key_name,
        "IamInstanceProfile": spec.iam_instance_profile and {"Name": spec.iam_instance_profile},
        "MetadataOptions": camel_keys(spec.metadata_options),
        "InstanceMarketOptions": _market(option, properties),
        "CapacityReservationSpecification": _reservation(properties.capacity_reservation, option),
        "CpuOptions": properties.cpu_options and properties.cpu_options.ec2_names,
        "CreditSpecification": credit and credit.ec2_names,
        "EnclaveOptions": properties.enclave and {"Enabled": True},
        "HibernationOptions": properties.hibernation and {"Configured": True},
        "NetworkPerformanceOptions": weighting and {"BandwidthWeighting": weighting},
        "LaunchTemplate": spec.template and spec.template.argument,
    }
    optimized = {} if properties.ebs_optimized is None else {"EbsOptimized": properties.ebs_optimized}
    return {
        "ClientToken": client_token,
        "ImageId": spec.ami_id,
        "InstanceType": option.of_type.name,
        "UserData": user_data,
        "BlockDeviceMappings": list(option.devices.mappings),
        "NetworkInterfaces": list(interfaces),
        "Placement": _placement(spec, option),
        **{name: value for name, value in optional.items() if value},
        **optimized,
        **tag_plan.specifications(spec.tags, *tagged),
    }


def for_dry_run(spec: InstanceSpec, option: LaunchOption, plan: NicPlan, group_ids: Sequence[str]) -> Json:
    """The arguments of a dry run with one interface.

    They lack what depends on today's state: the address, which the Director chooses, the reservation's free
    instances, and the placement group that the first VM of an instance group creates.
    """
    free = plan.replace(ipv4_address=None, ipv6_address=None, is_ipv6_primary=False)
    is_public = spec.properties.auto_assign_public_ip
    interfaces = [nics.inline_specification(free, group_ids, is_public=is_public)]
    alone = spec.replace(spread=None)
    whole = arguments(alone, option, interfaces=interfaces, user_data="", client_token="")
    left_out = {"CapacityReservationSpecification", "ClientToken", "UserData"}
    if not option.is_spot:  # the market of a capacity block, which needs its reservation
        left_out.add("InstanceMarketOptions")
    return {
        **{key: value for key, value in whole.items() if key not in left_out},
        "MinCount": 1,
        "MaxCount": 1,
    }


def _market(option: LaunchOption, properties: VmProperties) -> Json:
    """EC2 recommends no maximum price for spot (API model, SpotMarketOptions, MaxPrice)."""
    if not option.is_spot:
        return {} if option.is_on_demand else {"MarketType": option.market}
    limit = {"MaxPrice": properties.spot_bid_price} if properties.spot_bid_price else {}
    options = {**limit, "SpotInstanceType": "one-time", "InstanceInterruptionBehavior": "terminate"}
    return {"MarketType": "spot", "SpotOptions": options}


def _reservation(reservation: CapacityReservation | None, option: LaunchOption) -> Json:
    """The preference, or the reservation that the launch option names."""
    if reservation and reservation.preference:
        return {"CapacityReservationPreference": reservation.preference}
    if reservation is None or not option.is_reserved:
        return {}
    if reservation.id:
        return {"CapacityReservationTarget": {"CapacityReservationId": reservation.id}}
    group = {"CapacityReservationResourceGroupArn": reservation.resource_group_arn}
    return {"CapacityReservationTarget": group}


def _placement(spec: InstanceSpec, option: LaunchOption) -> Json:
    properties, spread = spec.properties, None if option.skips_placement_group else spec.spread
    host = properties.dedicated_host
    is_dedicated = properties.tenancy == "dedicated"
    optional = {
        "GroupName": spread.name if spread else properties.placement_group,
        "PartitionNumber": properties.placement_partition,
        "Tenancy": "host" if host else "dedicated" if is_dedicated else None,
        "HostId": host.id if host else None,
        "HostResourceGroupArn": host.resource_group_arn if host else None,
    }
    return {
        "AvailabilityZone": option.zone,
        **{name: value for name, value in optional.items() if value},
    }
