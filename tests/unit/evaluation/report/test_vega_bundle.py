"""The script of interactive figures is made once, and kept in the user's cache."""

from pathlib import Path

import pytest
import vl_convert

from trimtab.evaluation.report.page import unpacked, vega_bundle

make = vega_bundle.__wrapped__


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache/trimtab"


def test_it_is_made_once(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = make()
    assert "vegaEmbed" in unpacked(made)
    monkeypatch.delattr(vl_convert, "javascript_bundle")
    assert make() == made


@pytest.mark.parametrize("kept", [b"", b"AAAA", b"\xff"])
def test_a_damaged_one_is_made_again(cache: Path, kept: bytes) -> None:
    made = make()
    (file,) = cache.iterdir()
    file.write_bytes(kept)
    assert make() == made
    assert file.read_text() == made


def test_no_cache_is_needed(cache: Path) -> None:
    cache.parent.write_text("a file")
    assert "vegaEmbed" in unpacked(make())
