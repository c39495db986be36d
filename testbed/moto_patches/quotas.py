"""Service Quotas: EC2's quotas of vCPUs; KMS: the form of its answers."""

import json
from typing import Any

from moto.kms.responses import KmsResponse
from moto.servicequotas.responses import ServiceQuotasResponse

from testbed.moto_patches.patching import Original, Patches

PATCHES = Patches()

QUOTAS = {
    "Running On-Demand DL instances": 0,
    "Running On-Demand F instances": 0,
    "Running On-Demand G and VT instances": 0,
    "Running On-Demand High Memory instances": 0,
    "Running On-Demand HPC instances": 0,
    "Running On-Demand Inf instances": 0,
    "Running On-Demand P instances": 0,
    "Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances": 5,
    "Running On-Demand Trn instances": 0,
    "Running On-Demand X instances": 0,
    "All DL Spot Instance Requests": 0,
    "All F Spot Instance Requests": 0,
    "All G and VT Spot Instance Requests": 0,
    "All Inf Spot Instance Requests": 0,
    "All P4, P3 and P2 Spot Instance Requests": 0,
    "All P5 Spot Instance Requests": 0,
    "All Standard (A, C, D, H, I, M, R, T, Z) Spot Instance Requests": 5,
    "All Trn Spot Instance Requests": 0,
    "All X Spot Instance Requests": 0,
    "EC2-VPC Elastic IPs": 5,
}
"""A new account's, from the EC2 user guide, "On-Demand Instance quotas" and "Spot Instance quotas"."""
UNLISTED = {"Running On-Demand DL instances", "Running On-Demand Trn instances"}
"""Those that have only a default value, as some do; which ones is not documented."""
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
