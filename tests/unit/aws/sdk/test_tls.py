"""The TLS versions of connections to AWS."""

import ssl

from botocore.httpsession import create_urllib3_context


def test_oldest_version() -> None:
    """The SDK connects with TLS 1.2 or later, as `aws.fips` needs."""
    assert create_urllib3_context().minimum_version >= ssl.TLSVersion.TLSv1_2
