"""Tries the requests as the CPI would carry them out, up to the first resource: parse, gather, plan, dry run.

A cloud config does not say what is used together. So each VM type, extension and subnet must work in each az
with something: what is wrong in all azs is an error, and what is wrong in some of them a warning.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import islice
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
from bosh_aws_cpi.tools.checks.bosh.rules import read_known, text_of
from bosh_aws_cpi.tools.checks.cases import Case
from bosh_aws_cpi.tools.checks.cloud_config import Files
from bosh_aws_cpi.tools.checks.documents import VARIABLE, Node, variables_in
from bosh_aws_cpi.tools.checks.property_values import is_no_zone
from bosh_aws_cpi.tools.findings import Finding, Place, Severity, as_warning

Found = list[tuple[Severity, Problem, str]]
"""Severity, problem, and who refuses it."""
Failure = tuple[Node | None, str, list[Finding]]
"""Which entry fails, whose request fails, and why, at one place; no entry if the request is certain."""
_AGENT: Final = "00000000-0000-0000-0000-000000000000"
_CPI, _AWS = "CPI", "AWS"
_LEAST_VMS, _TRIALS = 8, 3000
"""With how many VM types an extension or a subnet is tried: at least so many, and as long as time allows."""
_OF_CALL: Final = re.compile(r" Encoded authorization failure message| \(request id")
"""Begins what differs between equal refusals of EC2."""
_NOT_TRIED: Final = Finding(
    Severity.NOTE, "EC2 was not asked whether it would launch the VMs", "Name a stemcell: --stemcell CID"
)


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
        self._refusals: dict[str, str] = {}
        self._alike: dict[int, Found] = {}
        lists = files.lists
        self._most_vms = max(_LEAST_VMS, _TRIALS // max(len(lists["vm_extensions"]) + len(files.subnets), 1))
        self._cloud = Cloud(config, 3)
        if account is not None:
            self._cloud.clients = account.clients

    def findings(self) -> Iterator[Finding]:
        """What is wrong with the cases; what several of them have at one place is one finding."""
        if self._account is not None:
            yield from self._stemcells(self._account) if self._cids else [_NOT_TRIED]
        asked: Counter[Node] = Counter()
        at_places: dict[object, list[Failure]] = {}
        for where, failure in self._failures(asked):
            at_places.setdefault(where, []).append(failure)
        for failures in at_places.values():
            yield from _joined(failures, asked)

    def _failures(self, asked: Counter[Node]) -> Iterator[tuple[object, Failure]]:
        """What is wrong with each request that is certain, and with each entry in each az.

        Args:
            asked: Gets the number of questions about each entry and az.
        """
        for of_method, run in (
            (cases.of_deployment, self._vm),
            (cases.of_disks, self._disk),
            (cases.of_managed, self._network),
        ):
            for case in of_method(self._files):
                for where, found in _by_place(case, run(case), ()).items():
                    is_said = found[0].place is not None and case.user.holds(found[0].place)
                    yield where, (None, "" if is_said else case.shown, found)
        for entry, azs in cases.of_vms(self._files, self._facts):
            for az, vms in azs:
                fixed = [each for each in (entry, az) if each is not None]
                asked.update(fixed)
                at_places, is_everywhere = self._failure(fixed, vms)
                for where, found in at_places.items():
                    owner = next(
                        (each for each in fixed if found[0].place and each.holds(found[0].place)), entry
                    )
                    yield where, (None if is_everywhere else owner, "", found)
                if is_everywhere:
                    break

    def _failure(
        self, fixed: Sequence[Node], vms: Iterator[Iterable[Case]]
    ) -> tuple[dict[object, list[Finding]], bool]:
        """Why no VM has a request that can succeed, and whether that is the same in each az.

        Args:
            fixed: What the VMs have in common, an entry and its az: one of them must be to blame.
            vms: The requests for each VM.
        """
        first: dict[object, list[Finding]] = {}
        is_everywhere, is_own = True, False
        for requests in islice(vms, self._most_vms):
            local: list[bool] = []
            for case in requests:
                found = self._vm(case)
                wrong = [each for _, each, _ in _errors(found) if _blamed(case, each, fixed)]
                if not wrong:
                    return _by_place(case, found, fixed), False
                first = first or _by_place(case, found, fixed)
                local = [case.is_local(each, fixed[0]) for each in wrong]
                is_own = any(case.is_within(each, fixed[0]) for each in wrong)
                if is_own or not all(local):  # other subnets change nothing
                    break
            is_everywhere = is_everywhere and not any(local)
            if is_own:  # so do other VMs
                break
        if not is_own and next(vms, None) is not None:  # it may work with others
            first = {where: [*map(as_warning, found)] for where, found in first.items()}
        return first, bool(first) and is_everywhere

    def _vm(self, case: Case) -> Found:
        """What is wrong with a request for a VM."""
        if case.is_open:
            return []
        documents = {name: document for name, (document, _) in case.networks.items()}
        if self._account is not None:
            found = self._tried(case, documents)
        else:
            alike = hash(repr(_without_place(case.cloud_properties, documents)))
            if alike not in self._alike:
                self._alike[alike] = self._tried(case, documents)
            found = self._alike[alike]
        return [each for each in found if case.is_known(each[1])]

    def _tried(self, case: Case, documents: Json) -> Found:
        tags = case.tags.entries() if case.tags is not None else []
        of_director = {str(each.route[-1]): each.value for each in tags if not each.has_variables}
        environment = {"bosh": {"group": VARIABLE, "tags": of_director}}
        arguments = VmArguments(_AGENT, VARIABLE, case.cloud_properties, documents, [], environment)
        review = Review()
        try:
            wanted = parse(self._config, arguments, review)
        except CloudError as error:
            is_wrong = _is_readable(case.cloud_properties, documents)  # else its form is wrong, which is said
            return [(Severity.ERROR, Problem("networks", error.message), _CPI)] if is_wrong else []
        wrong = {each.key.partition(".")[0] for each in review.problems}
        of_images = (self._planned(wanted, image, wrong) for image in self._images)
        return [*dict.fromkeys([*_refused(review), *min(of_images, key=len)])]

    def _planned(self, wanted: WantedVm, image: Image, wrong: set[str]) -> Found:
        """What gather, plan and a dry run find, if the stemcell is this AMI.

        Args:
            wanted: The VM.
            image: The AMI.
            wrong: What parse has found wrong, and AWS need not be asked about.
        """
        review, account = Review(), self._account
        if account is None:
            facts = VmFacts(image, self._facts, None, (), wanted.spread, None, (), None)
            plan_vm(self._config, wanted, facts, review, is_registry_used=False)
            return _refused(review)
        known = {"stemcell": image, "instance_type": self._facts, "subnets": self._subnets(wanted)}
        known |= dict.fromkeys(wrong - known.keys())
        facts = gather(self._cloud, wanted, self._asking(account, review, known))
        plan = plan_vm(self._config, wanted, facts, review, is_registry_used=False)
        vpc_id = next((each.vpc_id for each in (facts.subnets or {}).values()), "")
        of_things = [*things.of_vm(wanted, vpc_id, self._config.aws, account, self._types)]
        zone = "availability_zone"
        if any(each.key == zone for _, each in of_things) or is_no_zone(
            str(wanted.properties.availability_zone)
        ):
            review.problems = [each for each in review.problems if zone not in each.beside]
        found = [*_refused(review), *((*each, _AWS) for each in of_things)]
        if plan is not None and image is not UNKNOWN_IMAGE and not found:
            found += self._launched(account, plan)
        return found

    def _asking(self, account: Account, review: Review, known: Mapping[str, object] = {}) -> Ask:
        """How the stages of a method look things up.

        Args:
            account: The account.
            review: Gets the problems.
            known: The answers that are known already, which may be that there is none.
        """

        def ask(key: str, look_up: Callable[[], Any]) -> Any:  # noqa: ANN401 - the answer of any lookup
            if key in known:
                return known[key]
            answer, problems = account.ask(key, look_up)
            review.problems += problems
            return answer

        return ask

    def _subnets(self, wanted: WantedVm) -> Mapping[str, object] | None:
        """A VM's subnets that exist, of all those of the files, which are looked up together."""
        is_open = any(map(variables_in, wanted.subnet_ids))
        if (
            self._account is None
            or is_open
            or (found := things.subnets_of(self._account, self._files)) is None
        ):
            return None
        return {each: found[each] for each in wanted.subnet_ids if each in found}

    @cached_property
    def _facts(self) -> dict[str, InstanceTypeFacts]:
        """The facts about all instance types of the files, looked up together."""
        details: Mapping[str, instance_types.TypeDetails] = {}
        if self._account is not None and self._config.aws.enable_describe_instance_types:
            details = things.types_of(self._account, self._types)
        known = {name: each.facts for name, each in details.items()}
        # One that nothing is known of may have an instance store.
        return {
            name: known.get(name) or tabled_facts(name) or static_facts(name).replaced(store_disks=1)
            for name in self._types
        }

    def _launched(self, account: Account, plan: VmPlan) -> Found:
        """What EC2 says of the launch itself, without what depends on today's state.

        Each kind of VM is tried in one subnet, and each subnet with one kind.
        """
        option, spec = plan.options[0], plan.spec.replaced(spread=None)
        first = plan.nic_plans[0].replaced(ipv4_address=None, ipv6_address=None, is_ipv6_primary=False)
        is_public = spec.properties.auto_assign_public_ip
        interface = nics.inline_specification(first, plan.group_ids, is_public=is_public)
        arguments = run_instances.arguments(
            spec, option, interfaces=[interface], user_data="", client_token=""
        )
        for key in ("CapacityReservationSpecification", "ClientToken", "UserData"):
            arguments.pop(key, None)
        kind = repr({**arguments, "NetworkInterfaces": interface.keys(), "Placement": ""})
        if refusal := self._refusals.get(kind):
            return [(Severity.ERROR, Problem("", refusal), _AWS)]
        if kind in self._refusals and self._refusals.get(first.subnet_id) == "":
            return []
        call = partial(account.clients.ec2.run_instances, MinCount=1, MaxCount=1)
        found = _dry_run(account, call, arguments)
        self._refusals[kind] = self._refusals[first.subnet_id] = found[0][1].text if found else ""
        return found

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
            review.problems += disks.snapshot_problems(self._cloud, wanted, self._asking(account, review))
            found = _refused(review)
            found += [(*each, _AWS) for each in things.of_key(wanted.encryption, account)]
            zones = [text_of(az.properties.get("availability_zone")) for az in self._files.own_azs]
            if not found and (zone := next(filter(None, zones), None)):
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
        self._images.clear()
        for cid in self._cids:
            found, problems = account.ask("stemcell", partial(find_image, self._cloud, cid))
            self._images.append(UNKNOWN_IMAGE if found is None else found)
            yield from (Finding(Severity.ERROR, each.text) for each in problems)


