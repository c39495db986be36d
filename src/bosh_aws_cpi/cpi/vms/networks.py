"""configure_networks: not supported, because changing the networks of a VM on AWS means recreating it."""

from typing import NoReturn

from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.errors import NotSupported
from bosh_aws_cpi.jsontext import Json


def configure_networks(cloud: Cloud, vm_cid: str, networks: Json) -> NoReturn:  # noqa: ARG001
    """Refuse, so that the Director recreates the VM (contract V1: configure_networks).

    Raises:
        NotSupported: Always.
    """
    message = "configure_networks is no longer supported"
    raise NotSupported(message)
