"""Tries the requests as the CPI would carry them out, up to the first resource: parse, gather, plan, dry run.

A request that will be made must succeed. An entry that none is known to use is judged alone, with each az
and each subnet there: it must succeed in one of them, and what it meets in some azs only is a warning.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import chain, groupby
from typing import Final

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
from bosh_aws_cpi.plan.block_devices import TYPES
from bosh_aws_cpi.plan.instance_types import static_facts, tabled_facts
from bosh_aws_cpi.properties.types import Problem, Review, WrongType, problem_of
from bosh_aws_cpi.records import EMPTY
from bosh_aws_cpi.tools.asking import AccessError
from bosh_aws_cpi.tools.checks import account_findings, requests
from bosh_aws_cpi.tools.checks.bosh_rules import name_of, text_of
from bosh_aws_cpi.tools.checks.cloud_config import Files
from bosh_aws_cpi.tools.checks.documents import VARIABLE, variables_in
from bosh_aws_cpi.tools.checks.lookups import DRY_RUN, Account
from bosh_aws_cpi.tools.checks.requests import AWS, ZONE, Refusal, Request
from bosh_aws_cpi.tools.findings import Finding, Severity, as_warning

_DIRECTOR: Final = "director"
"""Stands for the Director's UUID."""
_AGENT: Final = "00000000-0000-0000-0000-000000000000"
_PLACE: Final = re.compile(r"'(subnet|availability_zone)': '[^']*'")
_NOT_TRIED: Final = Finding(
    Severity.NOTE, "EC2 was not asked whether it would launch the VMs", "Name a stemcell: --stemcell CID"
)


