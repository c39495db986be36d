"""The wait for a copy of an AMI."""

import pytest

from bosh_aws_cpi.aws.sdk.timing import IMAGE_COPIED
from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.cpi.stemcells import copies
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.model import Encryption
from bosh_aws_cpi.plan import tags
from bosh_aws_cpi.properties.stemcell import StemcellProperties
from tests.unit.aws.looks import AMI, image, tagged
from tests.unit.conftest import DIRECTOR, Clock, Stub


def test_time_based_copy(cloud: Cloud, ec2: Stub, clock: Clock) -> None:
    """A copy within some minutes is waited for as long as those before it may take."""
    aws = cloud.config.aws
    stemcell = aws.stemcell.replaced(copy_completion_minutes=15)
    cloud.config = cloud.config.replaced(aws=aws.replaced(stemcell=stemcell))
    marks = {**tags.of_copy(DIRECTOR, AMI, Encryption()), **tags.stemcell_name("noble", "1")}
    ec2.keeps("describe_images", {"Images": [image("pending", Tags=tagged(**marks))]})
    properties = StemcellProperties.parse({"name": "noble", "version": "1", "ami": {"us-east-1": AMI}})
    with pytest.raises(CloudError, match="last seen: pending"):
        copies.copy(cloud, copies.Source(AMI, "us-east-1", Encryption()), properties, {})
    assert clock.now >= IMAGE_COPIED.seconds
