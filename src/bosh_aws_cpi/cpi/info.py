"""info and ping: they call no AWS API, and import as little as possible."""

from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.jsontext import Json

STEMCELL_FORMATS = ("aws-raw", "aws-light")


def info(cloud: Cloud) -> Json:
    """Return the stemcell formats and the contract version that this CPI supports (contract: info)."""
    return {
        "stemcell_formats": list(STEMCELL_FORMATS),
        "api_version": cloud.config.debug_cpi.api_version,
    }


def ping(cloud: Cloud) -> str:  # noqa: ARG001 - every method gets the cloud
    """Answer "pong"."""
    return "pong"
