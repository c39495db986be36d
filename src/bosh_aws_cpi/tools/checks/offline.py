"""What can be checked without AWS: the files, read and merged, and everything that is wrong with them."""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Final

from bosh_aws_cpi.aws.sdk import clock
from bosh_aws_cpi.config.aws_config import AwsConfig
from bosh_aws_cpi.cpi.vms.sizes import in_region
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.log import redact
from bosh_aws_cpi.plan import vm_sizes
from bosh_aws_cpi.plan.instance_types import tabled_facts
from bosh_aws_cpi.plan.vm_sizes import VmSize
from bosh_aws_cpi.properties.stemcell import SETTINGS, TAGS_IGNORED, HeavyStemcellProperties
from bosh_aws_cpi.properties.vm import MetadataOptions
from bosh_aws_cpi.records import Record
from bosh_aws_cpi.tools.checks import (
    addresses,
    combinations,
    configuration,
    deployment,
    disks,
    interfaces,
    machines,
    network_properties,
    property_values,
)
from bosh_aws_cpi.tools.checks.bosh import models
from bosh_aws_cpi.tools.checks.bosh.cloud_config import CloudConfig
from bosh_aws_cpi.tools.checks.bosh.models import CreateEnv, Manifest
from bosh_aws_cpi.tools.checks.bosh.rules import BOSH_CLI, DIRECTOR, Level, hashes, keys_of, name_of
from bosh_aws_cpi.tools.checks.combinations import Merged, Use
from bosh_aws_cpi.tools.checks.documents import Document, Node, variables_in
from bosh_aws_cpi.tools.checks.interfaces import Vm
from bosh_aws_cpi.tools.checks.quotas import Demand
from bosh_aws_cpi.tools.checks.reading import read_known
from bosh_aws_cpi.tools.checks.references import References
from bosh_aws_cpi.tools.findings import Finding, Place, Severity, as_warning

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client

_OTHER_FILES: Final = {
    "Tables": (
        "the output of the bosh CLI with --json: save the content only (jq -r '.Tables[0].Rows[0].content')"
    ),
    "instance_groups": "a deployment manifest: name it after --manifest",
}
"""Keys of files that are no cloud configs, and what these are."""
_IS_MANIFEST: Final = ("instance_groups", "jobs", "resource_pools", "cloud_provider")
_UNREAD: Final = frozenset(
    {"properties", "jobs", "templates", "env", "stemcell", "stemcells", "releases", "update", "addons"}
    | {"cloud_provider", "variables", "tags", "name", "features", "director_uuid"}
)
"""Keys of manifests whose values are not checked."""
_OF_ANY: Final = ("vm_types", "vm_extensions", "disk_types")
"""Sections whose entries don't say which CPI they are for."""
_DEPTH: Final = 3
"""They stand at the top, or in an instance group or a resource pool."""


