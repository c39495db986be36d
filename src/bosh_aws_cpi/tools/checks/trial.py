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

from bosh_aws_cpi.aws import dry_run
from bosh_aws_cpi.config.cpi_config import CpiConfig
from bosh_aws_cpi.cpi import networks
from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.cpi.disks import create as disks
from bosh_aws_cpi.cpi.lookup import Ask
from bosh_aws_cpi.cpi.vms.create.gather import UNKNOWN_IMAGE, find_image, gather
from bosh_aws_cpi.cpi.vms.create.parse import VmArguments, WantedVm, parse
from bosh_aws_cpi.cpi.vms.create.vm_plan import VmPlan, plan_vm
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.model import Image, InstanceTypeFacts, Subnet
from bosh_aws_cpi.plan import run_instances, tag_plan
from bosh_aws_cpi.plan.instance_types import static_facts, tabled_facts
from bosh_aws_cpi.properties.types import Problem, Review, WrongType, problem_of
from bosh_aws_cpi.tools.checks import cases, things
from bosh_aws_cpi.tools.checks.account import DRY_RUN, Account
from bosh_aws_cpi.tools.checks.bosh_rules import text_of
from bosh_aws_cpi.tools.checks.cases import ZONE, Case
from bosh_aws_cpi.tools.checks.cloud_config import Files
from bosh_aws_cpi.tools.checks.documents import VARIABLE, Node, variables_in
from bosh_aws_cpi.tools.findings import Finding, Place, Severity, as_warning

Found = list[tuple[Severity, Problem, str]]
"""Severity, problem, and who refuses it."""
Failure = tuple[str, list[Finding]]
"""The name of the failed request for messages, and the findings."""
_DIRECTOR: Final = "director"
"""Stands for the Director's UUID."""
_AGENT: Final = "00000000-0000-0000-0000-000000000000"
_CPI, _AWS = "CPI", "AWS"
_LEAST_VMS, _TRIALS = 5, 2000
"""The least VM types that an extension or subnet is tried with, and the trials that allow more."""
_PLACE: Final = re.compile(r"'(subnet|availability_zone)': '[^']*'")
_OF_CALL: Final = " (request id"
"""Begins the part of EC2's messages that differs from call to call."""
_NOT_TRIED: Final = Finding(
    Severity.NOTE, "EC2 was not asked whether it would launch the VMs", "Name a stemcell: --stemcell CID"
)


