"""Service Quotas: EC2's quotas of vCPUs; KMS: the form of its answers."""

import json
from typing import Any

from moto.kms.responses import KmsResponse
from moto.servicequotas.responses import ServiceQuotasResponse

from testbed.moto_patches.patching import Original, Patches
from testbed.world import QUOTAS

PATCHES = Patches()

UNLISTED = {"Running On-Demand DL instances", "Running On-Demand Trn instances"}
"""Of the quotas, those that have only a default value, as some do; which ones is not documented."""
HEADERS = {"Content-Type": "application/x-amz-json-1.1"}
MOST = 8
"""Entries of one page: fewer than AWS's 100, so that there are several."""


@PATCHES.adding(ServiceQuotasResponse, "list_service_quotas")
def listed_quotas(response: Any) -> tuple[int, dict[str, str], str]:
    """Service Quotas lists the values that apply to the account, in pages; moto lacks ListServiceQuotas.

    API model, ListServiceQuotas: "If the applied quota value is not available for a quota, the quota is not
    retrieved." An ARN has the account's id (AWS CLI reference, list-service-quotas, example).
    """
    asked = json.loads(response.body)
    start = int(asked.get("NextToken", 0))
    end = start + min(asked.get("MaxResults", MOST), MOST)
    listed = [(name, value) for name, value in QUOTAS.items() if name not in UNLISTED]
    arn = f"arn:aws:servicequotas:{response.region}:{response.current_account}:ec2/L-12345678"
    entries = [
        {"ServiceCode": "ec2", "QuotaArn": arn, "QuotaName": name, "Value": float(value)}
        for name, value in listed[start:end]
    ]
    more = {"NextToken": str(end)} if end < len(listed) else {}
    return 200, HEADERS, json.dumps({"Quotas": entries, **more})


@PATCHES.around(KmsResponse, "describe_key")
def described_as_json(original: Original, response: Any) -> Any:
    """KMS answers application/x-amz-json-1.1 (API model: protocol json 1.1); moto said it was a page."""
    return 200, {"Content-Type": "application/x-amz-json-1.1"}, original(response)
