"""The file of a CPI config's own CA certificates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bosh_aws_cpi.aws.sdk import clients, private_files
from bosh_aws_cpi.errors import CloudError
from testbed.tls import Authority

if TYPE_CHECKING:
    from pathlib import Path


def test_no_private_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without a directory that only the user can access, the error names the key and the way out."""
    monkeypatch.setattr(private_files, "folder", lambda: None)
    with pytest.raises(CloudError) as caught:
        clients.file_of(Authority(tmp_path, "one").path.read_text())
    assert caught.value.ok_to_retry is False
    assert caught.value.message == (
        "aws.connection_options.ca_cert needs a directory that only this user can access: "
        "make HOME or TMPDIR writable for the CPI's user"
    )