class Trial:
    """Tries the cases of files.

    Args:
        files: The files.
        config: The configuration.
        account: The account.
        stemcells: The CIDs of stemcells; each VM must be able to run one of them.
    """

    def __init__(self, files: Files, config: CpiConfig, account: Account, stemcells: Sequence[str]) -> None:
        self._files, self._account, self._cids = files, account, stemcells
        self._is_director_known = config.director_uuid is not None
        self._config = config.replace(director_uuid=config.director_uuid or _DIRECTOR)
        self._types = cases.instance_types(files)
        self._images = [UNKNOWN_IMAGE]
        self._refusals: dict[str, str] = {}
        self._alike: dict[str, Found] = {}
        self._cloud = Cloud(self._config, 3)
        if not account.is_offline:
            self._cloud.clients = account.clients

    def findings(self) -> Iterator[Finding]:
        """Find what is wrong with the cases; equal problems at one place are one finding.

        A finding keeps its severity if the request will certainly be made, if the entry fails in all azs, or
        if an az is to blame; otherwise it is a warning.
        """
        if not self._account.is_offline:
            yield from self._stemcells() if self._cids else [_NOT_TRIED]
        at_places: dict[object, list[tuple[bool, Failure]]] = {}
        for entry, azs in cases.of_files(self._files, self._facts):
            by_az = [
                self._failures([each for each in (entry, az) if each is not None], vms) for az, vms in azs
            ]
            failed = Counter(where for at in by_az for where, failure in at.items() if _has_error(failure))
            for where, failure in (each for at in by_az for each in at.items()):
                place = failure[1][0].place
                is_of_az = place is not None and bool(place.file) and not (entry and entry.holds(place))
                certain = entry is None or is_of_az or failed[where] == len(by_az)
                at_places.setdefault(where, []).append((certain, failure))
        for failures in at_places.values():
            yield from _join_failures(failures)

    def _failures(self, fixed: Sequence[Node], vms: Iterator[Iterable[Case]]) -> dict[object, Failure]:
        """The findings in one az, by place; none is an error if the request of some VM can succeed.

        Args:
            fixed: What the VMs have in common, an entry and its az: one of them must be to blame.
            vms: The requests for each VM.
        """
        first: dict[object, Failure] = {}
        is_own = False
        for requests in islice(vms, self._most_vms):
            for case in requests:
                found = self._wrong_with(case)
                at_places = _by_place(case, found, fixed)
                of_request = [each for each in found if not each[1].key.startswith("aws.")]
                if not any(map(_has_error, _by_place(case, of_request, fixed).values())):
                    return at_places
                first = first or at_places
                blamed = [each for _, each, _ in found if _place_to_blame(case, each, fixed)]
                is_own = not fixed or any(case.is_within(each, fixed[0]) for each in blamed)
                if is_own or not all(case.is_local(each, fixed[0]) for each in blamed):
                    break  # other subnets change nothing
            if is_own:  # nor do other VMs
                return first
        if next(vms, None) is not None:  # it may work with others
            first = {where: (by, [*map(as_warning, found)]) for where, (by, found) in first.items()}
        return first

    @cached_property
    def _most_vms(self) -> int:
        entries = len(self._files.lists["vm_extensions"]) + len(self._files.subnets)
        return max(_LEAST_VMS, _TRIALS // max(entries, 1))

    def _wrong_with(self, case: Case) -> Found:
        """Find what is wrong with a request; equal requests are tried once."""
        if case.is_open:
            return []
        asked = repr((case.method, case.cloud_properties, case.documents))
        if self._account.is_offline and len(case.documents) <= 1:  # any zone and subnet is as good as another
            asked = _PLACE.sub("", asked)
        if asked not in self._alike:
            review = Review()
            try:
                found = getattr(self, f"_{case.method}")(case, review)
            except WrongType:  # `contents` reports it
                found = []
            except CloudError as error:
                found = [(Severity.ERROR, problem_of(error, "networks"), _CPI)]
            self._alike[asked] = [*dict.fromkeys(found)]
        return [each for each in self._alike[asked] if case.is_known(each[1])]

    def _create_vm(self, case: Case, review: Review) -> Found:
        tags = case.tags.entries() if case.tags is not None else []
        of_director = {str(each.route[-1]): each.value for each in tags if not each.has_variables}
        environment = {"bosh": {"group": VARIABLE, "tags": of_director}}
        arguments = VmArguments(_AGENT, VARIABLE, case.cloud_properties, case.documents, [], environment)
        wanted = parse(self._config, arguments, review)
        wrong = {each.key.partition(".")[0] for each in review.problems}  # AWS need not be asked about it
        of_images = (self._plan(wanted, image, wrong) for image in self._images)
        return [*_refusals_of(review), *min(of_images, key=len)]

    def _plan(self, wanted: WantedVm, image: Image, wrong: Iterable[str]) -> Found:
        """What gather, plan and a dry run find, if the stemcell is this AMI."""
        review, known = Review(), {"stemcell": image, "instance_type": self._facts}
        known = {**dict.fromkeys(wrong), **known, "subnets": self._subnets(wanted)}
        facts = gather(self._cloud, wanted, self._ask_in(review, known))
        of_things = [*things.of_vm(wanted, facts, self._config.aws, self._account, self._types)]
        if any(each.key == ZONE for _, each in of_things):
            facts = facts.replace(subnets=None)  # they are in none of that name
        plan = plan_vm(self._config, wanted, facts, review, is_registry_used=False)
        found = [*_refusals_of(review), *((*each, _AWS) for each in of_things)]
        return found or (self._try_launch(plan) if plan is not None and image is not UNKNOWN_IMAGE else [])

    def _ask_in(self, review: Review, known: Mapping[str, object] = {}) -> Ask:
        """Return the function with which the stages of a method look things up.

        Args:
            review: Collects the problems.
            known: The answers that are known already, which may be that there is none.
        """

        def ask(key: str, look_up: Callable[[], Any]) -> Any:  # noqa: ANN401 - the answer of any lookup
            if key in known:
                return known[key]
            answer, problems = self._account.ask(key, look_up)
            review.problems += problems
            return answer

        return ask

    def _subnets(self, wanted: WantedVm) -> Mapping[str, Subnet] | None:
        """A VM's subnets that exist; None if a variable names one, or AWS does not say it."""
        found = things.subnets_of(self._account, self._files)
        if found is None or any(map(variables_in, wanted.subnet_ids)):
            return None
        return {each: found[each] for each in wanted.subnet_ids if each in found}

    @cached_property
    def _facts(self) -> dict[str, InstanceTypeFacts]:
        """The facts about all instance types of the files; one without any may have an instance store."""
        is_asked = self._config.aws.enable_describe_instance_types
        details = things.types_of(self._account, self._types) if is_asked else {}
        known = {name: each.facts for name, each in details.items()}
        return {
            name: known.get(name) or tabled_facts(name) or static_facts(name).replace(store_disks=1)
            for name in self._types
        }

    def _try_launch(self, plan: VmPlan) -> Found:
        """What EC2 says of the launch; each kind of VM is tried in one subnet, each subnet with one kind."""
        first = plan.nic_plans[0]
        arguments = run_instances.for_dry_run(plan.spec, plan.options[0], first, plan.group_ids)
        kind = repr({**arguments, "NetworkInterfaces": "", "Placement": ""})
        if kind not in self._refusals or not (self._refusals[kind] or first.subnet_id in self._refusals):
            self._refusals[kind] = refusal = self._refusal(self._cloud.ec2.run_instances, arguments)
            self._refusals |= {} if refusal else {first.subnet_id: ""}
        return self._of_dry_run(self._refusals[kind])

    def _refusal(self, call: Callable[..., object], arguments: Json) -> str:
        return self._account.ask(DRY_RUN, lambda: dry_run.refusal(call, arguments))[0] or ""

    def _of_dry_run(self, refusal: str) -> Found:
        if refusal and not self._is_director_known and dry_run.may_depend_on_tags(refusal):
            text = f"{refusal}. If the policy compares the Director's tag, name it: --director UUID"
            return [(Severity.NOT_CHECKED, Problem("", text), _AWS)]
        return [(Severity.ERROR, Problem("", refusal), _AWS)] if refusal else []

    def _create_disk(self, case: Case, review: Review) -> Found:
        size = case.user.get("disk_size")
        mib = size.value if size is not None and isinstance(size.value, int) else 0
        wanted = disks.parse(self._config, mib, case.cloud_properties, review)
        ask = self._ask_in(review, dict.fromkeys(each.key for each in review.problems))
        review.problems += disks.snapshot_problems(self._cloud, wanted, ask)
        found = [
            *_refusals_of(review),
            *((*each, _AWS) for each in things.of_key(wanted.encryption, self._account)),
        ]
        zones = [text_of(az.properties.get(ZONE)) for az in self._files.own_azs]
        if not found and not self._account.is_offline and (zone := next(filter(None, zones), None)):
            tags = tag_plan.specifications(wanted.tags, "volume")
            arguments = {**wanted.arguments, **tags, "AvailabilityZone": zone}
            found = self._of_dry_run(self._refusal(self._cloud.ec2.create_volume, arguments))
        return found

    def _create_network(self, case: Case, review: Review) -> Found:
        ((name, document),) = case.documents.items()
        request = networks.parse(
            self._config, {**document, "cloud_properties": case.cloud_properties}, "", review
        )
        if not review.problems:
            networks.try_ranges(self._cloud, request, review, self._ask_in(review))
        found = [] if case.user.has_variables else _refusals_of(review)
        return [
            (severity, each.replace(key=f"networks.{name}.{each.key}"), by) for severity, each, by in found
        ]

    def _stemcells(self) -> Iterator[Finding]:
        """Look up the stemcells' AMIs."""
        self._images.clear()
        for cid in self._cids:
            found, problems = self._account.ask("stemcell", partial(find_image, self._cloud, cid))
            self._images.append(UNKNOWN_IMAGE if found is None else found)
            yield from (Finding(Severity.ERROR, each.text) for each in problems)


def _join_failures(failures: Sequence[tuple[bool, Failure]]) -> Iterator[Finding]:
    """The findings of the first of several failures at one place, with the number of others."""
    is_certain = any(is_certain for is_certain, _ in failures)
    general = {each.what for _, (by, found) in failures for each in found if not by}
    distinct = {
        ("" if each.what in general else by, each.what, each.place and each.place.identity)
        for _, (by, found) in failures
        for each in found
    }
    shown, first = failures[0][1]
    others = len(distinct) - len({each.what for each in first})
    for each in first:
        what = each.what if each.what in general else f"for {shown}: {each.what}"
        whole = each.replace(what=f"{what} (and {others} more)" if others else what)
        yield whole if is_certain else as_warning(whole)


def _by_place(case: Case, found: Found, fixed: Sequence[Node]) -> dict[object, Failure]:
    """The findings at each place; those that no property is to blame for, by their text without ids."""
    at_places: dict[object, Failure] = {}
    for severity, problem, source in found:
        if place := _place_to_blame(case, problem, fixed):
            where = place.identity if problem.key else problem.text.partition(_OF_CALL)[0]
            finding = Finding(severity, problem.text, case.remedy(problem.key), place, source)
            shown = "" if case.user.holds(place) else case.shown
            at_places.setdefault(where, (shown, []))[1].append(finding)
    return at_places


def _place_to_blame(case: Case, problem: Problem, fixed: Sequence[Node]) -> Place | None:
    """The place of a problem; None if there are fixed entries, and none of them is to blame.

    Of the properties that have a part in it, the first that is in one of these is blamed.
    """
    places = case.places(problem)
    first = next(places)
    if not fixed or any(each.holds(first) for each in fixed):
        return first
    blamed = (each for each in (first, *places) if fixed[0].holds(each) or (case.entries and not each.file))
    return next(blamed, None)


def _has_error(failure: Failure) -> bool:
    return any(each.severity is Severity.ERROR for each in failure[1])


def _refusals_of(review: Review) -> Found:
    of_config = [each for each in review.ignored if each.key.startswith("aws.")]  # it is for other VMs, too
    found = [
        (Severity.ERROR, each, _CPI) for each in (*review.problems, *review.ignored) if each not in of_config
    ]
    return [*found, *((Severity.WARNING, each, _CPI) for each in of_config)]
