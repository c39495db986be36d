"""The addresses of subnets: ranges as BOSH reads them, and the addresses that AWS reserves. Pure.

What can't be read, BOSH refuses.
"""

from collections.abc import Iterable, Iterator
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network, summarize_address_range
from typing import Final

from bosh_aws_cpi.model import KEPT_FIRST
from bosh_aws_cpi.properties.network import DELEGATED_LENGTHS
from bosh_aws_cpi.tools.checks.bosh_rules import BOSH_CLI, DIRECTOR, hashes, name_of, refusal, text_of
from bosh_aws_cpi.tools.checks.cloud_config import Files, is_managed, type_of
from bosh_aws_cpi.tools.checks.documents import Node
from bosh_aws_cpi.tools.findings import Finding, Severity

AnyAddress = IPv4Address | IPv6Address
AnyNetwork = IPv4Network | IPv6Network
_ROUTER: Final = 1
"""The index of the address that AWS's router has in a subnet (VPC user guide, "Subnet CIDR blocks")."""
_SINGLE: Final = {4: "32", 6: "128"}
"""The prefixes of single addresses, by version of IP."""
NO_RANGE: Final = "a managed subnet has neither range nor prefix, so the Director can't give addresses"
"""What the Director only refuses of a network that it uses."""
ADDRESSES: Final = ("range", "gateway", "reserved", "static")
"""What a manual network's subnet has of addresses in it."""
_FORMS: Final = {
    "range": "a range of several addresses in CIDR notation",
    "gateway": "one address",
    "dns": "one address",
    "reserved": "an address, FIRST-LAST or a range in CIDR notation",
}
"""How the Director reads what a subnet has."""


def ranges_of(node: Node | None) -> list[tuple[Node, tuple[AnyNetwork, ...]]]:
    """The readable ranges of a list, which may be nested, or of a single text: each with its blocks."""
    if node is not None and isinstance(node.value, list):
        return [each for entry in node.entries() for each in ranges_of(entry)]
    networks = _parse_blocks(node.value) if node is not None and isinstance(node.value, str) else None
    return [(node, networks)] if node is not None and networks is not None else []


def _parse_blocks(text: str) -> tuple[AnyNetwork, ...] | None:
    """Parse an address, "FIRST-LAST" or a range in CIDR notation into blocks; None for another text.

    FIRST and LAST may have their full prefix, such as /32 (BOSH: string_to_range in ip_util.rb).
    """
    if "-" not in text:
        one = _network_of(text.strip())
        return (one,) if one is not None else None
    try:
        first, last = (address_of(part.strip()) for part in text.split("-"))
        return tuple(summarize_address_range(first, last)) if first <= last else ()  # type: ignore[operator,arg-type]  # of two versions, or None: TypeError
    except (ValueError, TypeError):
        return None


def _network_of(text: object) -> AnyNetwork | None:
    """Parse an address or a range in CIDR notation; None for anything else."""
    try:
        return ip_network(text, strict=False) if isinstance(text, str) else None
    except ValueError:
        return None


def range_of(text: object) -> AnyNetwork | None:
    """Parse a range in CIDR notation; None for anything else."""
    return _network_of(text) if "/" in str(text) else None


def address_of(text: object) -> AnyAddress | None:
    """Parse an address; None for anything else. The Director also accepts its full prefix, "/32"."""
    network = _network_of(text)
    return network.network_address if network is not None and network.num_addresses == 1 else None


def is_within(part: AnyNetwork, whole: AnyNetwork) -> bool:
    """Whether all addresses of a range are in another."""
    return whole.version == part.version and part.subnet_of(whole)  # type: ignore[arg-type]  # of one version


def overlaps(first: AnyNetwork, others: Iterable[AnyNetwork]) -> bool:
    """Whether a range has an address in common with any of the others."""
    return any(map(first.overlaps, others))


def findings(files: Files) -> Iterator[Finding]:
    """Check the addresses of all manual networks; create-env's VM has those of its instance group."""
    source = BOSH_CLI if files.is_for_create_env else DIRECTOR
    for network, subnet in files.subnets:
        if type_of(network) != "manual":
            continue
        whole = range_of(text_of(subnet.get("range")))
        if is_managed(network) and not subnet.value.get("range") and not subnet.value.get("prefix"):
            yield refusal(subnet, NO_RANGE, "Add prefix: 32")
        if not files.is_for_create_env:
            yield from _prefix(subnet, whole)
        if whole is None or whole.num_addresses == 1:
            continue
        gateway = [*_gateway(subnet, whole, source)]
        yield from gateway
        is_right = address_of(subnet.value.get("gateway")) is not None and all(
            each.severity is not Severity.ERROR for each in gateway
        )
        is_single = text_of(subnet.get("prefix")) in {"", _SINGLE[whole.version]}
        is_known = not any(subnet.at(key).has_variables for key in ADDRESSES)
        if not files.is_for_create_env and not is_managed(network) and is_single and is_known:
            yield from _kept(subnet.get("static"), whole, Severity.WARNING, "Give them to no instance")
            yield from _given_by_bosh(subnet, whole) if is_right else ()
        for group in files.groups:
            for entry in hashes(group.get("networks")):
                if name_of(entry) == name_of(network):
                    yield from _kept(entry.get("static_ips"), whole, Severity.ERROR, "Use another address")


