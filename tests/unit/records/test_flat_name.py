"""Names of files made of libraries' paths: one for each, the same in Python and in C."""

import ctypes
import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trimtab.records.library_spans import flat_name

NATIVE = Path(__file__).parents[3] / "native"
PARTS = st.lists(
    st.text("_/ab", max_size=6) | st.binary(max_size=4).map(os.fsdecode), min_size=1, max_size=90
)


def is_path(name: str) -> bool:
    return all(name.split("/")) and "\0" not in name


NAMES = PARTS.map("".join).filter(is_path)


@pytest.fixture(scope="module")
def in_c(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    path = tmp_path_factory.mktemp("c") / "flat.so"
    sources = [NATIVE / "fallback/flat_name.c", NATIVE / "digest/sha256.c"]
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", path, *sources], check=True)
    return ctypes.CDLL(str(path))


@settings(max_examples=60, deadline=None)
@given(name=NAMES)
def test_c_has_the_same_rule(in_c: ctypes.CDLL, name: str) -> None:
    flat = ctypes.create_string_buffer(201)
    in_c.flat_name(os.fsencode(name), flat)
    assert os.fsdecode(flat.value) == flat_name(name)


@settings(max_examples=60, deadline=None)
@given(names=st.tuples(NAMES, NAMES))
def test_no_two_have_the_same(names: tuple[str, str]) -> None:
    one, other = map(flat_name, names)
    assert (one == other) == (names[0] == names[1])
    assert "/" not in one and len(os.fsencode(one)) <= 200


def test_usual_names_stay_readable() -> None:
    assert flat_name("lib/sub/a.so.1") == "lib__sub__a.so.1"
    assert flat_name("numpy/_core/_math.so") == "numpy___core___math.so"


@pytest.mark.parametrize(("one", "other"), [("x__y.so", "x/y.so"), ("x/_y.so", "x_/y.so")])
def test_names_that_joined_alike(one: str, other: str) -> None:
    assert flat_name(one) != flat_name(other)
