"""`cpi diagnose CONFIG_PATH VM_CID`: says why a VM does not answer, the likeliest cause first; read-only."""

import argparse
from collections.abc import Callable, Sequence
from functools import partial
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final

from bosh_aws_cpi import log
from bosh_aws_cpi.aws import firewalls, instances, network_interfaces, routes, subnets
from bosh_aws_cpi.aws.sdk.clients import CommandClients
from bosh_aws_cpi.config.cpi_config import CpiConfig
from bosh_aws_cpi.config.loading import load
from bosh_aws_cpi.errors import CloudError, VMNotFound
from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.model import Instance, Nic
from bosh_aws_cpi.tools import command, findings
from bosh_aws_cpi.tools.asking import Answer, Asker
from bosh_aws_cpi.tools.diagnosis import agent_settings, causes, console
from bosh_aws_cpi.tools.diagnosis.agent_settings import Address, AgentSettings, is_ip
from bosh_aws_cpi.tools.diagnosis.facts import (
    Facts,
    Side,
    is_in_vpc,
    is_of_amazon,
    own_interface,
    peer_interface,
    side,
)
from bosh_aws_cpi.tools.findings import Finding

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client

_DESCRIPTION: Final = """\
Say why a VM does not answer ("Timed out pinging VM"), the likeliest cause first: its state, user data,
console, and the routes and firewalls between it and the Director. Nothing is created or changed."""
_NEXT: Final = (
    "No error was found from outside. The agent's log is on the VM: /var/vcap/bosh/log/current "
    '(docs/diagnose.md, "Look into the VM")'
)
_REPEAT: Final = "Repeat this command"
_UNKNOWN_VM: Final = (
    "VM_CID must be an instance's id, i-…, of this region and account. EC2 forgets an instance about an hour "
    "after its end; BOSH deletes a VM that timed out, unless director.debug.keep_unreachable_vms is true"
)


def main(arguments: list[str]) -> int:
    """Look at a VM, and print what is wrong."""
    parser = command.parser("diagnose", _DESCRIPTION, "no cause was found", "a cause was found")
    parser.add_argument("vm", metavar="VM_CID", help="the instance's id, which `bosh vms` shows: i-…")
    parser.add_argument(
        "--director-address",
        type=_address,
        metavar="IP",
        help="the Director's address, by default the one in the agent's mbus; for a VM of bosh create-env "
        "the address of the machine that runs it",
    )
    return command.run(parser, arguments, _diagnose)


def _address(text: str) -> str:
    try:
        return str(ip_address(text.strip()))
    except ValueError:
        raise argparse.ArgumentTypeError(f"not an IP address: '{text}'") from None


def _diagnose(given: argparse.Namespace) -> int:
    config = load(given.config, {})
    statistics = command.ToldStatistics()
    try:  # only this call must succeed: all others are left out if AWS does not answer at once
        instance = instances.find(CommandClients(config.aws, statistics).ec2, given.vm)
    except VMNotFound as error:
        raise CloudError(f"{error.message} in {config.aws.region}. {_UNKNOWN_VM}") from error
    without_retries = CommandClients(config.aws.replace(max_retries=0), statistics).ec2
    facts = _gather(without_retries, config, instance, given.director_address or "")
    found = causes.find(facts)
    told = findings.document(found, document(facts))
    shown = command.show(told, lines(facts, found), as_json=given.json)
    return shown or findings.status(found)


