"""Asks AWS and the registry about one VM, in a fixed number of calls, each of which may be refused."""

from typing import TYPE_CHECKING, Final

from bosh_aws_cpi import log
from bosh_aws_cpi.aws import firewalls, instances, network_interfaces, routes, subnets
from bosh_aws_cpi.aws.instances import Health
from bosh_aws_cpi.aws.sdk import clock
from bosh_aws_cpi.config.cpi_config import CpiConfig
from bosh_aws_cpi.errors import CloudError, VMNotFound
from bosh_aws_cpi.model import NOT_BLOCKED, Instance, Nic
from bosh_aws_cpi.tools.asking import Asker
from bosh_aws_cpi.tools.diagnosis import console
from bosh_aws_cpi.tools.diagnosis import settings as agent_settings
from bosh_aws_cpi.tools.diagnosis.facts import Facts, Network, Side, is_in_vpc, own_interface, peer_interface
from bosh_aws_cpi.tools.diagnosis.settings import Address, AgentSettings, is_ip

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client

_AGAIN: Final = "Repeat this command"
_UNKNOWN: Final = (
    "VM_CID must be an instance's id, i-…, of this region and account. EC2 forgets an instance about an hour "
    "after its end; BOSH deletes a VM that timed out, unless director.debug.keep_unreachable_vms is true"
)


def instance(client: "EC2Client", config: CpiConfig, vm_cid: str) -> Instance:
    """Describe a VM; this call must succeed.

    Raises:
        CloudError: EC2 does not know the instance.
        ClientError: EC2 refuses to describe it.
    """
    try:
        return instances.find(client, vm_cid)
    except VMNotFound as error:
        message = f"{error.message} in {config.aws.region}. {_UNKNOWN}"
        raise CloudError(message) from error


def gather(client: "EC2Client", config: CpiConfig, instance: Instance, director: str) -> Facts:
    """Look at a VM; nothing is changed.

    Args:
        client: The EC2 client, which does not retry: what AWS does not answer at once is left out.
        config: The configuration; its agent and registry sections complete the user data.
        instance: The instance.
        director: The Director's address, or for `bosh create-env` the operator's; empty for the host in the
            VM's message bus.
    """
    if instance.is_ending:
        return Facts(instance)
    return _Gathering(client, config, instance).facts(director)


