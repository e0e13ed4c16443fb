"""Each reader on a small file in its format, against rows worked out by hand."""

import codecs
import gzip
import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from trimtab.errors import UserError
from trimtab.traces.arrival_order import sorted_by_arrival
from trimtab.traces.formats.alibaba_2018 import read as read_alibaba_2018
from trimtab.traces.formats.alibaba_gpu_2020 import read as read_alibaba_gpu_2020
from trimtab.traces.formats.alibaba_gpu_2023 import read as read_alibaba_gpu_2023
from trimtab.traces.formats.azure_functions_2021 import read as read_azure_functions_2021
from trimtab.traces.formats.azure_llm import read as read_azure_llm
from trimtab.traces.formats.google_2011 import read as read_google_2011
from trimtab.traces.formats.google_2019 import read as read_google_2019
from trimtab.traces.formats.philly_log import read as read_philly_log
from trimtab.traces.formats.philly_table import read as read_philly_table
from trimtab.traces.formats.swf import read as read_swf
from trimtab.traces.jobs import as_trace, usable
from trimtab.traces.table import check_trace

SAMPLES = Path(__file__).parent / "samples"
GIB = 2**30
Read = Callable[[Path, Counter[str]], Iterator[pd.DataFrame]]


def google_2011(path: Path, skipped: Counter[str]) -> Iterator[pd.DataFrame]:
    return read_google_2011([path], skipped, 64_000, 64 * GIB)


def google_2019(path: Path, skipped: Counter[str]) -> Iterator[pd.DataFrame]:
    return read_google_2019([path], skipped, 128_000, 512 * GIB)


def alibaba_2018(path: Path, skipped: Counter[str]) -> Iterator[pd.DataFrame]:
    return read_alibaba_2018(path, skipped, 100 * GIB)


def alibaba_gpu_2020(path: Path, skipped: Counter[str]) -> Iterator[pd.DataFrame]:
    return read_alibaba_gpu_2020(path, SAMPLES / "pai_job_table.csv", skipped)


def azure_functions_2021(path: Path, skipped: Counter[str]) -> Iterator[pd.DataFrame]:
    return read_azure_functions_2021(path, skipped, 300, 300 * 2**20)


def azure_llm(path: Path, skipped: Counter[str]) -> Iterator[pd.DataFrame]:
    return read_azure_llm(path, skipped, 0.001, 0.05, 2000, 500, 16 * GIB)


def philly_table(path: Path, skipped: Counter[str]) -> Iterator[pd.DataFrame]:
    return read_philly_table(path, skipped, 4000, 32 * GIB)


def philly_log(path: Path, skipped: Counter[str]) -> Iterator[pd.DataFrame]:
    return read_philly_log(path, skipped, 4000, 32 * GIB)