def _gather(client: "EC2Client", config: CpiConfig, instance: Instance, director: str) -> Facts:
    """Look at a VM; nothing is changed.

    Args:
        client: The EC2 client, which does not retry: what AWS does not answer at once is left out.
        config: The configuration; its agent section completes the user data.
        instance: The instance.
        director: The Director's address, or for `bosh create-env` the operator's; empty for the host in the
            VM's message bus.
    """
    if instance.is_ending:
        return Facts(instance)
    vm_cid, vpc_id = instance.vm_cid, instance.vpc_id or ""
    asker = Asker(config.aws, again=_REPEAT, keys_accepted=True)
    # First, because they tell which secrets the console may show.
    data = asker.ask("user data", lambda: instances.user_data(client, vm_cid))
    settings = None if data is None else _settings(data)
    text = asker.ask("the console", lambda: instances.console(client, vm_cid))
    mbus = (settings and settings.mbus) or agent_settings.address(config.agent.get("mbus"))
    remote = director or _host_of(mbus)
    vpc = has_dns = None
    if vpc_id:
        ranges = "the VPC's address ranges"
        vpc = asker.ask(ranges, lambda: subnets.find_vpc(client, vpc_id), may_be_empty=False)
        has_dns = asker.ask("the VPC's DNS", lambda: subnets.has_dns(client, vpc_id))
    resolvers = [each for each in (settings.dns if settings else ()) if is_in_vpc(vpc, each)]
    whose = {each: "a DNS server's" for each in resolvers if not is_of_amazon(vpc, each)}
    whose |= {remote: "the Director's"} if remote else {}
    holders = {
        each: asker.ask(
            f"the interface with {owner} address", partial(network_interfaces.find_by_address, client, each)
        )
        for each, owner in whose.items()
    }
    own = instance.nics
    vpc_ids = {each.vpc_id for each in own}
    peer_nic = peer_interface(holders.get(remote) or (), vpc_ids, is_local=is_in_vpc(vpc, remote))
    vm_nic = own_interface(own, settings.gateway if settings else "", peer_nic)
    vm, peer = _sides(asker, client, vm_nic, peer_nic)
    peer_cid = (peer.interface.own_vm_cid if peer else None) or ""
    vm_cids = [vm_cid, *filter(None, [peer_cid])]
    checks = asker.ask("status checks", lambda: instances.health(client, vm_cids), may_be_empty=False)
    health = checks or {}
    return Facts(
        instance,
        health.get(vm_cid),
        None if text is None else console.mask(text, log.redact),
        settings,
        mbus,
        remote,
        is_remote_given=bool(director),
        vm=vm,
        peer=peer,
        holders=holders,
        peer_health=health.get(peer_cid),
        vpc=vpc,
        has_dns=has_dns,
        not_checked=tuple(asker.not_checked),
    )


def _settings(user_data: bytes) -> AgentSettings:
    """Read the agent settings in user data, and mask their secrets in all further output."""
    parsed = agent_settings.decode(user_data)
    log.redact.learn([parsed, {"secret": agent_settings.secret_lines(parsed)}])
    return agent_settings.read(user_data)


def _sides(
    asker: Asker, client: "EC2Client", vm: Nic | None, peer: Nic | None
) -> tuple[Side | None, Side | None]:
    """The VM's interface and the other side's, with what filters and routes their traffic."""
    if vm is None:
        return None, None
    both = [vm, peer] if peer else [vm]
    vpc_ids = {each.vpc_id for each in both}
    group_ids = {group_id for each in both for group_id in each.group_ids}

    def look_up(what: str, call: Callable[[], Answer]) -> Answer | None:
        return asker.ask(what, call, may_be_empty=False)  # each VPC has an ACL and a table, each VM a group

    groups = look_up("security groups", lambda: firewalls.groups_by_id(client, group_ids))
    acls = look_up("network ACLs", lambda: firewalls.acls_of_vpcs(client, vpc_ids))
    tables = look_up("routes", lambda: routes.find_by_vpcs(client, vpc_ids))
    return side(vm, groups, acls, tables), side(peer, groups, acls, tables) if peer else None


def _host_of(mbus: Address | None) -> str:
    """The host of the message bus if it is the address of another machine; else empty."""
    if mbus is None or mbus.is_of_agent or mbus.is_on_vm or not is_ip(mbus.host):
        return ""
    return mbus.host


def document(facts: Facts) -> Json:
    """The report for scripts without the findings; unknown values are null."""
    instance, settings = facts.instance, facts.settings
    return {
        "vm": {
            "id": instance.vm_cid,
            "state": instance.state,
            "type": instance.instance_type,
            "zone": instance.availability_zone,
        },
        "director_address": facts.remote or None,
        "user_data": settings
        and {
            "size": settings.size,
            "mbus": settings.mbus and str(settings.mbus),
            "blobstore": settings.blobstore and str(settings.blobstore),
            "registry": settings.registry and str(settings.registry),
            "dns": list(settings.dns),
            "ntp": list(settings.ntp),
        },
        "console": console.lines(facts.console or "")[-console.LAST_LINES :],
    }


def lines(facts: Facts, found: Sequence[Finding]) -> list[str]:
    """The report for people: the findings, the VM, and the console's last lines."""
    told = document(facts)
    vm = told["vm"]
    mbus = f"; mbus {facts.mbus}" if facts.mbus else ""
    closing = f"{vm['id']}: {vm['state']}, {vm['type']}, {vm['zone'] or 'no zone'}{mbus}"
    shown = [f"  {log.redact(line)}" for line in told["console"]]
    return [
        *findings.lines(found, closing),
        *([] if findings.status(found) else [_NEXT]),
        *(["", "The console's last lines:", *shown] if shown else []),
    ]