def _joined(failures: Sequence[Failure], asked: Mapping[Node, int]) -> Iterator[Finding]:
    """The findings of the first of several failures, with the number of others.

    It is certain if a request that will be made fails, or each that an entry may be part of.
    """
    _, shown, first = failures[0]
    failed = Counter(
        owner for owner, _, found in failures if any(each.severity is Severity.ERROR for each in found)
    )
    is_certain = any(owner is None or count == asked[owner] for owner, count in failed.items())
    general = {each.what for _, by, found in failures for each in found if not by}
    said = {("" if each.what in general else by, each.what) for _, by, found in failures for each in found}
    others = len(said) - len({each.what for each in first})
    for each in first:
        what = each.what if each.what in general else f"for {shown}: {each.what}"
        whole = each.replaced(what=f"{what} (and {others} more)" if others else what)
        yield whole if is_certain else as_warning(whole)


def _by_place(case: Case, found: Found, fixed: Sequence[Node]) -> dict[object, list[Finding]]:
    """The findings at each place; those that no property is to blame for, by their text without ids."""
    at_places: dict[object, list[Finding]] = {}
    for severity, problem, source in found:
        if place := _blamed(case, problem, fixed):
            where = place.identity if problem.key else _OF_CALL.split(problem.text)[0]
            finding = Finding(severity, problem.text, case.remedy(problem.key), place, source)
            at_places.setdefault(where, []).append(finding)
    return at_places


