"""Parameters with a fixed set of words: EC2 refuses others."""

from __future__ import annotations

from functools import cache
from typing import Any

import botocore.session
from moto.ec2.responses.instances import InstanceResponse

from testbed.moto_patches.patching import Original, Patches, parameter, refuse

PATCHES = Patches()

OF_LAUNCHES = {
    "MetadataOptions.HttpTokens": "HttpTokensState",
    "MetadataOptions.HttpEndpoint": "InstanceMetadataEndpointState",
    "MetadataOptions.HttpProtocolIpv6": "InstanceMetadataProtocolState",
    "MetadataOptions.InstanceMetadataTags": "InstanceMetadataTagsState",
    "CapacityReservationSpecification.CapacityReservationPreference": "CapacityReservationPreference",
    "CpuOptions.AmdSevSnp": "AmdSevSnpSpecification",
    "CpuOptions.NestedVirtualization": "NestedVirtualizationSpecification",
    "Placement.Tenancy": "Tenancy",
}
"""Parameters of RunInstances, and the shapes of the API model that list their words."""
CREDITS = ("standard", "unlimited")
"""CreditSpecificationRequest, CpuCredits: the valid values of the API model's documentation."""
MOST_HOPS = 64
"""InstanceMetadataOptionsRequest, HttpPutResponseHopLimit: "Integers from 1 to 64"."""


@cache
def words_of(shape: str) -> tuple[str, ...]:
    """List the words of a shape of EC2's API model."""
    model: Any = botocore.session.get_session().get_service_model("ec2").shape_for(shape)
    return tuple(model.enum)


def check_word(name: str, value: str | None, words: tuple[str, ...]) -> None:
    """Refuse an unknown word; code and message: hashicorp/terraform-provider-aws issue 25547, HttpEndpoint.

    For the other parameters the same code and message are a guess.
    """
    if value is not None and value not in words:
        known = " or ".join(f"'{word}'" for word in sorted(words, reverse=True))
        refuse(
            "InvalidParameterValue",
            f"A value of '{value}' is not valid for {name}. Specify either {known} and try again.",
        )


@PATCHES.around(InstanceResponse, "run_instances")
def known_words(original: Original, response: Any) -> Any:
    """EC2 refuses launch options with unknown words, and too many hops; moto accepted any."""
    for path, shape in OF_LAUNCHES.items():
        check_word(path.rpartition(".")[2], parameter(response, path), words_of(shape))
    check_word("CpuCredits", parameter(response, "CreditSpecification.CpuCredits"), CREDITS)
    hops = parameter(response, "MetadataOptions.HttpPutResponseHopLimit")
    if hops is not None and int(hops) not in range(1, MOST_HOPS + 1):
        refuse("InvalidParameterValue", f"A value of '{hops}' is not valid for HttpPutResponseHopLimit.")
    return original(response)
