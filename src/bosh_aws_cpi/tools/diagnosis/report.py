"""The report of `cpi diagnose`: the findings, and what they are about. Pure."""

from collections.abc import Sequence
from typing import Final

from bosh_aws_cpi import log
from bosh_aws_cpi.jsontext import Json
from bosh_aws_cpi.tools import findings
from bosh_aws_cpi.tools.diagnosis import console
from bosh_aws_cpi.tools.diagnosis.facts import Facts
from bosh_aws_cpi.tools.findings import Finding
from bosh_aws_cpi.tools.terminal import Line

_NEXT: Final = Line(
    "No error was found from outside. The agent's log is on the VM: /var/vcap/bosh/log/current "
    '(docs/diagnose.md, "Look into the VM")'
)


def document(facts: Facts) -> Json:
    """What the report tells apart from the findings; unknown values are null."""
    instance, settings = facts.instance, facts.settings
    return {
        "vm": {
            "id": instance.vm_cid,
            "state": instance.state,
            "type": instance.instance_type,
            "zone": instance.availability_zone,
        },
        "director_address": facts.remote or None,
        "user_data": settings
        and {
            "size": settings.size,
            "mbus": settings.mbus and str(settings.mbus),
            "blobstore": settings.blobstore and str(settings.blobstore),
            "registry": settings.registry and str(settings.registry),
            "dns": list(settings.dns),
            "ntp": list(settings.ntp),
        },
        "console": console.lines(facts.console or "")[-console.LAST_LINES :],
    }


def lines(facts: Facts, found: Sequence[Finding]) -> list[Line]:
    """The report for people: the findings, the VM, and the console's last lines."""
    told = document(facts)
    vm = told["vm"]
    mbus = f"; mbus {facts.mbus}" if facts.mbus else ""
    closing = f"{vm['id']}: {vm['state']}, {vm['type']}, {vm['zone'] or 'no zone'}{mbus}"
    shown = [Line(f"  {log.redact(line)}", under=4) for line in told["console"]]
    return [
        *findings.lines(found, closing),
        *([] if findings.status(found) else [_NEXT]),
        *([Line(""), Line("The console's last lines:"), *shown] if shown else []),
    ]