class _Gathering:
    """The calls about one VM, one after the other."""

    def __init__(self, client: "EC2Client", config: CpiConfig, instance: Instance) -> None:
        self._client = client
        self._config = config
        self._instance = instance
        self._vm_cid = instance.vm_cid
        self._asker = Asker(config.aws, again=_AGAIN, are_keys_taken=True)

    def facts(self, director: str) -> Facts:
        """Make all calls, in an order in which each answer is known before another call needs it."""
        client, vm_cid = self._client, self._vm_cid
        settings = self._settings()  # first, because it tells which secrets the console may show
        text = self._asker.ask("the console", lambda: instances.console(client, vm_cid))
        mbus = (settings and settings.mbus) or agent_settings.address(self._config.agent.get("mbus"))
        remote = director or _host_of(mbus)
        holders = self._holders(remote)
        vpc, has_dns, dns_servers = self._vpc()
        vm, peer = self._sides(holders, settings.gateway if settings else "", remote, vpc)
        health, peer_health = self._health(peer)
        registry = self._config.registry
        return Facts(
            instance=self._instance,
            now=clock.now(),
            health=health,
            console=None if text is None else console.masked(text, log.redact),
            settings=settings,
            mbus=mbus,
            remote=remote,
            is_remote_given=bool(director),
            vm=vm,
            peer=peer,
            holders=holders,
            peer_health=peer_health,
            forwarder=self._forwarder(vm, remote),
            vpc=vpc,
            has_dns=has_dns,
            dns_servers=dns_servers,
            has_document=self._has_document(settings),
            registry=agent_settings.address(registry.base_url) if registry else None,
            not_checked=tuple(self._asker.not_checked),
        )

    def _settings(self) -> AgentSettings | None:
        """The agent settings in user data; from then on, their secrets are masked in all output."""
        data = self._asker.ask("user data", lambda: instances.user_data(self._client, self._vm_cid))
        if data is None:
            return None
        document = agent_settings.parsed(data)
        log.redact.learn(document)
        log.redact.learn({"secret": agent_settings.secret_lines(document)})
        return agent_settings.read(data)

    def _holders(self, remote: str) -> tuple[Nic, ...] | None:
        """The interfaces with the other side's address: the Director's, or a jumpbox's."""
        if not remote:
            return None
        found = self._asker.ask(
            "the interface with the Director's address",
            lambda: network_interfaces.with_address(self._client, remote),
        )
        return None if found is None else tuple(found)

    def _sides(
        self,
        holders: tuple[Nic, ...] | None,
        gateway: str,
        remote: str,
        vpc: subnets.Vpc | None,
    ) -> tuple[Side | None, Side | None]:
        """The VM's interface and the other side's, with what filters and routes their traffic."""
        client, own, is_local = self._client, self._instance.nics, is_in_vpc(vpc, remote)
        peer = peer_interface(holders or (), {interface.vpc_id for interface in own}, is_local=is_local)
        vm = own_interface(own, gateway, peer)
        if vm is None:
            return None, None
        both = [vm, peer] if peer else [vm]
        vpc_ids = {each.vpc_id for each in both}
        group_ids = {group_id for each in both for group_id in each.group_ids}
        network = Network(
            self._asker.ask("security groups", lambda: firewalls.groups_by_id(client, group_ids)),
            self._asker.ask("network ACLs", lambda: firewalls.acls_of_vpcs(client, vpc_ids)),
            self._asker.ask("routes", lambda: routes.of_vpcs(client, vpc_ids)),
            self._block_modes(vpc, {each.subnet_id for each in both if vpc and each.vpc_id == vpc.vpc_id}),
            vpc.block_mode if vpc else NOT_BLOCKED,
        )
        return network.side(vm), network.side(peer) if peer else None

    def _block_modes(self, vpc: subnets.Vpc | None, subnet_ids: set[str]) -> dict[str, str]:
        """What exclusions leave of a VPC's VPC Block Public Access, by subnet; asked only if it has any."""
        if vpc is None or vpc.block_mode == NOT_BLOCKED:
            return {}
        what = f"whether VPC Block Public Access (mode {vpc.block_mode}) applies"
        found = self._asker.ask(what, lambda: subnets.by_id(self._client, subnet_ids)) or {}
        return {subnet_id: subnet.block_mode for subnet_id, subnet in found.items()}

    def _health(self, peer: Side | None) -> tuple[Health | None, Health | None]:
        """The states and status checks of the VM and of the other side's instance."""
        vm_cid, peer_cid = self._vm_cid, (peer.interface.own_vm_cid if peer else None) or ""
        vm_cids = [vm_cid, *filter(None, [peer_cid])]
        found = self._asker.ask("status checks", lambda: instances.health(self._client, vm_cids)) or {}
        return found.get(vm_cid), found.get(peer_cid)

    def _forwarder(self, vm: Side | None, remote: str) -> Nic | None:
        """The interface that the route to the other side leads to, if it leads to one."""
        nic_id = vm.forwarder_id(remote) if vm and remote else ""
        if not nic_id:
            return None
        return self._asker.ask(
            f"network interface {nic_id}", lambda: network_interfaces.with_id(self._client, nic_id)
        )

    def _vpc(self) -> tuple[subnets.Vpc | None, bool | None, tuple[str, ...] | None]:
        """The VPC, whether it has DNS, and the DNS servers of its DHCP options."""
        client, vpc_id = self._client, self._instance.vpc_id
        if vpc_id is None:
            return None, None, None
        vpc = self._asker.ask("the VPC's address ranges", lambda: subnets.find_vpc(client, vpc_id))
        has_dns = self._asker.ask("the VPC's DNS", lambda: subnets.has_dns(client, vpc_id))
        if vpc is None or not vpc.dhcp_options_id.startswith("dopt-"):
            return vpc, has_dns, None
        servers = self._asker.ask("DHCP options", lambda: subnets.dns_servers(client, vpc.dhcp_options_id))
        return vpc, has_dns, servers

    def _has_document(self, settings: AgentSettings | None) -> bool | None:
        """Whether the registry has settings for the VM, if its agent reads them there."""
        if settings is None or settings.problem or not settings.is_minimal:
            return None
        if self._config.registry is None:
            remedy = "Use the configuration of the Director that created the VM"
            self._asker.leave_out("the registry: the configuration has none", remedy)
            return None
        from bosh_aws_cpi.cpi.http_registry import HttpRegistry  # noqa: PLC0415 - for old stemcells only

        try:
            return HttpRegistry(self._config.registry).has(self._vm_cid)
        except CloudError as error:
            remedy = "Run this command where the registry answers"
            self._asker.leave_out(f"the registry: {error.message}", remedy)
            return None


def _host_of(mbus: Address | None) -> str:
    """The host of a message bus to which the agent connects, if it is another one's address; else empty."""
    if mbus is None or mbus.is_of_agent or mbus.is_on_vm or not is_ip(mbus.host):
        return ""
    return mbus.host
