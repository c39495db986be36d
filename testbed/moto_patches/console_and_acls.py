"""The console of instances, and network ACLs."""

from typing import Any

from moto.ec2.models.instance_types import INSTANCE_TYPES
from moto.ec2.models.network_acls import NetworkAclBackend
from moto.ec2.responses.general import General

from testbed.moto_patches.patching import Original, Patches, parameter, refuse

PATCHES = Patches()

LAST_RULE = 32767
"""The number of the rule that can't be removed; the console shows it as an asterisk."""


@PATCHES.around(General, "get_console_output")
def latest_on_nitro_only(original: Original, response: Any) -> Any:
    """EC2 shows the latest output of types on Nitro only; moto showed it for all types.

    The API reference of 2023 says "supported on instance types that use the Nitro hypervisor"; the callers of
    avocado-cloud (virt-s1/avocado-cloud, pull request 8) got an exception for others. Neither names the code.
    """
    instance = response.ec2_backend.get_instance(parameter(response, "InstanceId"))
    if parameter(response, "Latest") is True and not is_on_nitro(instance.instance_type):
        refuse(
            "UnsupportedOperation",
            "This instance type does not support retrieving the latest console logs. "
            "Please retry this request without specifying latest.",
        )
    return original(response)


def is_on_nitro(instance_type: str) -> bool:
    """Whether a type uses the Nitro hypervisor."""
    facts: dict[str, Any] = INSTANCE_TYPES.get(instance_type, {})
    return facts.get("Hypervisor") == "nitro"


@PATCHES.around(NetworkAclBackend, "create_network_acl")
def denying_by_default(
    original: Original, backend: Any, vpc_id: str, *positional: Any, **keywords: Any
) -> Any:
    """A new network ACL denies everything by a last rule of each direction; moto's had no rules.

    VPC user guide, "Network ACL basics" and "Default network ACL": "each network ACL also includes a rule
    whose rule number is an asterisk (*)"; DescribeNetworkAcls shows it as rule 32767.
    """
    acl = original(backend, vpc_id, *positional, **keywords)
    if not acl.network_acl_entries:
        for is_egress in (True, False):
            backend.create_network_acl_entry(
                network_acl_id=acl.id,
                rule_number=LAST_RULE,
                protocol="-1",
                rule_action="deny",
                egress=is_egress,
                cidr_block="0.0.0.0/0",
                icmp_code=None,
                icmp_type=None,
                port_range_from=None,
                port_range_to=None,
                ipv6_cidr_block=None,
            )
    return acl
