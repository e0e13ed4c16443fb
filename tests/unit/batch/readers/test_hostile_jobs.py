"""Files of jobs from anybody: sound jobs, or an error that people read, in little memory."""

import gzip
import json
import os
import resource
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from batch_jobs_checks import check
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trimtab.batch.readers.read import READERS, read_jobs
from trimtab.errors import TrimtabError, UserError

SAMPLES = Path(__file__).parent / "samples"
TRACES = Path(__file__).parents[2] / "traces" / "samples"
FILES = sorted([*SAMPLES.iterdir(), *TRACES.iterdir()])
CONTENTS = [
    gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()[:6000]
    for path in FILES
]
PIECES = [b"", b"\0", b"\n", b"\r", b",", b"|", b'"', b"{", b"[" * 300, b"-", b"1e999", b"9" * 400,
          b"-1", b"nan", b"inf", b"0", b"\xff", b"\xef\xbb\xbf", b"\\ud800", b"null", b"2026-13-01",
          b"99999999999999999999", b"1-1", b":", b"=", b"1970-01-01", b"9999-12-31T23:59:59", b"\t",
          b"_[1-999999999]", b"true", b"{}", b"gres/gpu=x", "é\u2028".encode(), b"now"]  # fmt: skip


def attempt(path: Path, name: str | None = None) -> None:
    """Read a file: sound jobs, or an error that names the file."""
    try:
        found = read_jobs(path, name)
    except UserError as error:
        assert str(error).startswith(str(path)) and len(str(error)) < 2500
    else:
        check(found)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("hostile") / "jobs"


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=300), st.sampled_from([None, None, *sorted(READERS)]), st.booleans())
def test_any_bytes(path: Path, content: bytes, name: str | None, packed: bool) -> None:
    path.write_bytes(gzip.compress(content) if packed else content)
    attempt(path, name)


@settings(max_examples=250, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.sampled_from(CONTENTS),
    st.lists(
        st.tuples(
            st.floats(0, 1, exclude_max=True), st.integers(0, 12),
            st.sampled_from(PIECES) | st.binary(max_size=4),
        ),
        min_size=1, max_size=4,
    ),
    st.booleans(),
)  # fmt: skip
def test_any_change_of_a_file(
    path: Path, content: bytes, changes: list[tuple[float, int, bytes]], from_the_end: bool
) -> None:
    """Pieces are replaced: anywhere, or among the last lines, which a header does not hide."""
    for where, length, piece in changes:
        begin = int(where * len(content))
        if from_the_end:
            begin = max(len(content) - int(where * 200), 0)
        content = content[:begin] + piece + content[begin + length :]
    path.write_bytes(content)
    attempt(path)


@settings(max_examples=100)
@given(st.sampled_from(CONTENTS), st.floats(0, 1), st.sampled_from(sorted(READERS)))
def test_any_beginning_read_as_any_format(
    path: Path, content: bytes, share: float, name: str
) -> None:
    path.write_bytes(content[: int(share * len(content))])
    attempt(path, name)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
    | st.sampled_from(["Pod", "Job", "Workload", "PodGroup", "1Gi", "Failed"])
    | st.just("2026-01-05T08:00:00Z"),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(
            ["items", "kind", "apiVersion", "metadata", "spec", "status", "name", "uid", "labels",
             "containers", "resources", "requests", "cpu", "phase", "conditions", "podSets",
             "count", "template", "type", "ownerReferences", "creationTimestamp", "minMember"]
        ),
        inner, max_size=4,
    ),
    max_leaves=25,
)  # fmt: skip


@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(VALUES, max_size=4))
def test_any_json(path: Path, items: list[object]) -> None:
    path.write_text(json.dumps({"items": items}))
    attempt(path)


def places(value: object, at: tuple[object, ...] = ()) -> Iterator[tuple[object, ...]]:
    """Where the values within a JSON value are."""
    items = value.items() if isinstance(value, dict) else enumerate(value)  # type: ignore[arg-type]
    for key, inner in items:
        yield (*at, key)
        if isinstance(inner, dict | list):
            yield from places(inner, (*at, key))


