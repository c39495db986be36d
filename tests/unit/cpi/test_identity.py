"""The identity of a request, by which it finds what it made before it was killed."""

from typing import Any

import pytest

from bosh_aws_cpi.cpi.cloud import Cloud
from bosh_aws_cpi.cpi.identity import call_id, client_token
from bosh_aws_cpi.model import InstanceTypeFacts
from bosh_aws_cpi.plan.block_devices import BlockDevices
from bosh_aws_cpi.plan.launch_options import LaunchOption
from tests.unit.conftest import DIRECTOR

WISH = (1024, {"type": "gp3", "tags": {"a": "1", "b": "2"}}, None)


def asked(cloud: Cloud, request_id: str | None, *wish: Any, director: str | None = DIRECTOR) -> str:
    """Return the id of a create_disk that a Director asks for."""
    cloud.config = cloud.config.replace(request_id=request_id, director_uuid=director)
    return call_id(cloud, "create_disk", *wish)


def test_same_request(cloud: Cloud) -> None:
    """The same request has the same id, in every process and every release from now on."""
    assert asked(cloud, "cpi-1", *WISH) == "6518c3fe6879aae403698129ebfa74221249d685e0c2b6bf6ca17ada259f09b5"


def test_other_requests(cloud: Cloud) -> None:
    """Another Director, number, method or argument makes another id; without a number, each call does."""
    found = [
        asked(cloud, "cpi-1", *WISH),
        asked(cloud, "cpi-1", *WISH, director="director-2"),
        asked(cloud, "cpi-1", *WISH, director=None),
        asked(cloud, "cpi-2", *WISH),
        asked(cloud, "cpi-1", 2048, *WISH[1:]),
        asked(cloud, "cpi-1", WISH[0], {}, None),
        asked(cloud, "cpi-1", *WISH[:2], "i-1"),
        asked(cloud, "cpi-1", *WISH[:2], "null"),
        asked(cloud, "cpi-1"),
        call_id(cloud, "snapshot_disk"),
        *(asked(cloud, None, *WISH) for _ in range(2)),
    ]
    assert len(set(found)) == len(found)


@pytest.mark.parametrize("request_id", ["cpi-1", "ü", "x" * 1000, None])
def test_form(cloud: Cloud, request_id: str | None) -> None:
    """The id fits a client token and the value of a tag: 64 ASCII characters at most."""
    found = asked(cloud, request_id, *WISH)
    assert 1 <= len(found) <= 64
    assert found.isascii()


def test_token() -> None:
    """The same values make the same token, in every process and every release from now on."""
    assert client_token("instance", "d", "a", "m5.large (on demand)", 0) == (
        "cc8099ff2779a7fd9cf35fd1731a4ca9a2157d44b35dbf396bbec96692f0f2b5"
    )


def test_parts_of_a_token() -> None:
    """A token differs with each of its parts, and with the borders between them."""
    parts = [("ab", "c"), ("a", "bc"), ("abc",), ("abc", ""), ("", "abc"), ("a", "b", "c"), ("ab", 0)]
    assert len({client_token(*each) for each in parts}) == len(parts)


def test_tokens_of_launch_options() -> None:
    """A token tells types, and markets, from each other, but not what belongs to the request."""

    def token(name: str, *, ephemeral: str | None = None, **way: Any) -> str:
        facts = InstanceTypeFacts(name, ebs_needs_nvme_path=True)
        return client_token("instance", LaunchOption(facts, BlockDevices([], ephemeral), **way))

    assert token("m5.large", market="spot") == token("m5.large", market="spot", ephemeral="/dev/sdb")
    assert token("m5.large", market="spot") != token("m5.large")
    assert token("m5.large", market="spot") != token("m5.xlarge", market="spot")
    assert token("m5.large", is_reserved=True) != token("m5.large")