def unreadable_addresses(files: Files) -> Iterator[Finding]:
    """Find addresses of subnets that the Director can't read, and reserved ones outside of the range."""
    subnets = files.subnets if not files.is_for_create_env else []
    keys = (
        (subnet, key)
        for network, subnet in subnets
        for key in _FORMS
        if key == "dns" or type_of(network) == "manual"
    )
    for subnet, key in keys:
        node, whole = subnet.get(key), range_of(text_of(subnet.get("range")))
        whole = None if whole is None or whole.num_addresses == 1 else whole
        for each in node.texts() if node is not None else ():
            blocks, is_single = _parse_blocks(each.value), address_of(each.value) is not None
            if not {"range": whole is not None, "reserved": blocks is not None}.get(key, is_single):
                yield refusal(each, f"must be {_FORMS[key]}, got '{each.value}'")
            elif key == "reserved" and whole and not all(is_within(one, whole) for one in blocks or ()):
                yield refusal(each, f"reserved '{each.value}' is outside of the range {whole}")


def _gateway(subnet: Node, whole: AnyNetwork, source: str) -> Iterator[Finding]:
    """Find a gateway that BOSH refuses, or that is not AWS's router."""
    address, router, node = address_of(subnet.value.get("gateway")), whole[_ROUTER], subnet.at("gateway")
    ends = {whole[0]: "the range's first address", whole[-1]: "the range's last address"}
    if address is None or address == router:
        return
    if why := "outside of the range" if address not in whole else ends.get(address):
        yield refusal(node, f"the gateway {address} is {why}", f"Use {router}", source)
    elif whole.version == 4:  # noqa: PLR2004 - IPv4
        what = f"{address} is not AWS's router, which has the address {router} in a subnet {whole}"
        yield Finding(Severity.WARNING, what, f"Use {router}", node.place, "AWS")


def delegated_prefix(subnet: Node) -> str:
    """A subnet's prefix, if EC2 delegates it, in a range of IPv4 if none is known; else it is a finding."""
    whole = range_of(text_of(subnet.get("range")))
    prefix, version = text_of(subnet.get("prefix")), 4 if whole is None else whole.version
    return prefix if prefix == str(DELEGATED_LENGTHS[version]) else ""


def _prefix(subnet: Node, whole: AnyNetwork | None) -> Iterator[Finding]:
    """Find a prefix that EC2 does not delegate."""
    prefix, versions = text_of(subnet.get("prefix")), [4, 6] if whole is None else [whole.version]
    if prefix and all(prefix not in {_SINGLE[each], str(DELEGATED_LENGTHS[each])} for each in versions):
        shown = " or ".join(f"/{DELEGATED_LENGTHS[each]} of IPv{each}" for each in versions)
        what = f"EC2 delegates only prefixes {shown}, not /{prefix}"
        remedy = f"Use {' or '.join(str(DELEGATED_LENGTHS[each]) for each in versions)}, or remove prefix"
        yield Finding(Severity.ERROR, what, remedy, subnet.at("prefix").place)


def _kept(addresses: Node | None, whole: AnyNetwork, severity: Severity, remedy: str) -> Iterator[Finding]:
    """Find static addresses that AWS reserves."""
    for node, blocks in ranges_of(addresses):
        if any(overlaps(one, kept_by_aws(whole)) for one in blocks):
            kept = f"{whole[0]}-{whole[KEPT_FIRST - 1]} and {whole[-1]}"
            what = f"static '{node.value}' contains addresses that AWS keeps: {kept}"
            yield Finding(severity, what, remedy, node.place, "AWS")


def _given_by_bosh(subnet: Node, whole: AnyNetwork) -> Iterator[Finding]:
    """A VM that gets an address which AWS keeps can't be created.

    The Director gives the first address that is not reserved; the range's first and last one, and the
    gateway, are. If the gateway isn't AWS's router, the range may be only a part of a subnet in AWS.
    """
    gateway = address_of(subnet.value.get("gateway"))
    taken = [ip_network(each) for each in (gateway, whole[0], whole[-1]) if each is not None]
    for key in ("reserved", "static"):
        taken += [one for _, blocks in ranges_of(subnet.get(key)) for one in blocks]
    if given := [one for one in kept_by_aws(whole) if not overlaps(one, taken)]:
        first, last = given[0].network_address, given[-1].network_address
        listed = str(first) if first == last else f"{first}-{last}"
        severity = Severity.ERROR if gateway == whole[_ROUTER] else Severity.WARNING
        what = f"AWS keeps {listed}, which is not reserved: a VM that BOSH gives it can't be created"
        yield Finding(severity, what, f"Add to reserved: {listed}", subnet.at("range").place, "AWS")


def kept_by_aws(whole: AnyNetwork) -> list[AnyNetwork]:
    """The addresses of a subnet that AWS keeps: the first four and the last."""
    first = [ip_network(whole[index]) for index in range(min(KEPT_FIRST, whole.num_addresses))]
    return [*first, ip_network(whole[-1])]
