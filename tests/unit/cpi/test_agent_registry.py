"""The registry of calls that need none, and of those that need one while none is configured."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bosh_aws_cpi.config import cpi_config
from bosh_aws_cpi.cpi.agent_registry import DisabledRegistry, NoRegistry
from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.errors import CloudError, CPIAPIVersionNotSupported

if TYPE_CHECKING:
    from collections.abc import Callable

AWS = {"max_retries": 1, "region": "us-east-1", "access_key_id": "a", "secret_access_key": "b"}
ABSENT = "absent"


def cloud(contract: int, stemcell: object, *, is_configured: bool = False) -> Cloud:
    """Make the cloud of a call."""
    registry = {"endpoint": "h"} if is_configured else None
    document = {"cloud": {"properties": {"aws": AWS, "registry": registry}}}
    context = {} if stemcell == ABSENT else {"vm": {"stemcell": {"api_version": stemcell}}}
    return Cloud(cpi_config.parse(document, context, {}), contract)


@pytest.mark.parametrize(
    ("contract", "stemcell", "is_needed", "is_needed_by_existing"),
    [
        (1, ABSENT, True, True),
        (1, None, True, True),
        (1, 3, True, True),
        (2, ABSENT, True, False),
        (2, 1, True, True),
        (2, 2, False, False),
        (3, 1, True, True),
        (3, 3, False, False),
    ],
)
def test_kind(contract: int, stemcell: object, *, is_needed: bool, is_needed_by_existing: bool) -> None:
    """From contract 2 and stemcell 2 on no registry is used; an existing VM may do without one before."""
    without, configured = cloud(contract, stemcell), cloud(contract, stemcell, is_configured=True)
    assert type(without.registry) is (DisabledRegistry if is_needed else NoRegistry)
    assert type(without.registry_of_existing_vm) is (
        DisabledRegistry if is_needed_by_existing else NoRegistry
    )
    for found in (configured.registry, configured.registry_of_existing_vm):
        assert type(found).__name__ == ("HttpRegistry" if is_needed else "NoRegistry")


@pytest.mark.parametrize("name", ["registry", "registry_of_existing_vm"])
def test_stemcell_without_a_version(name: str) -> None:
    """A stemcell whose version is null is refused where it matters, which is not in contract 1."""
    with pytest.raises(CPIAPIVersionNotSupported, match="Stemcell API version ''"):
        getattr(cloud(2, None), name)
    assert cloud(1, None).stemcell_api_version == 1


def test_no_registry() -> None:
    """Where none is needed nothing is done, and a disk was never in it."""
    registry = NoRegistry()
    registry.save("i-1", {})
    assert registry.detach("i-1", "vol-1") is False
    assert (registry.is_used, registry.is_there) == (False, True)


@pytest.mark.parametrize(
    ("call", "what"),
    [
        (lambda registry: registry.check("i-1"), "read"),
        (lambda registry: registry.save("i-1", {}), "update"),
        (lambda registry: registry.attach("i-1", "vol-1", "/dev/sdf"), "read"),
        (lambda registry: registry.detach("i-1", "vol-1"), "read"),
    ],
)
def test_disabled_registry(call: Callable[[DisabledRegistry], object], what: str) -> None:
    """Where one is needed and not configured, reading and writing say so; deleting is fine."""
    registry = DisabledRegistry()
    registry.delete("i-1")
    with pytest.raises(CloudError, match=f"{what} registry settings has failed for instance_id=i-1"):
        call(registry)
    assert (registry.is_used, registry.is_there) == (True, False)
