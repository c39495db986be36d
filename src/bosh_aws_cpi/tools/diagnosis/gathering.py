"""Asks AWS, and the registry, about one VM: a fixed number of calls, each of which may be refused."""

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from botocore.exceptions import ClientError

from bosh_aws_cpi import log
from bosh_aws_cpi.aws import endpoints, firewalls, instance_health, routes, vpc_settings
from bosh_aws_cpi.aws.endpoints import Endpoint
from bosh_aws_cpi.aws.instance_health import Details
from bosh_aws_cpi.aws.sdk.error_codes import UNAUTHORIZED
from bosh_aws_cpi.aws.sdk.errors import described, has_code
from bosh_aws_cpi.config.cpi_config import CpiConfig
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.tools.diagnosis import settings as agent_settings
from bosh_aws_cpi.tools.diagnosis.facts import Facts, Network, Side, own_endpoint, peer_endpoint
from bosh_aws_cpi.tools.diagnosis.settings import Address, AgentSettings, is_ip
from bosh_aws_cpi.tools.findings import Finding, Severity

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client

Answer = TypeVar("Answer")


def gather(client: "EC2Client", config: CpiConfig, vm_cid: str, director: str) -> Facts:
    """Look at a VM; nothing is changed.

    Args:
        client: The EC2 client.
        config: The configuration; its agent and registry sections complete the user data.
        vm_cid: The instance.
        director: The Director's address, or for `bosh create-env` the operator's; empty for the host in the
            VM's message bus.

    Raises:
        VMNotFound: EC2 does not know the instance.
        ClientError: EC2 refuses to describe it.
    """
    details = instance_health.details(client, vm_cid)
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
        health = self._ask("status checks", lambda: instance_health.health(client, vm_cid))
        console = self._ask("the console", lambda: instance_health.console(client, vm_cid))
        mbus = settings.mbus if settings and settings.mbus else self._configured_mbus()
        remote = director or (mbus.host if mbus and is_ip(mbus.host) and not mbus.is_of_agent else "")
        holders = self._holders(remote)
        vm, peer = self._sides(holders, settings.gateway if settings else "")
        vpc, has_dns, dns_servers = self._vpc()
        return Facts(
            details=self._details,
            health=health,
            console=None if console is None else log.redact(console),
            settings=settings,
            mbus=mbus,
            remote=remote,
            vm=vm,
            peer=peer,
            holders=holders,
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
        log.redact.learn(agent_settings.parsed(data))
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

    def _sides(self, holders: tuple[Endpoint, ...] | None, gateway: str) -> tuple[Side | None, Side | None]:
        """The VM's interface and the Director's, with what filters their traffic."""
        client, own = self._client, self._details.endpoints
        peer = peer_endpoint(holders or (), {endpoint.vpc_id for endpoint in own})
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
        """Call once; None if AWS answers with an error, which becomes a finding."""
        try:
            return call()
        except ClientError as error:
            is_refused = has_code(error, UNAUTHORIZED)
            remedy = f"Allow ec2:{error.operation_name}" if is_refused else ""
            self._leave_out(f"{what}: {described(error)}", remedy)
            return None

    def _leave_out(self, what: str, remedy: str) -> None:
        self._not_checked.append(Finding(Severity.NOT_CHECKED, what, remedy, source="AWS"))
