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


def cloud(contract: int, stemcell: object = "absent", registry: dict[str, str] | None = None) -> Cloud:
    """Make the cloud of a call."""
    document = {"cloud": {"properties": {"aws": AWS, "registry": registry}}}
    context = {} if stemcell == "absent" else {"vm": {"stemcell": {"api_version": stemcell}}}
    return Cloud(cpi_config.parse(document, context, {}), contract)


@pytest.mark.parametrize(
    ("contract", "stemcell", "registry", "kind"),
    [
        (1, "absent", None, "DisabledRegistry"),
        (1, 3, None, "DisabledRegistry"),
        (1, None, None, "DisabledRegistry"),
        (1, 3, {"endpoint": "h"}, "HttpRegistry"),
        (2, "absent", None, "DisabledRegistry"),
        (2, 1, {"endpoint": "h"}, "HttpRegistry"),
        (2, 2, None, "NoRegistry"),
        (2, 2, {"endpoint": "h"}, "NoRegistry"),
        (3, 1, {"endpoint": "h"}, "HttpRegistry"),
        (3, 3, {"endpoint": "h"}, "NoRegistry"),
    ],
)
def test_kind(contract: int, stemcell: object, registry: dict[str, str] | None, kind: str) -> None:
    """Only from contract 2 and stemcell 2 on no registry is needed, and then none is used."""
    assert type(cloud(contract, stemcell, registry).registry).__name__ == kind


@pytest.mark.parametrize(
    ("contract", "stemcell", "registry", "kind"),
    [
        (1, "absent", None, "DisabledRegistry"),
        (1, 3, None, "DisabledRegistry"),
        (2, "absent", None, "NoRegistry"),
        (3, "absent", None, "NoRegistry"),
        (2, 1, None, "DisabledRegistry"),
        (3, 1, None, "DisabledRegistry"),
        (3, 2, None, "NoRegistry"),
        (2, "absent", {"endpoint": "h"}, "HttpRegistry"),
        (3, 1, {"endpoint": "h"}, "HttpRegistry"),
        (3, 2, {"endpoint": "h"}, "NoRegistry"),
    ],
)
def test_kind_for_existing_vm(
    contract: int, stemcell: object, registry: dict[str, str] | None, kind: str
) -> None:
    """An existing VM needs no registry if none is configured and the stemcell's version is not given."""
    assert type(cloud(contract, stemcell, registry).registry_of_existing_vm).__name__ == kind


@pytest.mark.parametrize("contract", [2, 3])
def test_stemcell_without_a_version(contract: int) -> None:
    """A stemcell whose version is null is refused where it matters, except in contract 1."""
    with pytest.raises(CPIAPIVersionNotSupported, match="Stemcell API version '' is not supported"):
        _ = cloud(contract, None).registry
    with pytest.raises(CPIAPIVersionNotSupported, match="Stemcell API version '' is not supported"):
        _ = cloud(contract, None).registry_of_existing_vm
    assert cloud(1, None).stemcell_api_version == 1


def test_no_registry() -> None:
    """Where none is needed nothing is done, and a disk was never in it."""
    registry = NoRegistry()
    registry.check("i-1")
    registry.save("i-1", {})
    registry.attach("i-1", "vol-1", "/dev/sdf")
    registry.delete("i-1")
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
    with pytest.raises(CloudError) as caught:
        call(registry)
    assert caught.value.message == (
        f"An attempt to {what} registry settings has failed for instance_id=i-1. The registry is disabled."
    )
    assert (registry.is_used, registry.is_there) == (True, False)
