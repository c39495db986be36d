"""Tries each case as the CPI would carry it out, up to the first resource: parse, gather, plan, dry run.

A cloud config does not say what is used together. So each VM type, extension and subnet must work in each az
with something: what is wrong in all azs is an error, and what is wrong in some of them a warning.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, partial
from typing import Any, Final

from bosh_aws_cpi.aws import dry_run, instance_types, subnets
from bosh_aws_cpi.config.cpi_config import CpiConfig
from bosh_aws_cpi.cpi import networks
from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.cpi.disks import create as disks
from bosh_aws_cpi.cpi.lookup import Ask
from bosh_aws_cpi.cpi.vms.create.gather import UNKNOWN_IMAGE, VmFacts, find_image, gather
from bosh_aws_cpi.cpi.vms.create.parse import VmArguments, WantedVm, parse
from bosh_aws_cpi.cpi.vms.create.vm_plan import VmPlan, plan_vm
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.model import Image, InstanceTypeFacts
from bosh_aws_cpi.plan import nics, run_instances
from bosh_aws_cpi.plan import tags as tag_plan
from bosh_aws_cpi.plan.instance_types import static_facts, tabled_facts
from bosh_aws_cpi.properties.disk import DiskProperties
from bosh_aws_cpi.properties.managed_network import ManagedNetwork
from bosh_aws_cpi.properties.network import NetworkCloudProperties
from bosh_aws_cpi.properties.types import Problem, Review
from bosh_aws_cpi.properties.vm import VmProperties
from bosh_aws_cpi.tools.checks import cases, things
from bosh_aws_cpi.tools.checks.account import Account
from bosh_aws_cpi.tools.checks.bosh.rules import read_known
from bosh_aws_cpi.tools.checks.cases import Case
from bosh_aws_cpi.tools.checks.cloud_config import Files
from bosh_aws_cpi.tools.checks.documents import VARIABLE, Node
from bosh_aws_cpi.tools.findings import Finding, Severity, as_warning

Found = list[tuple[Severity, Problem, str]]
"""Severity, problem, and who refuses it."""
_AGENT: Final = "00000000-0000-0000-0000-000000000000"
_CPI, _AWS = "CPI", "AWS"


class Trial:
    """Tries the cases of files.

    Args:
        files: The files.
        config: The configuration.
        account: The account; None for a check without AWS.
        stemcells: The CIDs of stemcells; each VM must be able to run one of them.
    """

    def __init__(
        self, files: Files, config: CpiConfig, account: Account | None, stemcells: Sequence[str]
    ) -> None:
        self._files, self._config, self._account, self._cids = files, config, account, stemcells
        self._types = cases.instance_types(files)
        self._images = [UNKNOWN_IMAGE]
        self._known: dict[str, Found] = {}
        self._cloud = Cloud(config, 3)
        if account is not None:
            self._cloud.clients = account.clients

    def findings(self) -> Iterator[Finding]:
        """What is wrong with the cases."""
        if self._account is not None and self._cids:
            yield from self._stemcells(self._account)
        for of_method, run in (
            (cases.of_deployment, self._vm),
            (cases.of_disks, self._disk),
            (cases.of_managed, self._network),
        ):
            seen: set[object] = set()
            for case in of_method(self._files):
                for each in _findings(case, run(case), ()):
                    which = (each.place and each.place.identity, each.what.removeprefix(case.shown))
                    if which not in seen:
                        seen.add(which)
                        yield each
        yield from self._of_any()

    def _of_any(self) -> Iterator[Finding]:
        """What works with nothing: in all azs an error, in some of them a warning."""
        asked: Counter[Node] = Counter()
        failed: dict[tuple[Node, object], list[list[Finding]]] = {}
        for entries, alternatives in cases.of_vms(self._files):
            fixed = [each for each in entries if each is not None]
            asked.update(fixed)
            at_places: dict[tuple[Node, object], list[Finding]] = {}
            for each in self._failure(fixed, alternatives):
                place = each.place
                owner = next((entry for entry in fixed if place and entry.holds(place)), fixed[0])
                at_places.setdefault((owner, place and place.identity), []).append(each)
            for where, found in at_places.items():
                failed.setdefault(where, []).append(found)
        for (owner, _), found_in in failed.items():
            first = found_in[0]
            others = {each.what for found in found_in for each in found} - {each.what for each in first}
            more = f" (and {len(others)} more)" if others else ""
            for each in first:
                own = each if len(found_in) == asked[owner] else as_warning(each)
                yield own.replaced(what=each.what + more)

    def _failure(self, fixed: Sequence[Node], alternatives: Iterable[Case]) -> list[Finding]:
        """Why none of the requests can succeed, as far as the fixed entries are to blame; else empty."""
        first: list[Finding] = []
        for case in alternatives:
            if not (found := list(_findings(case, self._vm(case), fixed))):
                return []
            first = first or found
        return first

    def _vm(self, case: Case) -> Found:
        """What is wrong with a request for a VM; equal requests are tried once."""
        documents = {name: document for name, (document, _) in case.networks.items()}
        asked = repr((case.cloud_properties, documents, sorted(case.open)))
        if asked not in self._known:
            found = self._tried(case.cloud_properties, documents) if _is_readable(case, documents) else []
            self._known[asked] = [each for each in dict.fromkeys(found) if case.is_known(each[1])]
        return self._known[asked]

    def _tried(self, cloud_properties: Json, documents: Json) -> Found:
        environment = {"bosh": {"group": VARIABLE, "tags": self._files.tags}}
        arguments = VmArguments(_AGENT, VARIABLE, cloud_properties, documents, [], environment)
        review = Review()
        try:
            wanted = parse(self._config, arguments, review)
        except CloudError as error:
            return [(Severity.ERROR, Problem("networks", error.message), _CPI)]
        return [*_refused(review), *min((self._planned(wanted, image) for image in self._images), key=len)]

    def _planned(self, wanted: WantedVm, image: Image) -> Found:
        """What gather, plan and a dry run find, if the stemcell is this AMI."""
        review, account = Review(), self._account
        if account is None:
            facts = VmFacts(image, self._facts, {}, (), wanted.spread, None, (), None)
            plan_vm(self._config, wanted, facts, review, is_registry_used=False)
            return _refused(review)
        facts = gather(self._cloud, wanted, self._asking(account, review, image))
        plan = plan_vm(self._config, wanted, facts, review, is_registry_used=False)
        ask = self._asking(account, review, image)
        vpc_id = next((each.vpc_id for each in facts.subnets.values()), "")
        of_things = things.of_vm(wanted, vpc_id, self._config.aws, account.clients, ask, self._types)
        found = [*_refused(review), *((*each, _AWS) for each in of_things)]
        if plan is not None and image is not UNKNOWN_IMAGE and not found:
            found += self._dry_run(account, plan)
        return found

    def _asking(self, account: Account, review: Review, image: Image = UNKNOWN_IMAGE) -> Ask:
        """How the stages of a method look things up."""

        def ask(key: str, look_up: Callable[[], Any]) -> Any:  # noqa: ANN401 - the answer of any lookup
            if key == "stemcell":
                return image
            if key == "instance_type":
                return self._facts
            answer, problems = account.ask(key, look_up)
            review.problems += problems
            return answer

        return ask

    @cached_property
    def _facts(self) -> dict[str, InstanceTypeFacts]:
        """The facts about all instance types of the files, looked up together."""
        details: dict[str, instance_types.TypeDetails] = {}
        if self._account is not None and self._config.aws.enable_describe_instance_types:
            look_up = partial(instance_types.types, self._account.clients.ec2, self._types)
            details = self._account.ask("instance types", look_up)[0] or {}
        known = {name: each.facts for name, each in details.items()}
        # One that nothing is known of may have an instance store.
        return {
            name: known.get(name) or tabled_facts(name) or static_facts(name).replaced(store_disks=1)
            for name in self._types
        }

    def _dry_run(self, account: Account, plan: VmPlan) -> Found:
        """What EC2 says of the launch itself, without what depends on today's state."""
        option, spec = plan.options[0], plan.spec.replaced(spread=None)
        first = plan.nic_plans[0].replaced(ipv4_address=None, ipv6_address=None, is_ipv6_primary=False)
        is_public = spec.properties.auto_assign_public_ip
        interface = nics.inline_specification(first, plan.group_ids, is_public=is_public)
        arguments = run_instances.arguments(
            spec, option, interfaces=[interface], user_data="", client_token=""
        )
        left_out = ("CapacityReservationSpecification", "ClientToken", "Placement", "UserData")
        kept = {key: value for key, value in arguments.items() if key not in left_out}
        kept |= {"MinCount": 1, "MaxCount": 1}
        return _dry_run(account, account.clients.ec2.run_instances, kept)

    def _disk(self, case: Case) -> Found:
        """What is wrong with a request for a disk."""
        size = case.user.get("disk_size")
        mib = size.value if size is not None and isinstance(size.value, int) else 0
        if case.is_open or mib <= 0 or read_known(DiskProperties, case.cloud_properties) is None:
            return []
        review, account = Review(), self._account
        try:
            wanted = disks.parse(self._config, mib, case.cloud_properties, review)
        except CloudError:  # a default is wrong, which is said once
            return []
        found = _refused(review)
        if account is not None and not found:
            answers = self._asking(account, review)
            review.problems += disks.snapshot_problems(self._cloud, wanted, answers)
            of_key = things.of_key(wanted.encryption, account.clients, answers)
            found = [*_refused(review), *((*each, _AWS) for each in of_key)]
            zone, _ = account.ask("zones", lambda: subnets.ordinary_zones(account.clients.ec2)[0])
            if not found and zone:
                tags = tag_plan.specifications(wanted.tags, "volume")
                arguments = {**wanted.arguments, **tags, "AvailabilityZone": zone}
                found = _dry_run(account, account.clients.ec2.create_volume, arguments)
        return [each for each in found if case.is_known(each[1])]

    def _network(self, case: Case) -> Found:
        """What is wrong with a request for a managed network."""
        keys = ("range", "gateway", "netmask_bits")
        values = {key: node.value for key in keys if (node := case.user.get(key)) is not None}
        document = {**values, "cloud_properties": case.cloud_properties}
        review, account = Review(), self._account
        if case.user.has_variables or case.is_open or read_known(ManagedNetwork, document) is None:
            return []
        request = networks.parse(self._config, document, "", review)
        if account is not None and not review.problems:
            answers = self._asking(account, review)
            vpc = networks.gather(self._cloud, request.wish, answers)
            if vpc is not None:
                existing = answers("range", lambda: subnets.of_vpc(account.clients.ec2, vpc.vpc_id)) or []
                review.attempt("range", lambda: request.ranges(vpc, existing, ()))
        (name,) = case.networks
        return [
            (severity, each.replaced(key=f"networks.{name}.{each.key}"), by)
            for severity, each, by in _refused(review)
        ]

    def _stemcells(self, account: Account) -> Iterator[Finding]:
        """Look up the stemcells' AMIs."""
        self._images = []
        for cid in self._cids:
            found, problems = account.ask("stemcell", partial(find_image, self._cloud, cid))
            self._images += [found] if found is not None else []
            yield from (Finding(Severity.ERROR, each.text, source=_AWS) for each in problems)
        self._images = self._images or [UNKNOWN_IMAGE]


