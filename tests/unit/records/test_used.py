"""The record of used code, and how alike two are."""

import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.errors import TrimtabError
from trimtab.files import read_json, write_json
from trimtab.records.used import ByteCodeRead, UsedCode, UsedCodeByLibrary, jaccard


def test_functions_and_kernels_are_read_by_library(tmp_path: Path) -> None:
    code = UsedCode(frozenset({8192, 4096}), frozenset({"_Z6matmulPf", "_Z3addPf"}))
    UsedCodeByLibrary(libraries={"lib/a.so": code}).write(tmp_path / "used.json")
    assert UsedCodeByLibrary.read(tmp_path / "used.json").libraries == {"lib/a.so": code}
    (written,) = read_json(tmp_path / "used.json")["libraries"].values()
    assert written == {"functions": [4096, 8192], "kernels": ["_Z3addPf", "_Z6matmulPf"]}


@pytest.mark.parametrize(
    ("libraries", "message"),
    [
        (["lib/a.so"], "libraries"),
        ({"lib/a.so": {"functions": []}}, r"kernels: Field required"),
        ({"lib/a.so": {"functions": 4096, "kernels": []}}, "functions"),
        ({"lib/a.so": {"functions": ["0x1000"], "kernels": []}}, "functions"),
        ({"lib/a.so": {"functions": [True], "kernels": []}}, "functions"),
        ({"lib/a.so": {"functions": [-1], "kernels": []}}, "functions"),
        ({"lib/a.so": {"functions": [], "kernels": [7]}}, "kernels"),
    ],
)
def test_what_is_no_such_record_is_refused(tmp_path: Path, libraries: Any, message: str) -> None:
    write_json(tmp_path / "used.json", {"version": 1, "libraries": libraries})
    with pytest.raises(TrimtabError, match=rf"used\.json: .*{message}.*`debloat`"):
        UsedCodeByLibrary.read(tmp_path / "used.json")


@given(st.lists(st.binary().map(lambda name: os.fsdecode(name.replace(b"\0", b"")))))
def test_byte_code_is_read_as_written(paths: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "byte_code.json")
        ByteCodeRead(paths=paths).write(file)
        assert ByteCodeRead.read(file).paths == paths


@pytest.mark.parametrize("paths", [None, "/a.pyc", [7], ["a\0b"]])
def test_byte_code_that_is_no_path_is_refused(tmp_path: Path, paths: Any) -> None:
    write_json(tmp_path / "byte_code.json", {"version": 1, "paths": paths})
    with pytest.raises(TrimtabError, match=r"byte_code\.json: .*paths.*`debloat`"):
        ByteCodeRead.read(tmp_path / "byte_code.json")


sets = st.frozensets(st.integers(0, 9))


@given(sets, sets)
def test_similarity_is_the_share_in_common(one: frozenset[int], other: frozenset[int]) -> None:
    found = jaccard(one, other)
    assert found == jaccard(other, one)
    if not one and not other:
        assert found is None
        return
    in_one, in_other = ([x in each for x in range(10)] for each in (one, other))
    both = sum(a and b for a, b in zip(in_one, in_other, strict=True))
    either = sum(a or b for a, b in zip(in_one, in_other, strict=True))
    assert found == both / either
    assert (found == 1) is (one == other)
