"""`cpi check CONFIG_PATH FILE…`: checks a cloud config before a deployment; read-only."""

import argparse
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from bosh_aws_cpi import log
from bosh_aws_cpi.aws.sdk.clients import CommandClients
from bosh_aws_cpi.call_statistics import CallStatistics
from bosh_aws_cpi.config import loading
from bosh_aws_cpi.config.cpi_config import cloud_properties
from bosh_aws_cpi.errors import BoshError, CloudError
from bosh_aws_cpi.tools import command
from bosh_aws_cpi.tools.asking import RETRIES
from bosh_aws_cpi.tools.checks.account import survey
from bosh_aws_cpi.tools.checks.configuration import unknown_keys
from bosh_aws_cpi.tools.checks.offline import Files
from bosh_aws_cpi.tools.findings import Finding, document, lines, ordered, status

_DESCRIPTION: Final = """\
Check a cloud config (bosh cloud-config), or a manifest for bosh create-env, as BOSH and the CPI read it.
Several cloud configs are merged. What they name in AWS is looked up. Nothing is created or changed.
Each finding has a severity, its place, what is wrong and what to do. error: the deployment fails. warning: it
may do something else than expected. not checked: a value is a ((variable)), or AWS refused the lookup."""


def main(arguments: list[str]) -> int:
    """Check, and print a report."""
    return command.run(_parser(), arguments, _check)


def _parser() -> argparse.ArgumentParser:
    parser = command.parser(
        "check",
        _DESCRIPTION,
        "no finding is an error",
        'a finding is an error: the deployment fails; with --strict also: it is a warning, or "not checked"',
    )
    parser.add_argument(
        "files",
        metavar="FILE",
        nargs="+",
        help="a cloud config (name all of a Director's), or a manifest for create-env; - for stdin",
    )
    parser.add_argument("--manifest", metavar="FILE", help="a deployment's manifest, to check with it")
    parser.add_argument(
        "--stemcell",
        metavar="CID",
        action="append",
        type=_stemcell,
        default=[],
        help="a stemcell that the instance types must fit: ami-…; may be repeated",
    )
    parser.add_argument(
        "--cpi",
        metavar="NAME",
        default="",
        help="the CPI's name in the CPI config, if azs name several: only its azs are checked",
    )
    parser.add_argument(
        "--strict", action="store_true", help="fail (status 1) on warnings and on what is not checked, too"
    )
    parser.add_argument("--offline", action="store_true", help="don't call AWS")
    return parser


def _stemcell(text: str) -> str:
    if not text.startswith("ami-"):
        message = f"'{text}' is not a stemcell's CID, which begins with ami-"
        raise argparse.ArgumentTypeError(message)
    return text


def _check(given: argparse.Namespace) -> int:
    if [given.config, *given.files, given.manifest].count(loading.STDIN) > 1:
        raise CloudError("stdin, -, can be read only once: give the other files by their paths")
    read = loading.read(given.config)
    try:
        aws = loading.parsed(read, {}, given.config).aws
    except BoshError:
        loading.tell_unknown(read, {})  # else they are findings
        raise
    if log.logger.level != log.DEBUG:
        log.set_level("error")  # a finding says once, with its place, what the methods log for each VM
    properties = cloud_properties(read)
    files = Files.read(given.files, given.manifest, aws, given.cpi, properties.get("aws"))
    asked: Iterable[Finding] = ()
    if not given.offline:
        files, asked = _account(files, given.stemcell)
    found = ordered(
        [*unknown_keys(properties), *files.findings(is_offline=given.offline), *map(files.placed, asked)]
    )
    names = [*given.files, *([given.manifest] if given.manifest else [])]
    closing = f"Checked {', '.join(names)}{' offline' if given.offline else ''}"
    shown = command.show(document(found, {"files": names}), lines(found, closing), as_json=given.json)
    return shown or status(found, is_strict=given.strict)


def _account(files: Files, stemcells: Sequence[str]) -> tuple[Files, Iterator[Finding]]:
    """The files as the region makes them, and what AWS says of the things that they name."""
    clients = CommandClients(files.aws.replaced(max_retries=RETRIES), CallStatistics())
    files = files.in_region(lambda: clients.ec2)
    return files, survey.findings(clients, files, stemcells)
