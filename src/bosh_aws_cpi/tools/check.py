"""`cpi check CONFIG_PATH FILE…`: checks a cloud config before a deployment; read-only."""

import argparse
from collections.abc import Collection, Iterator, Sequence
from typing import Final

from bosh_aws_cpi import log
from bosh_aws_cpi.config import loading
from bosh_aws_cpi.config.aws_config import AwsConfig
from bosh_aws_cpi.config.cpi_config import CpiConfig, cloud_properties
from bosh_aws_cpi.cpi.cloud import STEMCELL_WITHOUT_REGISTRY
from bosh_aws_cpi.cpi.vms.sizes import offered_sizes
from bosh_aws_cpi.errors import BoshError, CloudError
from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.plan import vm_sizes
from bosh_aws_cpi.plan.vm_sizes import VmSize
from bosh_aws_cpi.tools import command
from bosh_aws_cpi.tools.checks import account_findings, file_findings, property_values, references, requests
from bosh_aws_cpi.tools.checks.addresses import ADDRESSES
from bosh_aws_cpi.tools.checks.bosh_models import LISTS, BoshCloudConfig, BoshHash, Manifest, keys_in
from bosh_aws_cpi.tools.checks.bosh_rules import SIMILAR, likeness
from bosh_aws_cpi.tools.checks.cloud_config import Files
from bosh_aws_cpi.tools.checks.configuration import quoted_booleans, read_create_env, unknown_keys
from bosh_aws_cpi.tools.checks.documents import Document
from bosh_aws_cpi.tools.checks.lookups import Account
from bosh_aws_cpi.tools.checks.request_findings import Trial
from bosh_aws_cpi.tools.findings import (
    Finding,
    Place,
    Severity,
    document,
    in_file,
    lines,
    sort_distinct,
    status,
)

_NOUNS: Final = {"vms": "VM", "disks": "disk", "networks": "network"}
_CLOUD_CONFIG: Final = "a cloud config"
_CREATE_ENV: Final = "a manifest for create-env"
_DEPLOYMENT: Final = "a deployment manifest"
_KINDS: Final = {
    "the output of the bosh CLI with --json: save the content only (jq -r '.Tables[0].Rows[0].content')": [
        "Tables"
    ],
    "a configuration of the CPI, cpi.json": ["cloud"],
    "a CPI config": ["cpis"],
    "the state of create-env": ["installation_id", "current_vm_cid"],
    _CREATE_ENV: ["cloud_provider", "instance_groups resource_pools"],
    "a manifest of BOSH v1, whose jobs are instance_groups today": ["jobs"],
    _DEPLOYMENT: ["instance_groups", "stemcells", "releases update"],
    _CLOUD_CONFIG: [*LISTS, "compilation", "resource_pools", "disk_pools"],
    "a runtime config": ["addons", "releases"],
    "a resurrection config": ["rules"],
    "operations, for bosh interpolate -o": ["path type"],
}
"""The kinds of files: the first one counts of which a file has all keys of an entry, separated by spaces."""


_DESCRIPTION: Final = """\
Check a cloud config (bosh cloud-config), or a manifest for bosh create-env, as BOSH and the CPI read it.
Several cloud configs are merged. What they name in AWS is looked up. Nothing is created or changed.
Each finding has a severity, its place, what is wrong and what to do. error: the deployment fails, or
does not do what the file says. warning: it may do something else than expected. not checked: a value is a
((variable)), or AWS refused the lookup."""


def main(arguments: list[str]) -> int:
    """Check, and print a report."""
    parser = command.parser(
        "check",
        _DESCRIPTION,
        "no finding is an error",
        'a finding is an error; with --strict also: it is a warning, or "not checked"',
    )
    parser.add_argument(
        "files",
        metavar="FILE",
        nargs="+",
        help="a cloud config (name all of a Director's), or a manifest for create-env; - for stdin",
    )
    parser.add_argument(
        "--manifest",
        metavar="FILE",
        action="append",
        default=[],
        help="a deployment's manifest, to check with the cloud config",
    )
    parser.add_argument(
        "--stemcell",
        metavar="CID",
        action="append",
        type=_stemcell,
        default=[],
        help="a stemcell from which VMs are created: ami-…; EC2 is then asked for dry runs; may be repeated",
    )
    parser.add_argument(
        "--director",
        metavar="UUID",
        type=command.uuid,
        help="the Director's UUID (bosh env), if a policy compares its tag",
    )
    parser.add_argument(
        "--cpi",
        metavar="NAME",
        type=_name,
        help="the CPI's name in the CPI config, if azs name several: only its azs are checked",
    )
    parser.add_argument(
        "--strict", action="store_true", help="fail (status 1) on warnings and on what is not checked, too"
    )
    parser.add_argument("--offline", action="store_true", help="don't call AWS")
    return command.run(parser, arguments, _check)


