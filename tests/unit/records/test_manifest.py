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

texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"))
words = st.text("abc_9", min_size=1)
digests = st.binary(min_size=32, max_size=32).map(bytes.hex)
parts = st.text(
    st.characters(codec="utf-8", exclude_characters="\0/")
    | st.characters(min_codepoint=0xDC80, max_codepoint=0xDCFF, categories=["Cs"]),
    min_size=1,
).filter(lambda part: part not in (".", ".."))
names = st.lists(parts, min_size=1, max_size=3).map("/".join)
sizes = st.integers(0, 1 << 40)
times = st.floats(0, 1e6)
manifests = st.builds(
    Manifest,
    target=words,
    hardware=words,
    workloads=st.lists(words),
    environment=st.builds(Environment, words, names.map("/{}".format)),
    mode=st.sampled_from(["zero", "punch", "compact"]),
    symbols=st.sampled_from(["strip", "keep"]),
    gpu_code_kept_because=texts,
    gpus=st.lists(st.builds(UsedGpu, texts, st.integers(30, 200)), max_size=2),
    modules_made_at_run_time=st.lists(
        st.builds(RunTimeModule, digests, sizes, st.lists(texts)), max_size=2
    ),
    timings=st.builds(Timings, times, times, times),
    files=st.dictionaries(
        names, st.builds(DebloatedFile, digests, digests, sizes, sizes), max_size=3
    ),
    unloaded=st.just({}),
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