DOCUMENT = (SAMPLES / "kubernetes.json").read_text()


@settings(max_examples=100)
@given(st.sampled_from(list(places(json.loads(DOCUMENT)))), VALUES)
def test_any_value_in_an_object(path: Path, place: tuple[Any, ...], value: object) -> None:
    """A value anywhere in a list of objects becomes another."""
    at = document = json.loads(DOCUMENT)
    for key in place[:-1]:
        at = at[key]
    at[place[-1]] = value
    path.write_text(json.dumps(document))
    attempt(path)


def said(path: Path, name: str | None = None) -> str:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(TrimtabError) as caught:
        read_jobs(path, name)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1 << 19  # KiB
    assert str(caught.value).startswith(str(path))
    return str(caught.value)


def test_what_is_no_file(tmp_path: Path) -> None:
    assert "not a file" in said(tmp_path)
    assert "no such file" in said(tmp_path / "nothing")
    os.mkfifo(tmp_path / "pipe")
    assert "not a file" in said(tmp_path / "pipe")
    (tmp_path / "device").symlink_to("/dev/zero")
    assert "not a file" in said(tmp_path / "device")


@pytest.mark.parametrize(
    ("begin", "line"),
    [(b"submit,run,cores\n", b"0,1,1\n"), (b"; SWF\n", b"; comment\n"),
     (b"JobID|Submit|Elapsed|State|NNodes\n", b"1|2026-01-01|1|COMPLETED|1\n"),
     (b'{"items": ', b" " * 99)],
)  # fmt: skip
def test_a_bomb_is_put_out(tmp_path: Path, begin: bytes, line: bytes) -> None:
    path = tmp_path / "jobs"
    block = gzip.compress(line * ((1 << 20) // len(line)), 9)
    with path.open("wb") as file:
        file.write(gzip.compress(begin))
        for _ in range(20):
            file.write(block)
    assert "more than 100 times as large" in said(path)


def test_endless_lines_and_wide_tables(tmp_path: Path) -> None:
    path = tmp_path / "jobs"
    for begin in (b"submit,run,cores\n0,1,", b"; SWF\n1 2 3 ", b"x", b"[", b"{"):
        path.write_bytes(begin)
        with path.open("r+b") as file:
            file.truncate(1 << 30)
        said(path)
        path.write_bytes(begin + b"7" * (40 << 20))
        said(path)
    path.write_text(",".join(f"c{number}" for number in range(5000)) + "\n")
    assert "5,000 columns" in said(path)
    path.write_text("submit,run,cores\n" + ",".join(["1"] * 2_000_000))
    assert "Expected 3 columns" in said(path)


def test_more_jobs_than_memory_holds(tmp_path: Path) -> None:
    """A line may stand for a billion jobs."""
    path = tmp_path / "jobs"
    for copies in (10**7 - 1, 10**9, 10**300):
        row = f"M1,{copies},j_1,1,Terminated,86400,86460,100,0.5\n"
        path.write_text(row * 3)
        said(path)
        row = f"job_a,tensorflow,{copies},Terminated,1.0,2.0,600.0,29.0,50.0,MISC\n"
        path.write_text(row * 3)
        said(path)


def test_deep_and_doubled_json(tmp_path: Path) -> None:
    path = tmp_path / "jobs"
    for text in ('{"items": ' + "[" * 10**6, '{"items": [], "items": []}', '{"items": [1e999]}',
                 '{"items": [' + "9" * 10**5 + "]}", "[" * 10**6, '{"a":' * 10**5):  # fmt: skip
        path.write_text(text)
        said(path)


@pytest.mark.parametrize("text", ["\ufeff", " \n\n ", "\0\0", "a\0b,c\n"])
def test_nothing_in_it(tmp_path: Path, text: str) -> None:
    path = tmp_path / "jobs"
    path.write_text(text)
    said(path)
    path.write_text(text, "utf-16")  # as some spreadsheets write
    said(path)
