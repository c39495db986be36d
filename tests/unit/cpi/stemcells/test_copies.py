"""The wait for a copy of an AMI."""

import pytest

from bosh_aws_cpi.aws.sdk.timing import IMAGE_COPIED
from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.cpi.stemcells import copies
from bosh_aws_cpi.errors import CloudError
from bosh_aws_cpi.model import Encryption
from bosh_aws_cpi.plan import tag_plan
from bosh_aws_cpi.properties.stemcell import StemcellProperties
from tests.unit.aws.looks import AMI, image, tagged
from tests.unit.conftest import DIRECTOR, Clock, Stub


def test_time_based_copy(cloud: Cloud, ec2: Stub, clock: Clock) -> None:
    """A copy within some minutes is waited for as long as those before it may take."""
    aws = cloud.config.aws
    stemcell = aws.stemcell.replace(copy_completion_minutes=15)
    cloud.config = cloud.config.replace(aws=aws.replace(stemcell=stemcell))
    marks = {**tag_plan.of_copy(DIRECTOR, AMI, Encryption()), **tag_plan.stemcell_name("noble", "1")}
    ec2.keeps("describe_images", {"Images": [image("pending", Tags=tagged(**marks))]})
    properties = StemcellProperties.parse({"name": "noble", "version": "1", "ami": {"us-east-1": AMI}})
    with pytest.raises(CloudError, match="last seen: pending"):
        copies.copy(cloud, copies.Source(AMI, "us-east-1", Encryption()), properties, {})
    assert clock.now >= IMAGE_COPIED.seconds


@pytest.mark.parametrize("minutes", [None, 15])
def test_plain_copy(cloud: Cloud, ec2: Stub, clock: Clock, minutes: int | None) -> None:
    """A copy from another region that nothing encrypts is the stemcell's own: no new one, and no wait."""
    aws = cloud.config.aws
    stemcell = aws.stemcell.replace(copy_completion_minutes=minutes)
    cloud.config = cloud.config.replace(aws=aws.replace(stemcell=stemcell))
    source = copies.Source("ami-0fedcba9876543210", "eu-west-1", Encryption())
    marks = {
        **tag_plan.of_copy(DIRECTOR, source.ami_id, Encryption()),
        **tag_plan.stemcell_name("noble", "1"),
    }
    origin = {"SourceImageId": source.ami_id, "SourceImageRegion": source.region}
    entry = image("available", "snap-0123456789abcdef0", Tags=tagged(**marks), **origin)
    ec2.keeps("describe_images", {"Images": [entry]})
    ec2.keeps("create_tags", {})
    given = {"name": "noble", "version": "1", "ami": {source.region: source.ami_id}}
    assert copies.copy(cloud, source, StemcellProperties.parse(given), {}) == AMI
    assert clock.pauses == []
