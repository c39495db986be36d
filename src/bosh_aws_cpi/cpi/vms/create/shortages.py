"""Remembers for three minutes what EC2 had no capacity for, so that the next calls try it last.

Each shortage is a file of its own, beside those of `aws.instance_types`, so that calls at the same time
lose none. Nothing depends on the files: without one, every launch option is tried in its turn.
"""

import json
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from bosh_aws_cpi.aws.launches import Ended, Refused
from bosh_aws_cpi.aws.sdk import private_files
from bosh_aws_cpi.aws.sdk.error_codes import SOLD_OUT
from bosh_aws_cpi.aws.sdk.errors import code_of
from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.log import logger
from bosh_aws_cpi.plan.launch_options import LaunchOption
from bosh_aws_cpi.plan.run_instances import InstanceSpec

MAX_AGE: Final = 180
"""Seconds (aws/karpenter-provider-aws, UnavailableOfferingsTTL)."""
_ORDER_AGE: Final = 3600
"""Seconds for which a repeated call keeps its order: longer than the Director's retries may take."""
_FORMAT: Final = 1
"""Part of what each file's name is computed from; change it when the content of the files changes."""


class Shortages:
    """The remembered shortages, as far as they concern one VM.

    Args:
        identity: Director and agent, which are the same for a create_vm and its retry.
    """

    def __init__(self, cloud: Cloud, spec: InstanceSpec, identity: tuple[str, str]) -> None:
        aws, endpoint = cloud.config.aws, cloud.ec2.meta.endpoint_url
        # The name of a zone stands for other zones in other accounts.
        self._scope = [_FORMAT, endpoint, aws.region, aws.access_key_id, aws.role_arn]
        self._zone, self._is_spread = spec.zone, spec.spread is not None
        self._identity = list(identity)
        self._folder = private_files.folder()

    def in_order(self, options: Sequence[LaunchOption]) -> list[LaunchOption]:
        """The launch options, with those that EC2 had no capacity for at the end.

        A repeated call keeps the order of the first one, whatever happened since: it must begin with the same
        launch, and so with the same client token, while EC2 does not show the first call's instance yet.
        """
        order = self._read(self._identity, _ORDER_AGE)
        if order is None:
            pools = map(self._pool, options)
            order = [pool for pool in pools if self._read(pool, MAX_AGE) is not None]
            self._write(self._identity, order)
        for option in options:
            if self._pool(option) in order:
                logger.info("EC2 had no capacity for %s a moment ago: trying it last", option)
        return sorted(options, key=lambda option: self._pool(option) in order)

    def note(self, option: LaunchOption, answer: Refused) -> None:
        """Remember that EC2 can't launch an option, if that concerns other VMs, too.

        A type that EC2 can't launch into a spread placement group may have capacity outside of it.
        """
        code = answer.code if isinstance(answer, Ended) else code_of(answer.__cause__)
        if code in SOLD_OUT and (option.is_outside or not self._is_spread):
            self._write(self._pool(option), [])

    def _pool(self, option: LaunchOption) -> list[str]:
        """The capacity that EC2 sells to all: instance type, zone, market, for spread VMs, too."""
        return [option.facts.name, option.zone or self._zone, option.market]

    def _read(self, key: list[str], max_age: int) -> list[Any] | None:
        """What is remembered under a key; None if nothing is, or it is too old or can't be read."""

        def read(kept: Any) -> list[Any] | None:  # noqa: ANN401 - any JSON
            return kept["order"] if kept["key"] == key and isinstance(kept["order"], list) else None

        return private_files.read_json(self._folder and self._file(self._folder, key), max_age, read)

    def _write(self, key: list[str], order: list[list[str]]) -> None:
        """Remember something, and delete all that is too old for any use."""
        if self._folder is None:
            return
        private_files.write_json(self._file(self._folder, key), {"key": key, "order": order}, "a shortage")
        private_files.delete_older(self._folder, "capacity-*", _ORDER_AGE)

    def _file(self, folder: Path, key: list[str]) -> Path:
        name = sha256(json.dumps([self._scope, key]).encode()).hexdigest()
        return folder / f"capacity-{name}.json"


def concern(spec: InstanceSpec) -> bool:
    """Whether a VM uses the capacity that all VMs of its zone share.

    Reservations, Dedicated Hosts, Dedicated Instances and placement groups have capacity, or lack it, for
    themselves. A spread placement group takes of what all share.
    """
    own = spec.properties
    apart = own.capacity_reservation or own.dedicated_host or own.placement_group
    return not apart and own.tenancy != "dedicated"