class Trial:
    """Tries the requests of files.

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
        self._types = requests.instance_types(files)
        self._images = [UNKNOWN_IMAGE]
        self._launches: dict[str, str] = {}
        self._refused: dict[str, list[Refusal]] = {}
        self._cloud = Cloud(self._config, 3)
        if not account.is_offline:
            self._cloud.clients = account.clients

    def findings(self) -> Iterator[Finding]:
        """Find what is wrong with the requests.

        An error of an entry that is judged alone stays one if the entry fails in all azs, or if an az is to
        blame; otherwise it is a warning.
        """
        if not self._account.is_offline:
            yield from self._stemcells() if self._cids else [_NOT_TRIED]
        for entry, in_azs in groupby(requests.of_files(self._files), key=lambda each: each[0].entry):
            by_az = [(each[0].az, min(map(self._wrong_with, each), key=_has_error)) for each in in_azs]
            errors = ({each.where for each in found if each.severity is Severity.ERROR} for _, found in by_az)
            failed = Counter(chain.from_iterable(errors))
            for az, each in ((az, each) for az, found in by_az for each in found):
                is_of_az = entry is not None and each.is_in_file and not entry.holds(each.place)
                is_certain = entry is None or is_of_az or failed[each.where] == len(by_az)
                if is_certain or each.severity is not Severity.ERROR:
                    yield each
                else:
                    yield as_warning(each).replace(user=f"az '{name_of(az)}'" if az is not None else "")

    def _wrong_with(self, request: Request) -> list[Finding]:
        """Find what is wrong with a request, as far as it fixes that; equal requests are tried once."""
        if request.is_open:
            return []
        asked = repr((request.method, request.cloud_properties, request.documents, request.is_whole))
        if self._account.is_offline and len(request.documents) <= 1:  # any zone and subnet is as good
            asked = _PLACE.sub("", asked)
        if asked not in self._refused:
            self._refused[asked] = [*dict.fromkeys(self._try(request))]
        return [
            Finding(
                each.severity,
                each.problem.text,
                request.remedy(each.problem.key),
                place := request.place_of(each.problem),
                each.source,
                "" if request.user.holds(place) else request.shown,
            )
            for each in self._refused[asked]
            if request.fixes(each.problem)
        ]

    def _try(self, request: Request) -> list[Refusal]:
        try:
            found: list[Refusal] = getattr(self, f"_{request.method}")(request, Review())
        except WrongType:  # `file_findings` reports it
            return []
        except AccessError:
            raise
        except CloudError as error:
            return [Refusal(problem_of(error, "networks"))]
        refused = {each.problem.key for each in found}
        lists = ((each, each.problem.key.rpartition(".")) for each in found)
        return [each for each, (whole, _, index) in lists if not (index.isdecimal() and whole in refused)]

    def _create_vm(self, request: Request, review: Review) -> list[Refusal]:
        tags = request.tags.entries() if request.tags is not None else []
        of_director = {str(each.route[-1]): each.value for each in tags if not each.has_variables}
        environment = {"bosh": {"group": VARIABLE, "tags": of_director}}
        arguments = VmArguments(
            _AGENT, VARIABLE, request.cloud_properties, request.documents, [], environment
        )
        wanted = parse(self._config, arguments, review)
        wrong = {each.key.partition(".")[0] for each in review.problems}  # AWS need not be asked about it
        of_images = (self._plan(request, wanted, image, wrong) for image in self._images)
        return [*_refusals_of(review), *min(of_images, key=len)]

    def _plan(self, request: Request, wanted: WantedVm, image: Image, wrong: Iterable[str]) -> list[Refusal]:
        """What gather, plan and a dry run find, if the stemcell is this AMI."""
        review, known = Review(), {"stemcell": image, "instance_type": self._facts}
        unasked = [*wrong, *([] if request.is_whole else ["aws.default_security_groups"])]
        known = {**dict.fromkeys(unasked), **known, "subnets": self._subnets(wanted)}
        facts = gather(self._cloud, wanted, self._ask_in(review, known))
        of_things = [*account_findings.of_vm(wanted, facts, self._config.aws, self._account, self._types)]
        if any(each.problem.key == ZONE for each in of_things):
            facts = facts.replace(subnets=None)  # they are in none of that name
        plan = plan_vm(self._config, wanted, facts, review, is_registry_used=False)
        found = [*_of_all_types(_refusals_of(review), wanted.properties.instance_types), *of_things]
        return found or (self._try_launch(plan) if plan is not None and image is not UNKNOWN_IMAGE else [])

    def _ask_in(self, review: Review, known: Mapping[str, object] = EMPTY) -> Ask:
        """Return the function with which the stages of a method look things up."""
        return partial(self._account.ask, problems=review.problems, known=known)

    def _subnets(self, wanted: WantedVm) -> Mapping[str, Subnet] | None:
        """A VM's subnets that exist; None if a variable names one, or AWS does not say it."""
        found = account_findings.subnets_of(self._account, self._files)
        if found is None or any(map(variables_in, wanted.subnet_ids)):
            return None
        return {each: found[each] for each in wanted.subnet_ids if each in found}

    @cached_property
    def _facts(self) -> dict[str, InstanceTypeFacts]:
        """The facts about all instance types of the files; one without any may have an instance store."""
        is_asked = self._config.aws.enable_describe_instance_types
        details = account_findings.types_of(self._account, self._types) if is_asked else {}
        known = {name: each.facts for name, each in details.items()}
        return {
            name: known.get(name) or tabled_facts(name) or static_facts(name).replace(store_disks=1)
            for name in (*self._types, VARIABLE)
        }

    def _try_launch(self, plan: VmPlan) -> list[Refusal]:
        """What EC2 says of the launch; each kind of VM is tried in one subnet, each subnet with one kind."""
        if plan.properties.instance_type == VARIABLE:
            return []
        first = plan.nic_plans[0]
        arguments = run_instances.for_dry_run(plan, plan.options[0], first, plan.group_ids)
        kind = repr({**arguments, "NetworkInterfaces": "", "Placement": ""})
        if kind not in self._launches or not (self._launches[kind] or first.subnet_id in self._launches):
            self._launches[kind] = refusal = self._refusal(self._cloud.ec2.run_instances, arguments)
            self._launches |= {} if refusal else {first.subnet_id: ""}
        return self._of_dry_run(self._launches[kind])

    def _refusal(self, call: Callable[..., object], arguments: Json) -> str:
        return self._account.ask(DRY_RUN, lambda: dry_run.refusal(call, arguments)) or ""

    def _of_dry_run(self, refusal: str) -> list[Refusal]:
        if refusal and not self._is_director_known and dry_run.may_depend_on_tags(refusal):
            text = f"{refusal}. If the policy compares the Director's tag, name it: --director UUID"
            return [Refusal(Problem("", text), Severity.NOT_CHECKED, AWS)]
        return [Refusal(Problem("", refusal), source=AWS)] if refusal else []

    def _create_disk(self, request: Request, review: Review) -> list[Refusal]:
        size = request.user.get("disk_size")
        mib = size.value if size is not None and isinstance(size.value, int) else 0
        wanted = disks.parse(self._config, mib, request.cloud_properties, review)
        ask = self._ask_in(review, dict.fromkeys(each.key for each in review.problems))
        review.problems += disks.snapshot_problems(self._cloud, wanted, ask)
        found = [*_refusals_of(review), *account_findings.of_key(wanted.encryption, self._account)]
        zones = [text_of(az.properties.get(ZONE)) for az in self._files.own_azs]
        if not found and not self._account.is_offline and (zone := next(filter(None, zones), None)):
            tags = tag_plan.specifications(wanted.tags, "volume")
            arguments = {**wanted.arguments, **tags, "AvailabilityZone": zone}
            found = self._of_dry_run(self._refusal(self._cloud.ec2.create_volume, arguments))
        return found

    def _create_network(self, request: Request, review: Review) -> list[Refusal]:
        ((name, document),) = request.documents.items()
        given = {**document, "cloud_properties": request.cloud_properties}
        wanted = networks.parse(self._config, given, "", review)
        if not review.problems:
            networks.try_ranges(self._cloud, wanted, review, self._ask_in(review))
        found = [] if request.user.has_variables else _refusals_of(review)
        return [
            each.replace(problem=each.problem.replace(key=f"networks.{name}.{each.problem.key}"))
            for each in found
        ]

    def _stemcells(self) -> Iterator[Finding]:
        """Look up the stemcells' AMIs."""
        self._images.clear()
        for cid in self._cids:
            problems: list[Problem] = []
            found = self._account.ask("stemcell", partial(find_image, self._cloud, cid), problems)
            self._images.append(UNKNOWN_IMAGE if found is None else found)
            yield from (Finding(Severity.ERROR, each.text) for each in problems)