def _stemcell(text: str) -> str:
    if not text.startswith("ami-"):
        message = f"'{text}' is not a stemcell's CID, which begins with ami-"
        raise argparse.ArgumentTypeError(message)
    return text


def _name(text: str) -> str:
    if not text:
        raise argparse.ArgumentTypeError("must be a CPI's name: without one, leave --cpi out")
    return text


def _check(given: argparse.Namespace) -> int:
    names = [*given.files, *given.manifest]
    if given.offline and given.stemcell:
        raise CloudError("--stemcell needs AWS, which --offline does not call: leave one of them out")
    if [given.config, *names].count(loading.STDIN) > 1:
        raise CloudError("only one file can be - (stdin): give the others by their paths")
    if len(given.manifest) > 1:
        raise CloudError("--manifest can be given only once: check each deployment alone")
    read = loading.read(given.config)
    try:
        config = loading.parse_document(read, {}, given.config)
    except BoshError:
        loading.warn_of_unknown_keys(read, {})  # else they are findings
        raise
    if log.logger.level != log.DEBUG:
        log.set_level("error")  # a finding says once, with its place, what the methods log for each VM
    properties = cloud_properties(read)
    section = properties.get("aws") or {}
    files, wrong = read_files(
        given.files, next(iter(given.manifest), None), given.cpi or "", config.aws, section
    )
    account = Account(files.aws, is_offline=given.offline)
    config = config.replace(director_uuid=given.director)
    all_found = [*unknown_keys(properties), *wrong, *findings(files, config, account, given.stemcell)]
    found = sort_distinct(in_file(each, given.config) for each in all_found)
    tried = requests.count(files)
    counts = ", ".join(log.pluralize(number, _NOUNS[kind]) for kind, number in tried.items())
    closing = f"Checked {', '.join(names)}{' offline' if given.offline else ''}: tried {counts}"
    more = {"files": names, "tried": tried}
    shown = command.show(document(found, more), lines(found, closing), as_json=given.json)
    return shown or status(found, is_strict=given.strict)


def findings(
    files: Files, config: CpiConfig, account: Account, stemcells: Sequence[str] = ()
) -> Iterator[Finding]:
    """Find all that is wrong with files.

    Args:
        files: The files.
        config: The configuration; of create-env's, only what the files say counts in ``aws``. Its Director's
            UUID is None if that is not known.
        account: The account.
        stemcells: The CIDs of stemcells; each VM must be able to run one of them.
    """
    sizes, of_sizes = _sizes(files, account)
    files = files.replace(sizes=sizes)
    config = config.replace(aws=files.aws, stemcell=STEMCELL_WITHOUT_REGISTRY)
    trial = Trial(files, config, account, stemcells)
    of_files = [
        *of_sizes,
        *property_values.of_keys(files.aws),
        *file_findings.findings(files, is_offline=account.is_offline),
        *references.unknown_names(files),
        *requests.missing_subnets(files),
        *account_findings.crowded_groups(files),
    ]
    places = (each.place for each in of_files if each.severity is Severity.ERROR)
    wrong = {place.identity for place in places if place is not None and _is_value(files, place)}
    of_requests = [each for each in trial.findings() if each.where not in wrong]  # the first alone
    of_account = [*account_findings.findings(files, account)] if not account.is_offline else []
    failing = [each.place for each in of_account if each.severity is Severity.ERROR and each.place]
    subnets = {(each.file, *each.route[:-1]) for each in failing if each.route[-1:] == ("range",)}
    found = [
        *(each for each in of_files if not _is_in_range(each.place, subnets)),
        *of_requests,
        *of_account,
        *account.not_checked(),
    ]
    yield from (file_findings.adjust(files, each) for each in found)