class Files(Record):
    """The files to check.

    Attributes:
        documents: The cloud configs, or one manifest for create-env.
        manifest: A deployment manifest, if one is given.
        config: What the documents say together.
        aws: The ``aws`` section of cpi.json, or that of create-env.
        of_configuration: What is wrong with it.
    """

    documents: Sequence[Document]
    manifest: Document | None
    config: CloudConfig
    aws: AwsConfig
    of_configuration: Sequence[Finding] = ()

    @classmethod
    def read(
        cls,
        names: Sequence[str],
        manifest: str | None,
        aws: AwsConfig,
        cpi: str = "",
        given: Json | None = None,
    ) -> "Files":
        """Read and merge files.

        Args:
            names: Cloud configs, or one manifest for create-env.
            manifest: A deployment manifest.
            aws: The ``aws`` section of cpi.json.
            cpi: The name in the CPI config of the CPI whose azs are checked.
            given: The ``aws`` section as it is written.

        Raises:
            CloudError: One can't be read, or they don't belong together.
        """
        documents = [Document.read(name) for name in names]
        deployed = Document.read(manifest) if manifest is not None else None
        whole = [document for document in documents if deployment.is_for_create_env(document)]
        if whole and (len(documents) > 1 or deployed):
            raise CloudError(f"'{whole[0].name}' is a manifest for create-env: check it alone")
        wrong: Sequence[Finding] = ()
        if whole:
            config = deployment.config_of_create_env(whole[0])
            redact.learn(whole[0].root.at("cloud_provider").value)
            aws, wrong = configuration.of_create_env(whole[0], given or {}, aws)
        else:
            for document in documents:
                _check_kind(document)
            config = CloudConfig.merged(documents, cpi)
        sizes, of_sizes = _sizes(lambda: vm_sizes.of_families(aws.vm_resources_families))
        return cls(documents, deployed, config.replaced(sizes=sizes), aws, [*wrong, *of_sizes])

    def in_region(self, ec2: "Callable[[], EC2Client]") -> "Files":
        """These files with the types that the region offers, if ``aws.vm_resources_by_region`` wants that."""
        if not self.aws.vm_resources_by_region or not (known := self.config.sizes):
            return self
        sizes, wrong = _sizes(lambda: in_region(self.aws, ec2, known))
        config = self.config.replaced(sizes=sizes)
        return self.replaced(config=config, of_configuration=[*self.of_configuration, *wrong])

    def findings(self, *, is_offline: bool = True) -> Iterator[Finding]:
        """All that is wrong with them, as far as it can be said without AWS.

        Args:
            is_offline: Whether AWS is not asked either.
        """
        return map(self.placed, self._findings(is_offline=is_offline))

    def _findings(self, *, is_offline: bool) -> Iterator[Finding]:
        config, aws = self.config, self.aws
        for document in self._all():
            yield from _repeated(document)
            yield from self._of_document(document, is_offline=is_offline)
        yield from self.of_configuration
        options = MetadataOptions.renamed(aws.metadata_options)
        yield from property_values.of_configuration(
            MetadataOptions, options, "aws.metadata_options", aws.region
        )
        yield from disks.of_defaults(aws)
        yield from _of_stemcells(aws)
        if aws.stemcell.overrides.get("tags") and not self.is_for_create_env:
            remedy = "Remove aws.stemcell.tags from cpi.json"
            yield Finding(Severity.ERROR, f"aws.stemcell.tags {TAGS_IGNORED}", remedy)
        yield from _of_others(config)
        if self.is_for_create_env:
            yield from deployment.kept_by_aws(self.documents[0], config)
        else:
            yield from addresses.findings(config)
        if self.manifest is not None:
            yield from deployment.crowded(self.uses or [])
        for vm in self.vms:
            yield from interfaces.findings(vm, aws)
        yield from machines.findings(config, self.combinations, aws, self._tags())
        yield from disks.findings(config, aws)
        yield from network_properties.findings(config, aws)
        groups = [each for one in self._all() for each in hashes(one.root.get("instance_groups"))]
        for node in [*groups, *([config.compilation] if config.compilation is not None else [])]:
            yield from combinations.sized_properties(node, config)[1]
        if is_offline:
            yield from _without_aws(self.references, aws.region)
        yield from disks.unused_keys(config, self.combinations, machines.disk_defaults(aws), aws)
        yield from _variables(self._all())

    def _of_document(self, document: Document, *, is_offline: bool) -> Iterator[Finding]:
        """What is wrong with its form, and with values."""
        source = BOSH_CLI if self.is_for_create_env else DIRECTOR
        model: type[models.BoshHash] = CreateEnv if self.is_for_create_env else models.BoshCloudConfig
        model = Manifest if document is self.manifest else model
        yield from keys_of(document.root, model, source, self.config.others)
        levels = Level(document.root, model).within(self.config.others)
        yield from property_values.findings(levels, self.aws.region, is_offline=is_offline)

    def placed(self, finding: Finding) -> Finding:
        """A finding about the configuration, at its place in a manifest for create-env.

        What the CPI or AWS refuses of entries that the manifest does not use is a warning at most. So it is
        of types if some azs have another CPI, which they may be for.
        """
        if self.is_for_create_env:
            return configuration.placed(finding, self.documents[0])
        section, _, rest = finding.place.path.partition("/") if finding.place else ("", "", "")
        may_be_unused = self.manifest is not None or (section in _OF_ANY and self.config.azs_of_others)
        names = self._used.get(section)
        if not may_be_unused or finding.source == DIRECTOR or names is None:
            return finding
        return finding if rest.partition("/")[0] in names else as_warning(finding)

    @cached_property
    def _used(self) -> dict[str, set[str] | None]:
        return deployment.used(self._groups, self.config)

    @property
    def is_for_create_env(self) -> bool:
        """Whether they are a manifest for create-env."""
        return deployment.is_for_create_env(self.documents[0])

    @cached_property
    def uses(self) -> Sequence[Use] | None:
        """The kinds of VMs that the manifest asks for; None without one."""
        return deployment.asked_for(self._groups, self.config) if self.manifest is not None else None

    @cached_property
    def combinations(self) -> Sequence[Merged]:
        """The cloud properties of VMs that are to be checked."""
        return list(combinations.to_check(self.config, self.uses))

    @cached_property
    def vms(self) -> Sequence[Vm]:
        """The VMs whose networks are known."""
        if self.is_for_create_env:
            return list(deployment.vms_of_create_env(self.documents[0], self.config))
        return list(deployment.vms(self.uses or (), self.config))

    @cached_property
    def references(self) -> References:
        """What the cloud config names in AWS."""
        return References.of(self.config, self.combinations, self.vms)

    def demand(self) -> Demand:
        """The number of instances of each type that the manifest needs; empty without one."""
        return deployment.demand(self.uses, self.config) if self.uses is not None else Demand()

    @property
    def _groups(self) -> Sequence[Node]:
        """The manifest's instance groups; none without one."""
        return hashes(self.manifest.root.get("instance_groups")) if self.manifest is not None else ()

    def _tags(self) -> Json:
        """The manifest's tags that are known."""
        node = self.manifest.root.get("tags") if self.manifest is not None else None
        known = node.known() if node is not None else None
        return {str(key): value for key, value in known.items()} if isinstance(known, dict) else {}

    def _all(self) -> list[Document]:
        return [*self.documents, *([self.manifest] if self.manifest is not None else [])]


