"""usage.json: what is written is read again, and a foreign document is refused."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.errors import TrimtabError
from trimtab.files import write_json
from trimtab.records.usage import (
    Usage,
    UsedFile,
    UsedLibrary,
    UsedProcess,
)

libraries = st.builds(
    UsedLibrary,
    path=st.text(),
    build_id=st.none() | st.text("0123456789abcdef"),
    size_bytes=st.integers(0, 1 << 40),
    traced=st.booleans(),
    not_traced_because=st.text(),
    functions_total=st.integers(0, 1 << 20),
    functions_used=st.integers(0, 1 << 20),
    used_functions=st.lists(st.integers(0, 1 << 32)),
)
usages = st.builds(
    Usage,
    workload=st.text(),
    command=st.lists(st.text()),
    complete=st.booleans(),
    incomplete_because=st.lists(st.text()),
    notes=st.lists(st.text()),
    processes=st.lists(
        st.builds(UsedProcess, st.integers(), st.integers(), st.text(), st.text()), max_size=3
    ),
    libraries=st.lists(libraries, max_size=3),
    files=st.lists(
        st.builds(UsedFile, st.text(), st.none() | st.text(), st.lists(st.text())), max_size=3
    ),
)


@given(usage=usages)
def test_round_trip(tmp_path_factory: pytest.TempPathFactory, usage: Usage) -> None:
    path = tmp_path_factory.getbasetemp() / "usage.json"
    usage.write(path)
    assert Usage.read(path) == usage


@pytest.mark.parametrize("document", [{}, [], {"version": 1}, {"version": 99}, "text"])
def test_something_else_is_refused(tmp_path: Path, document: object) -> None:
    write_json(tmp_path / "usage.json", document)
    with pytest.raises(TrimtabError, match=r"usage\.json"):
        Usage.read(tmp_path / "usage.json")