def _has_error(found: Iterable[Finding]) -> bool:
    """Whether the request fails, and not because of the configuration, which is the same for all."""
    return any(each.severity is Severity.ERROR and each.is_in_file for each in found)


def _of_all_types(found: Iterable[Refusal], types: Sequence[str]) -> Iterator[Refusal]:
    """One refusal for what several of a VM's types lack; those that blame a type stay."""
    alike: dict[object, list[tuple[Refusal, str]]] = {}
    for each in found:
        text, key = each.problem.text, each.problem.key
        name = next((f"'{name}'" for name in types if f"'{name}'" in text and key not in TYPES), "")
        alike.setdefault((key, text.replace(name, "")) if name else each, []).append((each, name))
    for (first, name), *others in alike.values():
        more = f"{name} (and {', '.join(each for _, each in others)})"
        text = first.problem.text.replace(name, more) if others else first.problem.text
        yield first.replace(problem=first.problem.replace(text=text))


def _refusals_of(review: Review) -> list[Refusal]:
    of_config = [each for each in review.ignored if each.key.startswith("aws.")]  # it is for other VMs, too
    found = [Refusal(each) for each in (*review.problems, *review.ignored) if each not in of_config]
    return [*found, *(Refusal(each, Severity.WARNING) for each in of_config)]
