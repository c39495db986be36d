"""The tags of ``aws.tags`` beside tags whose number the operator does not choose."""

from collections.abc import Mapping

from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.log import logger
from bosh_aws_cpi.plan import tags as tag_plan


def with_common(cloud: Cloud, tags: Mapping[str, str]) -> dict[str, str]:
    """Add ``aws.tags``, as many as EC2 allows: a snapshot or a copy must not fail for a default.

    Args:
        tags: The resource's own tags; they win.
    """
    common = cloud.config.aws.tags
    together = tag_plan.beside(common, tags)
    if left_out := sorted(common.keys() - together.keys()):
        logger.warning(
            "EC2 allows %d tags: these of aws.tags are left out: %s", tag_plan.MAX_TAGS, ", ".join(left_out)
        )
    return together
