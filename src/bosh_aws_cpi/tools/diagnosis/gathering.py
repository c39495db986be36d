"""Asks AWS, and the registry, about one VM: a fixed number of calls, each of which may be refused."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, TypeVar

from botocore.exceptions import ClientError, HTTPClientError
from botocore.exceptions import ConnectionError as NotConnected

from bosh_aws_cpi import log
from bosh_aws_cpi.aws import endpoints, firewalls, instance_health, routes, vpc_settings
from bosh_aws_cpi.aws.endpoints import Endpoint
from bosh_aws_cpi.aws.instance_health import Details, Health
from bosh_aws_cpi.aws.sdk.error_codes import UNAUTHORIZED
from bosh_aws_cpi.aws.sdk.errors import described, has_code
from bosh_aws_cpi.config.cpi_config import CpiConfig
from bosh_aws_cpi.errors import CloudError, VMNotFound
from bosh_aws_cpi.tools.diagnosis import console
from bosh_aws_cpi.tools.diagnosis import settings as agent_settings
from bosh_aws_cpi.tools.diagnosis.facts import Facts, Network, Side, is_in_vpc, own_endpoint, peer_endpoint
from bosh_aws_cpi.tools.diagnosis.settings import Address, AgentSettings, is_ip
from bosh_aws_cpi.tools.findings import Finding, Severity

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client

Answer = TypeVar("Answer")

_AGAIN: Final = "Repeat this command"
_UNKNOWN: Final = (
    "VM_CID must be an instance's id, i-…, of this region and account. EC2 forgets an instance about an hour "
    "after its end; BOSH deletes a VM that timed out, unless director.debug.keep_unreachable_vms is true"
)


def details(client: "EC2Client", config: CpiConfig, vm_cid: str) -> Details:
    """Describe a VM; this call must succeed.

    Raises:
        CloudError: EC2 does not know the instance.
        ClientError: EC2 refuses to describe it.
    """
    try:
        return instance_health.details(client, vm_cid)
    except VMNotFound as error:
        message = f"{error.message} in {config.aws.region}. {_UNKNOWN}"
        raise CloudError(message) from error


def gather(client: "EC2Client", config: CpiConfig, details: Details, director: str) -> Facts:
    """Look at a VM; nothing is changed.

    Args:
        client: The EC2 client, which does not retry: what AWS does not answer at once is left out.
        config: The configuration; its agent and registry sections complete the user data.
        details: The instance.
        director: The Director's address, or for `bosh create-env` the operator's; empty for the host in the
            VM's message bus.
    """
    if details.instance.is_ending:
        return Facts(details)
    return _Gathering(client, config, details).facts(director)


class _Gathering:
    """The calls about one VM, one after the other."""

    def __init__(self, client: "EC2Client", config: CpiConfig, details: Details) -> None:
        self._client = client
        self._config = config
        self._details = details
        self._vm_cid = details.instance.vm_cid
        self._not_checked: list[Finding] = []

    def facts(self, director: str) -> Facts:
        client, vm_cid = self._client, self._vm_cid
        settings = self._settings()  # first, because it tells which secrets the console may show
        text = self._ask("the console", lambda: instance_health.console(client, vm_cid))
        mbus = settings.mbus if settings and settings.mbus else self._configured_mbus()
        remote = director or (mbus.host if mbus and is_ip(mbus.host) and not mbus.is_of_agent else "")
        holders = self._holders(remote)
        vpc, has_dns, dns_servers = self._vpc()
        is_local = is_in_vpc(vpc, remote)
        vm, peer = self._sides(holders, settings.gateway if settings else "", is_local=is_local)
        health, peer_health = self._health(vm_cid, peer)
        return Facts(
            details=self._details,
            now=datetime.now(UTC),
            health=health,
            console=None if text is None else console.masked(text, log.redact),
            settings=settings,
            mbus=mbus,
            remote=remote,
            vm=vm,
            peer=peer,
            holders=holders,
            peer_health=peer_health,
            forwarder=self._forwarder(vm, remote),
            vpc=vpc,
            has_dns=has_dns,
            dns_servers=dns_servers,
            has_document=self._has_document(settings),
            registry=agent_settings.address(self._config.registry.base_url)
            if self._config.registry
            else None,
            not_checked=tuple(self._not_checked),
        )

    def _settings(self) -> AgentSettings | None:
        data = self._ask("user data", lambda: instance_health.user_data(self._client, self._vm_cid))
        if data is None:
            return None
        document = agent_settings.parsed(data)
        log.redact.learn(document)
        log.redact.learn({"secret": agent_settings.secret_lines(document)})
        return agent_settings.read(data)

    def _configured_mbus(self) -> Address | None:
        return agent_settings.address(self._config.agent.get("mbus"))

    def _holders(self, remote: str) -> tuple[Endpoint, ...] | None:
        """The interfaces with the other side's address: the Director's, or a jumpbox's."""
        if not remote:
            return None
        found = self._ask(
            "who has the Director's address", lambda: endpoints.with_address(self._client, remote)
        )
        return None if found is None else tuple(found)

    def _sides(
        self, holders: tuple[Endpoint, ...] | None, gateway: str, *, is_local: bool
    ) -> tuple[Side | None, Side | None]:
        """The VM's interface and the Director's, with what filters their traffic."""
        client, own = self._client, self._details.endpoints
        peer = peer_endpoint(holders or (), {endpoint.vpc_id for endpoint in own}, is_local=is_local)
        vm = own_endpoint(own, gateway, peer)
        if vm is None:
            return None, None
        both = [vm, peer] if peer else [vm]
        vpc_ids = {each.vpc_id for each in both}
        group_ids = {group_id for each in both for group_id in each.group_ids}
        network = Network(
            self._ask("security groups", lambda: firewalls.groups(client, group_ids)),
            self._ask("network ACLs", lambda: firewalls.acls(client, vpc_ids)),
            self._ask("routes", lambda: routes.of_vpcs(client, vpc_ids)),
        )
        return network.side(vm), network.side(peer) if peer else None

    def _health(self, vm_cid: str, peer: Side | None) -> tuple[Health | None, Health | None]:
        """The states and status checks of the VM and of the other side's instance."""
        peer_cid = peer.endpoint.vm_cid if peer else ""
        vm_cids = [vm_cid, *filter(None, [peer_cid])]
        found = self._ask("status checks", lambda: instance_health.health(self._client, vm_cids)) or {}
        return found.get(vm_cid), found.get(peer_cid)

    def _forwarder(self, vm: Side | None, remote: str) -> Endpoint | None:
        """The interface that the route to the other side leads to, if it leads to one."""
        nic_id = vm.forwarder_id(remote) if vm and remote else ""
        if not nic_id:
            return None
        return self._ask(f"network interface {nic_id}", lambda: endpoints.with_id(self._client, nic_id))

    def _vpc(self) -> tuple[vpc_settings.Vpc | None, bool | None, tuple[str, ...] | None]:
        """The VPC, whether it has DNS, and the DNS servers of its DHCP options."""
        client, vpc_id = self._client, self._details.instance.vpc_id
        if vpc_id is None:
            return None, None, None
        vpc = self._ask("the VPC's address ranges", lambda: vpc_settings.find(client, vpc_id))
        has_dns = self._ask("the VPC's DNS", lambda: vpc_settings.has_dns(client, vpc_id))
        if vpc is None or not vpc.dhcp_options_id.startswith("dopt-"):
            return vpc, has_dns, None
        servers = self._ask("DHCP options", lambda: vpc_settings.dns_servers(client, vpc.dhcp_options_id))
        return vpc, has_dns, servers

    def _has_document(self, settings: AgentSettings | None) -> bool | None:
        """Whether the registry has settings for the VM, if its agent reads them there."""
        if settings is None or settings.problem or not settings.is_minimal:
            return None
        if self._config.registry is None:
            remedy = "Use the configuration of the Director that created the VM"
            self._leave_out("the registry: the configuration has none", remedy)
            return None
        from bosh_aws_cpi.cpi.registry.http import HttpRegistry  # noqa: PLC0415 - for old stemcells only

        try:
            return HttpRegistry(self._config.registry).has(self._vm_cid)
        except CloudError as error:
            self._leave_out(f"the registry: {error.message}", "Run this command where the registry answers")
            return None

    def _ask(self, what: str, call: Callable[[], Answer]) -> Answer | None:
        """Call once; None if AWS answers with an error or not at all, which becomes a finding."""
        try:
            return call()
        except (ClientError, HTTPClientError, NotConnected) as error:
            refused = (
                error.operation_name
                if isinstance(error, ClientError) and has_code(error, UNAUTHORIZED)
                else ""
            )
            self._leave_out(f"{what}: {described(error)}", f"Allow ec2:{refused}" if refused else _AGAIN)
            return None

    def _leave_out(self, what: str, remedy: str) -> None:
        self._not_checked.append(Finding(Severity.NOT_CHECKED, what, remedy, source="AWS"))