# A row: arrival_s, work_s, job_class, priority, cpu_milli, gpu_milli, memory_bytes.
# A class is named by demands that are rounded up; demands are exact.
CASES: list[tuple[Read, str, list[tuple[object, ...]], dict[str, int]]] = [
    (
        read_swf,
        "small.swf",
        [
            # 8 requested, not the 4 allocated; 2,048 KB each.
            (0.0, 60.0, "8c_0.25g", 0, 8000, 0, 8 * 2 * 2**20),
            (20.0, 45.0, "1c", 0, 1000, 0, 0),
            # 2 allocated; 512 KB each used: 1 MiB, in the class of up to 256 MiB.
            (30.0, 30.0, "2c_0.25g", 0, 2000, 0, 2**20),
        ],
        {
            "failed": 1,
            "cancelled": 1,
            "part of a job": 1,
            "no submit or run time": 1,
            "asks for no core": 1,
        },
    ),
    (
        google_2011,
        "task_events.csv",
        [
            # Evicted and scheduled again: from the first submission, and the last schedule.
            (0.0, 10.0, "4c_8g", 0, 4000, 0, 8 * GIB),
            # 16 cores of the schedule, not the 32 of the later update.
            (12.0, 9.5, "16c_32g_p11", 11, 16_000, 0, 32 * GIB),
        ],
        {
            "failed, killed or lost": 1,
            "began before the trace, or incomplete": 1,
            "event without a request": 1,
            "never finished": 1,
        },
    ),
    (
        google_2019,
        "instance_events.json",
        [(0.0, 3.25, "1c_2g_p103", 103, 1000, 0, 2 * GIB)],
        {"failed, killed or lost": 1, "event without a request": 1, "reservation": 1},
    ),
    (
        alibaba_2018,
        "batch_task.csv",
        [
            (0.0, 10.0, "0.5c_0.25g", 0, 500, 0, GIB // 4),
            (100.0, 60.0, "1c_0.5g", 0, 1000, 0, GIB // 2),
            (100.0, 60.0, "1c_0.5g", 0, 1000, 0, GIB // 2),
        ],
        {"not terminated well": 1, "ends before it starts": 1, "incomplete": 1},
    ),
    (
        alibaba_gpu_2020,
        "pai_task_table.csv",
        [
            (0.0, 100.0, "4c_8g", 0, 4000, 0, 8 * GIB),
            (0.0, 100.0, "4c_8g", 0, 4000, 0, 8 * GIB),
            (0.0, 90.0, "4c_2gpu_8g", 0, 4000, 2000, 8 * GIB),
            (60.0, 38.0, "6c_0.5gpu_32g", 0, 6000, 500, 30_000 * 2**20),
        ],
        {"not terminated well": 1, "of an unknown job": 1},
    ),
    (
        read_alibaba_gpu_2023,
        "openb_pod_list.csv",
        [
            (0.0, 1.0, "10c_2gpu_4g_p1", 1, 9100, 2000, 4095 * 2**20),
            (5.0, 970.0, "12c_1gpu_16g_p2", 2, 12_000, 1000, 16 * GIB),
            (15.0, 50.0, "6c_0.5gpu_12g", 0, 6000, 460, 12 * GIB),
        ],
        {"pending": 1, "failed": 1, "incomplete": 1},
    ),
    (
        azure_functions_2021,
        "invocations_2021.txt",
        [
            (0.0, 42.0, "0.5c_0.5g", 0, 300, 0, 300 * 2**20),
            (41.25, 0.25, "0.5c_0.5g", 0, 300, 0, 300 * 2**20),
        ],
        {"incomplete": 1, "ends before it starts": 1},
    ),
    (
        azure_llm,
        "llm.csv",
        [
            (0.0, 5.308, "2c_0.5gpu_16g", 0, 2000, 500, 16 * GIB),
            (0.052, 3.58, "2c_0.5gpu_16g", 0, 2000, 500, 16 * GIB),
            (86400.0, 0.15, "2c_0.5gpu_16g", 0, 2000, 500, 16 * GIB),
        ],
        {"incomplete": 1},
    ),
    (
        philly_table,
        "philly_table.csv",
        [
            (0.0, 2951.0, "16c_4gpu_128g", 0, 16_000, 4000, 128 * GIB),
            (2932.0, 66.0, "4c_1gpu_32g", 0, 4000, 1000, 32 * GIB),
        ],
        {"incomplete": 1},
    ),
    (
        philly_log,
        "philly_log.json",
        [
            (0.0, 1.0, "4c_1gpu_32g", 0, 4000, 1000, 32 * GIB),
            (30.0, 3601.0, "12c_3gpu_96g", 0, 12_000, 3000, 96 * GIB),
        ],
        {"killed": 1, "no complete attempt": 2},
    ),
]
COLUMNS = [
    *("arrival_s", "work_s", "job_class", "priority", "cpu_milli", "gpu_milli", "memory_bytes")
]
READERS = pytest.mark.parametrize(
    ("read", "name", "rows", "skipped"), CASES, ids=[name for _, name, _, _ in CASES]
)


def trace_of(jobs: Iterator[pd.DataFrame], skipped: Counter[str]) -> pd.DataFrame:
    """The whole trace that a reader's jobs make."""
    return pd.concat(as_trace(sorted_by_arrival(usable(jobs, skipped))), ignore_index=True)


def check(trace: pd.DataFrame, rows: list[tuple[object, ...]]) -> None:
    check_trace("trace", trace)
    assert len(trace) == len(rows)
    for found, expected in zip(trace[COLUMNS].itertuples(index=False), rows, strict=True):
        assert found[:2] == pytest.approx(expected[:2], abs=1e-9)
        assert tuple(found[2:]) == expected[2:]
    assert not trace[["map_tasks", "reduce_tasks"]].any(axis=None)


@READERS
def test_rows_of_the_sample(
    read: Read, name: str, rows: list[tuple[object, ...]], skipped: dict[str, int]
) -> None:
    counted: Counter[str] = Counter()
    check(trace_of(read(SAMPLES / name, counted), counted), rows)
    assert +counted == skipped


COMPRESSED = [case for case in CASES if case[1] not in ("philly_log.json", "invocations_2021.txt")]


@pytest.mark.parametrize(
    ("read", "name", "rows", "skipped"), COMPRESSED, ids=[name for _, name, _, _ in COMPRESSED]
)
def test_compressed_and_cut_off(
    tmp_path: Path,
    read: Read,
    name: str,
    rows: list[tuple[object, ...]],
    skipped: dict[str, int],
) -> None:
    packed = gzip.compress((SAMPLES / name).read_bytes())
    path = tmp_path / f"{name}.gz"
    path.write_bytes(packed)
    check(trace_of(read(path, Counter()), Counter()), rows)
    path.write_bytes(packed[:-20])
    with pytest.raises(UserError, match=name):
        list(read(path, Counter()))


@READERS
def test_a_mark_carriage_returns_and_gzip_by_content(
    tmp_path: Path,
    read: Read,
    name: str,
    rows: list[tuple[object, ...]],
    skipped: dict[str, int],
) -> None:
    text = b"\r\n".join([*(SAMPLES / name).read_bytes().splitlines(), b""])
    for content in (codecs.BOM_UTF8 + text, gzip.compress(codecs.BOM_UTF8 + text)):
        (tmp_path / name).write_bytes(content)
        counted = Counter[str]()
        check(trace_of(read(tmp_path / name, counted), counted), rows)
        assert +counted == skipped
    # What ends in .gz may be plain.
    (tmp_path / f"{name}.gz").write_bytes(text)
    check(trace_of(read(tmp_path / f"{name}.gz", Counter()), Counter()), rows)


@READERS
@pytest.mark.parametrize("damage", ["cut line", "text for a number", "missing", "binary"])
def test_damaged_files_are_named(
    tmp_path: Path,
    damage: str,
    read: Read,
    name: str,
    rows: list[tuple[object, ...]],
    skipped: dict[str, int],
) -> None:
    path = tmp_path / name
    text = (SAMPLES / name).read_text()
    if damage == "cut line":
        # Inside the last line, before its last field.
        separator = " " if name.endswith(".swf") else ","
        path.write_text(text[: text.rindex(separator)].rstrip())
    elif damage == "text for a number":
        last = text.splitlines()[-1]
        path.write_text(text.replace(last, "".join("x" if c.isdigit() else c for c in last)))
    elif damage == "binary":
        path.write_bytes(bytes(range(256)) * 40)
    with pytest.raises(UserError) as caught:
        list(read(path, Counter()))
    assert name in str(caught.value) and "expected" in str(caught.value)


@pytest.mark.parametrize(
    ("read", "name", "column"),
    [
        (read_alibaba_gpu_2023, "openb_pod_list.csv", "scheduled_time"),
        (azure_functions_2021, "invocations_2021.txt", "duration"),
        (azure_llm, "llm.csv", "GeneratedTokens"),
        (philly_table, "philly_table.csv", "num_gpus"),
    ],
)
def test_missing_columns_are_named(tmp_path: Path, read: Read, name: str, column: str) -> None:
    path = tmp_path / name
    path.write_text((SAMPLES / name).read_text().replace(column, "else"))
    with pytest.raises(UserError, match=f"{name}: no column {column}; expected"):
        list(read(path, Counter()))


def test_swf_names_the_line(tmp_path: Path) -> None:
    path = tmp_path / "log.swf"
    path.write_text("; comment\n\n" + "1 " * 18 + "\n" + "1 " * 17 + "\n")
    with pytest.raises(UserError, match=r"log\.swf:4: 17 fields; expected Standard Workload"):
        list(read_swf(path, Counter()))
    path.write_text("1 " * 18 + "\n1 NaN-ish " + "1 " * 16 + "\n")
    with pytest.raises(UserError, match=r"log\.swf:2: .*NaN-ish"):
        list(read_swf(path, Counter()))


def test_google_2011_reads_parts_in_order_with_state_across_them(tmp_path: Path) -> None:
    lines = (SAMPLES / "task_events.csv").read_text().splitlines(keepends=True)
    paths = [tmp_path / f"part-0000{i}-of-00500.csv.gz" for i in range(3)]
    for i, path in enumerate(paths):
        path.write_bytes(gzip.compress("".join(lines[7 * i : 7 * i + 7]).encode()))
    whole = pd.concat(google_2011(SAMPLES / "task_events.csv", Counter()))
    parts = pd.concat(read_google_2011(paths[::-1], Counter(), 64_000, 64 * GIB))
    pd.testing.assert_frame_equal(whole, parts)
    paths[0].rename(tmp_path / "part-00009-of-00500.csv.gz")
    with pytest.raises(UserError, match=r"part-00009-of-00500\.csv\.gz: time goes back from"):
        list(read_google_2011(list(tmp_path.iterdir()), Counter(), 64_000, 64 * GIB))


def test_google_2019_is_equal_in_all_its_forms(tmp_path: Path) -> None:
    lines = (SAMPLES / "instance_events.json").read_text().splitlines()
    events = [json.loads(line) for line in lines]
    whole = {
        name: [int(event[name]) for event in events]
        for name in ("time", "type", "collection_id", "collection_type", "priority")
    }
    whole["instance_index"] = [int(event["instance_index"]) for event in events]
    requests = [event["resource_request"] for event in events]
    table = pa.table({**whole, "resource_request": requests})
    pq.write_table(table, tmp_path / "events.parquet")
    flat = table.flatten().to_pandas()
    flat.to_csv(tmp_path / "events.csv", index=False)
    short = flat.rename(columns=lambda name: name.removeprefix("resource_request."))
    short.to_csv(tmp_path / "short.csv.gz", index=False)
    expected = pd.concat(google_2019(SAMPLES / "instance_events.json", Counter()))
    for name in ("events.parquet", "events.csv", "short.csv.gz"):
        found = pd.concat(google_2019(tmp_path / name, Counter()))
        pd.testing.assert_frame_equal(found, expected)
    with pytest.raises(UserError, match=r"events\.avro: ends in \.avro; expected"):
        list(google_2019(tmp_path / "events.avro", Counter()))
    pq.write_table(table.drop_columns("resource_request"), tmp_path / "less.parquet")
    with pytest.raises(UserError, match=r"no column resource_request\.cpus"):
        list(google_2019(tmp_path / "less.parquet", Counter()))
    (tmp_path / "back.json").write_text("\n".join(reversed(lines)))
    with pytest.raises(UserError, match="time goes back"):
        list(google_2019(tmp_path / "back.json", Counter()))
