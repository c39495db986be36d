"""The hashes of create_vm's cloud properties that are about the processor."""

from typing import Any, Literal

from pydantic import model_validator

from bosh_aws_cpi.properties.types import Count, Properties

State = Literal["enabled", "disabled"]
"""The words of EC2's API model: AmdSevSnpSpecification, NestedVirtualizationSpecification."""


class CpuOptions(Properties):
    """``cpu_options``: EC2's CPU options, in snake case."""

    core_count: Count | None = None
    """Number of cores, for example to save licences per core. The fallback types must support it too.
    Default: the type's."""
    threads_per_core: Count | None = None
    """`1` turns hyper-threading off. Set `core_count` and `threads_per_core` together. Default: the
    type's."""
    amd_sev_snp: State | None = None
    """`enabled` encrypts memory, on AMD types that support it. Default: EC2's."""
    nested_virtualization: State | None = None
    """`enabled` lets the VM run virtual machines, on Intel types that support it (C8i, M8i, R8i and others).
    Default: EC2's."""


class CreditSpecification(Properties):
    """``credit_specification``: how a burstable type pays for its CPU; the bare word will do."""

    cpu_credits: str | None = None
    """`standard` or `unlimited`, for burstable types; ignored with a warning for others. Short form:
    `credit_specification: unlimited`. Default: EC2's."""

    @model_validator(mode="before")
    @classmethod
    def _from_word(cls, values: Any) -> Any:  # noqa: ANN401 - whatever the manifest holds
        return {"cpu_credits": values} if isinstance(values, str) else values
