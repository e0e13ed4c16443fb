"""manifest.json: what is written is read again, and what lacks a part is refused."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.errors import TrimtabError
from trimtab.files import write_json
from trimtab.records.manifest import (
    DebloatedFile,
    Environment,
    Manifest,
    RunTimeModule,
    Timings,
)
from trimtab.records.usage import UsedGpu

sizes = st.integers(0, 1 << 40)
times = st.floats(0, 1e6)
manifests = st.builds(
    Manifest,
    target=st.text(),
    hardware=st.text(),
    workloads=st.lists(st.text()),
    environment=st.builds(Environment, st.text(), st.text()),
    mode=st.text(),
    symbols=st.text(),
    gpus=st.lists(st.builds(UsedGpu, st.text(), st.integers(30, 200)), max_size=2),
    modules_made_at_run_time=st.lists(
        st.builds(RunTimeModule, st.text(), sizes, st.lists(st.text())), max_size=2
    ),
    timings=st.builds(Timings, times, times, times),
    files=st.dictionaries(
        st.text(), st.builds(DebloatedFile, st.text(), st.text(), sizes, sizes), max_size=3
    ),
)


@given(manifest=manifests)
def test_round_trip(tmp_path_factory: pytest.TempPathFactory, manifest: Manifest) -> None:
    path = tmp_path_factory.getbasetemp() / "manifest.json"
    manifest.write(path)
    assert Manifest.read(path) == manifest


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"timings": {"trace_s": 1.0, "locate_s": 1.0}}, r"timings\.rewrite_s"),
        ({"gpus": ["sm_90"]}, r"gpus\[0\]"),
        ({"files": {"a.so": {}}}, r"files\.a\.so\.sha256_before"),
        ({"prefix": "/env"}, "prefix"),
    ],
)
def test_damage_is_named(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    manifest = Manifest(
        target="t", hardware="h", workloads=["w"], environment=Environment("kind", "/"),
        mode="zero", symbols="keep", timings=Timings(0, 0, 0), files={},
    )  # fmt: skip
    write_json(tmp_path / "manifest.json", manifest.to_json() | change)
    with pytest.raises(TrimtabError, match=rf"manifest\.json: {said}.*run the stage `debloat`"):
        Manifest.read(tmp_path / "manifest.json")
