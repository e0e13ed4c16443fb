"""The script of every page is made once, and kept where that is possible."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from trimtab.evaluation.report.page import vega_bundle


@pytest.fixture(autouse=True)
def anew() -> Iterator[None]:
    vega_bundle.cache_clear()
    yield
    vega_bundle.cache_clear()


def test_it_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    bundle = vega_bundle()
    [kept] = tmp_path.glob("trimtab/vega/*")
    assert kept.read_text() == bundle and len(bundle) > 300_000
    kept.write_text("as kept")
    vega_bundle.cache_clear()
    assert vega_bundle() == "as kept"


def test_it_is_made_where_none_can_be_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert len(vega_bundle()) > 300_000