def _is_readable(case: Case, documents: Json) -> bool:
    """Whether nothing has a wrong type, which is said of the file's form."""
    of_networks = (each["cloud_properties"] for each in documents.values() if "cloud_properties" in each)
    return (
        not case.is_open
        and read_known(VmProperties, case.cloud_properties) is not None
        and all(read_known(NetworkCloudProperties, each) is not None for each in of_networks)
    )


def _refused(review: Review) -> Found:
    return [(Severity.ERROR, each, _CPI) for each in (*review.problems, *review.ignored)]


def _dry_run(account: Account, call: Callable[..., object], arguments: Json) -> Found:
    text, _ = account.ask("dry run", lambda: dry_run.refusal(call, arguments))
    return [(Severity.ERROR, Problem("", text), _AWS)] if text else []


def _findings(case: Case, found: Found, fixed: Sequence[Node]) -> Iterator[Finding]:
    """Findings at their places; with fixed entries only those for which one of these is to blame.

    Of the properties that have a part in a problem, the first that is in one of these is blamed.
    """
    for severity, problem, source in found:
        places = [case.blamed(key, problem.text) for key in (problem.key, *problem.beside)]
        if fixed:
            own = [places[0]] if any(each.holds(places[0]) for each in fixed) else []
            places = [*own, *(place for place in places if fixed[0].holds(place) or not place.file)]
        if places:
            remedy = case.remedy(problem.key)
            yield Finding(severity, f"{case.shown}{problem.text}", remedy, places[0], source)
