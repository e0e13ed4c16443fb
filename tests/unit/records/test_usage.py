"""usage.json: what is written is read again, and a foreign document is refused."""

import os
import re
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
from trimtab.untrusted import is_plain_path

texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"))
# Bytes that are no UTF-8 among them.
paths = st.binary(max_size=20).map(lambda name: os.fsdecode(name.replace(b"\0", b"x")))
libraries = st.builds(
    lambda why, used, **keys: UsedLibrary(
        **keys, traced=not why, not_traced_because=why, functions_used=len(used),
        functions_total=len(used) + 3, used_functions=used,
    ),
    path=paths.map("/{}".format).filter(is_plain_path),
    build_id=st.none() | st.text("0123456789abcdef"),
    size_bytes=st.integers(0, 1 << 40),
    sha256=st.none() | st.binary(min_size=32, max_size=32).map(bytes.hex),
    why=texts,
    used=st.lists(st.integers(0, 1 << 32)),
)  # fmt: skip
uses = st.lists(st.sampled_from(["read", "map_execute", "missing"]))
usages = st.builds(
    lambda why, **keys: Usage(**keys, complete=not why, incomplete_because=why),
    workload=texts,
    command=st.lists(texts),
    why=st.lists(texts),
    notes=st.lists(texts),
    processes=st.lists(
        st.builds(
            UsedProcess, st.integers(0, 99), st.integers(0, 99), paths, st.sampled_from(["exit"])
        ),
        max_size=3,
    ),
    libraries=st.lists(libraries, max_size=3, unique_by=lambda library: library.path),
    files=st.lists(st.builds(UsedFile, paths, st.none() | paths, uses), max_size=3),
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


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/x/lib.so", "libraries: a library stands there twice"),
        ("/x//lib.so", "without `..`, `.` and `//`"),
        ("//x/lib.so", "without `..`, `.` and `//`"),
        ("/x/./lib.so", "without `..`, `.` and `//`"),
        ("/x/lib.so/", "without `..`, `.` and `//`"),
    ],
)
def test_a_library_has_one_entry_and_one_name(tmp_path: Path, path: str, words: str) -> None:
    """Else the code that one entry has would go by the other."""
    named = [UsedLibrary(name, None, 1, True, "", 1, 1, [1]) for name in ("/x/lib.so", "/y")]
    Usage(workload="w", command=[], complete=True, libraries=named).write(tmp_path / "usage.json")
    text = (tmp_path / "usage.json").read_text().replace("/y", path)
    (tmp_path / "usage.json").write_text(text)
    with pytest.raises(TrimtabError, match=re.escape(words)):
        Usage.read(tmp_path / "usage.json")
