"""A recorded trace from anybody takes no memory that it does not have, and waits for nobody."""

import gzip
import os
import resource
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from trimtab.errors import TrimtabError, UserError
from trimtab.traces.formats.azure_functions_2021 import read as read_azure_functions_2021
from trimtab.traces.formats.google_2019 import read as read_google_2019
from trimtab.traces.formats.philly_log import read as read_philly_log
from trimtab.traces.formats.swf import read as read_swf
from trimtab.traces.jobs import as_trace, usable
from trimtab.traces.table import read_trace
from trimtab.traces.text_file import open_text

Read = Callable[[Path], Iterator[pd.DataFrame]]
LINE = b"1 0 0 10 1 -1 -1 1 -1 -1 1 1 1 1 1 1 -1 -1\n"


def swf(path: Path) -> Iterator[pd.DataFrame]:
    return as_trace(usable(read_swf(path, Counter()), Counter()))


def azure(path: Path) -> Iterator[pd.DataFrame]:
    return read_azure_functions_2021(path, Counter(), 1000, 1 << 30)


def google(path: Path) -> Iterator[pd.DataFrame]:
    return read_google_2019([path], Counter(), 64_000, 1 << 36)


def philly(path: Path) -> Iterator[pd.DataFrame]:
    return read_philly_log(path, Counter(), 1000, 1 << 30)


def said(read: Read, path: Path) -> str:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(TrimtabError) as caught:
        for _ in read(path):
            pass
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1 << 19  # KiB
    assert str(caught.value).startswith(str(path)) and len(str(caught.value)) < 1000
    return str(caught.value)


@pytest.mark.parametrize(("read", "name"), [(swf, "x.swf.gz"), (azure, "x.csv.gz"),
                                            (google, "x.json.gz")])  # fmt: skip
def test_a_bomb_is_put_out(tmp_path: Path, read: Read, name: str) -> None:
    filled = b";" * 1023 if read is swf else b" " * 1023 if read is google else b""
    path = tmp_path / name
    with path.open("wb") as file:  # members follow one another: each grows to a thousand times
        file.write(gzip.compress(b"app,func,end_timestamp,duration\n" if read is azure else b""))
        for _ in range(20):
            file.write(gzip.compress((filled + b"\n") * ((1 << 20) // (len(filled) + 1)), 9))
    assert "more than 100 times as large" in said(read, path)


def test_a_line_without_an_end(tmp_path: Path) -> None:
    path = tmp_path / "x.swf"
    with path.open("wb") as file:
        file.truncate(1 << 30)
    assert "a line above" in said(swf, path)


@pytest.mark.parametrize(("read", "name"), [(swf, "x.swf"), (azure, "x.csv"), (google, "x.json"),
                                            (google, "x.parquet"), (philly, "x.json"),
                                            (read_trace, "x.parquet")])  # fmt: skip
def test_what_is_no_file(tmp_path: Path, read: Read, name: str) -> None:
    os.mkfifo(tmp_path / name)
    assert "not a file" in said(read, tmp_path / name)
    (tmp_path / name).unlink()
    (tmp_path / name).symlink_to("/dev/zero")
    assert "not a file" in said(read, tmp_path / name)
    (tmp_path / name).unlink()
    (tmp_path / name).write_bytes(b"\x1f\x8b\x00\xff[{")
    said(read, tmp_path / name)


@pytest.mark.parametrize(
    "line",
    ["[" * 5000, '{"time": 1e999999, "type": ' + "9" * 5000 + "}", '{"a": 1, "a": 2}', "[1]",
     '{"time": ' + "9" * 400 + "}"],
)  # fmt: skip
def test_lines_that_are_no_events(tmp_path: Path, line: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(line + "\n")
    assert f"{path}:1: " in said(google, path)
    path.write_text(f"[{line}]")
    said(philly, path)


def test_numbers_beyond_any_machine_are_skipped(tmp_path: Path) -> None:
    path = tmp_path / "x.swf"
    huge = LINE.replace(b" 10 1 ", b" 10 99999999999999999999 ").replace(b"-1 1 -1", b"-1 0 -1", 1)
    path.write_bytes(LINE + huge)
    skipped = Counter[str]()
    [frame] = as_trace(usable(read_swf(path, skipped), skipped))
    assert len(frame) == 1 and skipped["beyond any machine"] == 1


def test_a_table_of_a_billion_rows(tmp_path: Path) -> None:
    """Equal values take no room in a file, and eight bytes each in memory."""
    path = tmp_path / "x.parquet"
    column = pa.DictionaryArray.from_arrays(pa.array([0] * 20_000_000, pa.int8()), [0.5])
    pq.write_table(pa.table({"arrival_s": column}), path, row_group_size=20_000_000)
    assert path.stat().st_size < 1 << 18
    assert "a row group above" in said(read_trace, path)


def test_an_honest_file_is_read_as_it_is(tmp_path: Path) -> None:
    text = b"".join(b"%d\n" % number for number in range(300_000))
    for name, content in (("x.csv", text), ("x.csv.gz", gzip.compress(text))):
        (tmp_path / name).write_bytes(content)
        with open_text(tmp_path / name) as file:
            assert file.read() == text
    with pytest.raises(FileNotFoundError):
        open_text(tmp_path / "nothing")
    with pytest.raises(UserError, match="not a file"):
        open_text(tmp_path)
