"""Cloud properties of VMs for traffic from outside: target groups and routes."""

import re
from typing import Annotated, Any, Final, Self

from pydantic import AfterValidator, Field, WithJsonSchema, model_validator
from pydantic_core import PydanticCustomError

from bosh_aws_cpi.properties.types import HASH_RULE, Cidr, Properties

_ARN: Final = r"^arn:[^:]+:elasticloadbalancing:[^:]+:\d{12}:targetgroup/[^/]+/[0-9a-f]+$"


def _is_arn(value: str) -> str:
    if re.fullmatch(_ARN, value) is None:
        message = "must be the ARN of a target group, arn:aws:elasticloadbalancing:…:targetgroup/NAME/ID"
        raise ValueError(message)
    return value


TargetGroupArn = Annotated[str, AfterValidator(_is_arn), WithJsonSchema({"type": "string", "pattern": _ARN})]
Port = Annotated[int, Field(strict=True, ge=1, le=65_535)]


class TargetGroup(Properties):
    """One of ``lb_target_groups``: a target group, and perhaps a port; the bare name or ARN will do."""

    name: str | None = None
    """* Name of the target group."""
    arn: TargetGroupArn | None = None
    """* ARN of the target group, in place of its name."""
    port: Port | None = None
    """* Port of the VM to which traffic goes, `1` to `65535`. Default: the target group's."""

    @model_validator(mode="before")
    @classmethod
    def _from_word(cls, values: Any) -> Any:  # noqa: ANN401 - whatever the manifest holds
        if isinstance(values, str):
            return {"arn" if values.startswith("arn:") else "name": values}
        return values

    @model_validator(mode="after")
    def _one_group(self) -> Self:
        if bool(self.name) == bool(self.arn):
            said = "must hold either name or arn, not both" if self.name else "must hold either name or arn"
            raise PydanticCustomError(HASH_RULE, said)
        return self

    def __str__(self) -> str:
        return self.name or str(self.arn)

    @property
    def region(self) -> str:
        """The region in its ARN, which must be given."""
        return str(self.arn).split(":")[3]


class AdvertisedRoute(Properties):
    """One of ``advertised_routes``: a destination that is routed to the VM."""

    table_id: str
    """Id of a route table in the VM's VPC."""
    destination: Cidr
    """IPv4 or IPv6 range in CIDR notation, such as `10.9.0.0/16`."""