def _blamed(case: Case, problem: Problem, fixed: Sequence[Node]) -> Place | None:
    """The place of a problem; with fixed entries None if none of these is to blame.

    Of the properties that have a part in it, the first that is in one of these is blamed.
    """
    first, *others = case.places(problem)
    if not fixed or any(each.holds(first) for each in fixed):
        return first
    of_config = [place for place in (first, *others) if not place.file and case.entries]
    return next((place for place in (first, *others) if fixed[0].holds(place) or place in of_config), None)


def _without_place(properties: Json, documents: Json) -> tuple[Json, Json]:
    """A request without zone and subnet, of which one is as good as another without AWS."""
    if len(documents) > 1:
        return properties, documents
    placeless = {
        name: {**document, "cloud_properties": {**document["cloud_properties"], "subnet": ""}}
        for name, document in documents.items()
        if isinstance(document.get("cloud_properties"), dict) and document["cloud_properties"].get("subnet")
    }
    return {
        **properties,
        "availability_zone": bool(properties.get("availability_zone")),
    }, documents | placeless


def _is_readable(properties: Json, documents: Json) -> bool:
    """Whether nothing has a wrong type, which is said of the file's form."""
    of_networks = (each["cloud_properties"] for each in documents.values() if "cloud_properties" in each)
    return read_known(VmProperties, properties) is not None and all(
        read_known(NetworkCloudProperties, each) is not None for each in of_networks
    )


def _errors(found: Found) -> Found:
    return [each for each in found if each[0] is Severity.ERROR]


def _refused(review: Review) -> Found:
    return [(Severity.ERROR, each, _CPI) for each in (*review.problems, *review.ignored)]


def _dry_run(account: Account, call: Callable[..., object], arguments: Json) -> Found:
    text, _ = account.ask("dry run", lambda: dry_run.refusal(call, arguments))
    return [(Severity.ERROR, Problem("", text), _AWS)] if text else []
