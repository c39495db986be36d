"""The committed list of components, against the files that the release is built from."""

from __future__ import annotations

import pytest

from bosh_release import blobs, sbom

pytestmark = pytest.mark.e2e


def test_committed_list_is_that_of_the_blobs(monkeypatch: pytest.MonkeyPatch) -> None:
    """`make sbom` writes the committed list from the fetched blobs, byte for byte."""
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    entries = blobs.read_index(blobs.INDEX.read_text()).values()
    assert sbom.document(sbom.project()["version"], entries) == sbom.COMMITTED.read_text()