def _check_kind(document: Document) -> None:
    """Refuse what some people give in place of a cloud config.

    Raises:
        CloudError: It is such a file.
    """
    for key, what in _OTHER_FILES.items() if isinstance(document.value, dict) else ():
        if key in document.value:
            raise CloudError(f"'{document.name}' is {what}")


def _repeated(document: Document) -> Iterator[Finding]:
    """The bosh CLI, as most programs, keeps only the last of several equal keys."""
    for route in document.repeated:
        what = f"key '{route[-1]}' occurs twice in this hash, and only the last one counts"
        place = document.root.at(*route).place
        yield Finding(Severity.WARNING, what, "Remove one", place, "bosh")


def _sizes(choose: Callable[[], Sequence[VmSize]]) -> tuple[Sequence[VmSize], Sequence[Finding]]:
    """What the CPI chooses from for ``vm_resources``; nothing, and why, if the families are wrong."""
    try:
        return choose(), ()
    except CloudError as error:
        remedy = "Correct aws.vm_resources_families in cpi.json"
        return (), (Finding(Severity.ERROR, error.message, remedy),)


def _of_stemcells(aws: AwsConfig) -> Iterator[Finding]:
    """What create_stemcell refuses of the settings in aws.stemcell, and what it does not know there.

    A stemcell may have its own boot mode and key, so the rules about these give no error.
    """
    others = HeavyStemcellProperties.model_fields.keys() - {*SETTINGS, "encrypted", "kms_key_arn"}
    given = {key: value for key, value in aws.stemcell.overrides.items() if key not in others}
    yield from property_values.of_configuration(HeavyStemcellProperties, given, "aws.stemcell", aws.region)
    properties = read_known(HeavyStemcellProperties, given)
    if properties is None:
        return
    encryption = properties.encryption(aws.encryption, "aws.stemcell")
    for each in (*properties.key_problems(encryption), *properties.problems(encryption, clock.now())):
        severity = Severity.ERROR if each.key == "deprecate_at" else Severity.WARNING
        if each.key != "tpm_support":
            remedy = f"Correct aws.stemcell.{each.key} in cpi.json"
            yield Finding(severity, each.text, remedy, Place(f"aws.stemcell.{each.key}"))


def _without_aws(references: References, region: str) -> Iterator[Finding]:
    """What AWS would say of zones and types, as far as it is known here."""
    zones: dict[str, dict[str, Node]] = {}
    for use in references.subnets:
        for zone, _ in use.zones:
            if zone.startswith(region):  # others are said to be of another region
                zones.setdefault(use.subnet_id, {})[zone] = use.node
    for subnet_id, places in zones.items():
        if len(places) > 1:
            what = f"subnet '{subnet_id}' is used in several zones, {', '.join(places)}: it lies in one"
            last = [*places.values()][-1].place
            yield Finding(Severity.ERROR, what, "Use a subnet of each zone", last, "AWS")
    names = {str(node.value) for merged in references.combinations for node in merged.types}
    known = {name: facts for name in names if (facts := tabled_facts(name)) is not None}
    yield from machines.misfits(known, [], references.combinations)


def _of_others(config: CloudConfig) -> Iterator[Finding]:
    if others := config.azs_of_others:
        names = ", ".join(f"'{name_of(each)}'" for each in others)
        what = f"another CPI has the azs {names}: they and the subnets only in them are not checked"
        remedy = "Check them with --cpi NAME and that CPI's configuration"
        severity = Severity.NOT_CHECKED
        if config.cpi:
            severity = Severity.NOTE if config.own_azs else Severity.ERROR
        yield Finding(severity, what, remedy, others[0].at("cpi").place)


def _variables(documents: Sequence[Document]) -> Iterator[Finding]:
    """One finding for each variable, whose value only the Director or the bosh CLI knows."""
    places: dict[str, list[Place]] = {}
    for document in documents:
        unread = _UNREAD if any(map(document.root.get, _IS_MANIFEST)) else frozenset()
        for node in document.root.variables():
            for name in variables_in(node.value) if not unread & set(node.route[:_DEPTH]) else ():
                places.setdefault(name, []).append(node.place)
    for name, found in places.items():
        more = f", here and in {len(found) - 1} more" if len(found) > 1 else ""
        what = f"{name} is a variable: values with it are not checked{more}"
        yield Finding(Severity.NOT_CHECKED, what, configuration.INTERPOLATE, found[0])
