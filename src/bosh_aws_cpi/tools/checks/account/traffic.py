"""What leads traffic to VMs exists in their VPC: load balancers, target groups and route tables. Pure."""

from collections.abc import Iterable, Iterator, Mapping

from bosh_aws_cpi.aws.load_balancers import Misfit
from bosh_aws_cpi.aws.routes import RouteTable
from bosh_aws_cpi.tools.checks.account.named_things import absent
from bosh_aws_cpi.tools.checks.account.subnets import KnownSubnets
from bosh_aws_cpi.tools.checks.naming import Launch
from bosh_aws_cpi.tools.checks.references import Named
from bosh_aws_cpi.tools.findings import Finding, Severity


def balancers(known: KnownSubnets, found: Iterable[Named], vpcs: Mapping[str, str]) -> Iterator[Finding]:
    """Check classic load balancers.

    Args:
        known: The subnets.
        found: The names in the cloud config.
        vpcs: The VPCs of those that exist, by name.
    """
    yield from _placed(known, found, "classic load balancer", vpcs)


def target_groups(
    known: KnownSubnets, found: Iterable[Named], there: Mapping[str, tuple[Misfit | None, str]]
) -> Iterator[Finding]:
    """Check target groups: a VM can be registered only with those of some target types and protocols.

    Args:
        known: The subnets.
        found: The names and ARNs in the cloud config.
        there: Why a VM can't be their target, and the VPC, of those that exist, by name and by ARN.
    """
    fit = []
    for each in found:
        wrong = there.get(each.node.value, (None, ""))[0]
        if wrong is None:
            fit.append(each)
        else:
            what = f"target group '{each.node.value}' {wrong.why}"
            yield Finding(Severity.ERROR, what, wrong.remedy, each.node.place, "AWS")
    yield from _placed(known, fit, "target group", {name: vpc for name, (_, vpc) in there.items()})


def tables(known: KnownSubnets, found: Iterable[Named], there: Mapping[str, RouteTable]) -> Iterator[Finding]:
    """Check the route tables of advertised_routes.

    Args:
        known: The subnets.
        found: The ids in the cloud config.
        there: Those that exist, by id.
    """
    vpcs = {table_id: table.vpc_id for table_id, table in there.items()}
    yield from _placed(known, found, "route table", vpcs)


def _placed(
    known: KnownSubnets, found: Iterable[Named], what: str, vpcs_of: Mapping[str, str]
) -> Iterator[Finding]:
    """Each must exist, and be in the VPC of the VMs; a balancer of EC2-Classic has no VPC."""
    for each in found:
        name, vpc = str(each.node.value), vpcs_of.get(str(each.node.value))
        if vpc is None:
            yield absent(what, name, each.node.place, vpcs_of)
            continue

        def misplaced(launch: Launch, name: str = name, vpc: str = vpc) -> str:
            vpcs = known.vpcs(launch)
            if not vpc or not vpcs or vpc in vpcs:
                return ""
            return f"{what} '{name}' is in VPC '{vpc}', but the subnets are in {', '.join(vpcs)}"

        yield from each.findings_if_wrong(misplaced, "Use one in the VPC of the subnets", Severity.NOTE)
