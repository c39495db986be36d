"""info and ping: answered without AWS, and with as little loaded as possible."""

from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.jsontext import Json

STEMCELL_FORMATS = ("aws-raw", "aws-light")


def info(cloud: Cloud) -> Json:
    """Say which stemcells and which contract version this CPI takes (contract: CPI Info)."""
    return {
        "stemcell_formats": list(STEMCELL_FORMATS),
        "api_version": cloud.config.supported_api_version,
    }


def ping(cloud: Cloud) -> str:  # noqa: ARG001 - every verb is given the cloud
    """Answer "pong"."""
    return "pong"