def _is_in_range(place: Place | None, subnets: Collection[tuple[object, ...]]) -> bool:
    """Whether a place is one of the addresses of subnets, by their files and routes, whose range is wrong."""
    *subnet, key = (place.file, *place.route[:_TO_ADDRESSES]) if place is not None else ("",)
    return tuple(subnet) in subnets and key in ADDRESSES


_TO_ADDRESSES: Final = len(("networks", 0, "subnets", 0, "range"))
"""How many keys lead to a subnet's addresses."""


def _is_value(files: Files, place: Place) -> bool:
    """Whether a place is one value, and not a hash, which may lack several keys."""
    nodes = [each.root.at(*place.route) for each in files.all if each.name == place.file]
    return not any(isinstance(node.value, dict) for node in nodes)


def read_files(
    names: Sequence[str], manifest: str | None, cpi: str, aws: AwsConfig, section: Json
) -> tuple[Files, list[Finding]]:
    """Read files.

    Args:
        names: Cloud configs, or one manifest for create-env.
        manifest: A deployment manifest.
        cpi: The name in the CPI config of the CPI whose azs are checked.
        aws: The ``aws`` section of cpi.json.
        section: That section as it is written.

    Returns:
        The files, and what is wrong with the configuration itself, create-env's or cpi.json's.

    Raises:
        CloudError: One can't be read, or they don't belong together.
    """
    documents = [Document.read(name) for name in names]
    deployed = Document.read(manifest) if manifest is not None else None
    whole = [
        each for each in documents if _kind(each, BoshCloudConfig, _CLOUD_CONFIG, _CREATE_ENV) == _CREATE_ENV
    ]
    if deployed is not None:
        _kind(deployed, Manifest, _DEPLOYMENT)
    if whole and (len(documents) > 1 or deployed):
        raise CloudError(f"'{whole[0].name}' is {_CREATE_ENV}: check it alone")
    wrong = [*quoted_booleans(section)]
    for each in whole:
        log.redact.learn(each.root.at("cloud_provider").value)
        aws, wrong = read_create_env(each, section, aws)
    files = Files(documents, deployed, aws, cpi, bool(whole))
    cpis = {str(az.at("cpi").value) for az in files.lists["azs"] if az.get("cpi") is not None}
    if cpi and cpi not in cpis and "azs" not in files.open_lists:
        named = f"their CPIs are {', '.join(sorted(cpis))}" if cpis else "they name no CPI: leave --cpi out"
        raise CloudError(f"no az has the CPI '{cpi}': {named}")
    return files, wrong


def _kind(document: Document, model: type[BoshHash], *wanted: str) -> str:
    """Tell the kind of a file by its keys.

    Args:
        document: The file.
        model: What reads it, if it is as wanted.
        wanted: What it may be.

    Raises:
        CloudError: It is something else.
    """
    whole = document.value[0] if isinstance(document.value, list) and document.value else document.value
    keys = {*whole} if isinstance(whole, dict) else set()
    sections = {str(key) for key in keys if isinstance(whole[key], list | dict)}  # a variable may be "az"
    kinds = (kind for kind, signs in _KINDS.items() if any({*sign.split()} <= keys for sign in signs))
    is_like = any(likeness(key, known) >= SIMILAR for key in sections for known in keys_in(model))
    is_known = is_like or not keys or document.root.is_unknown
    kind = next(kinds, wanted[0] if is_known else "perhaps a file of variables: it has no key of the others")
    if kind not in wanted:
        remedy = f"FILE is {_CLOUD_CONFIG}, or {_CREATE_ENV}; --manifest names {_DEPLOYMENT}"
        raise CloudError(f"'{document.name}' is {kind}. {remedy}")
    return kind


def _sizes(files: Files, account: Account) -> tuple[Sequence[VmSize], list[Finding]]:
    """The sizes from which the CPI chooses for ``vm_resources``; if the families are wrong, a finding."""
    try:
        known = vm_sizes.of_families(files.aws.vm_resources_families)
        if not account.is_offline and files.aws.vm_resources_by_region:
            known = offered_sizes(files.aws, lambda: account.clients.ec2, known)
    except CloudError as error:
        remedy = "Correct aws.vm_resources_families in cpi.json"
        return (), [Finding(Severity.ERROR, error.message, remedy)]
    return known, []
