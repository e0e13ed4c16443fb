"""Tables of jobs with a header: columns by their names, values in any common notation."""

import gzip
import math
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from batch_jobs_checks import check
from hypothesis import given, settings
from hypothesis import strategies as st

from trimtab.batch.readers.read import ReadJobs, read_jobs
from trimtab.errors import UserError

SAMPLES = Path(__file__).parent / "samples"
EPOCH = datetime(2026, 1, 31, 12, tzinfo=UTC)
GIB = 2**30


def of(path: Path, text: str) -> ReadJobs:
    path.write_text(text)
    found = read_jobs(path)
    check(found)
    return found


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "jobs"


def test_the_sample_by_hand() -> None:
    jobs = check(read_jobs(SAMPLES / "jobs.csv"))
    assert jobs["name"].tolist() == ["7", "8", "9"] and jobs["user"].tolist() == [
        "ann",
        "bob",
        "ann",
    ]
    assert jobs["submit_s"].tolist() == [0, 60, 60] and jobs["run_s"].tolist() == [3600, 60, 7200.5]
    assert jobs["estimate_s"].tolist()[:2] == [7200, 3600] and math.isnan(jobs["estimate_s"][2])
    assert jobs["recorded_start_s"].tolist()[:2] == [10, 3610]
    assert jobs["parts"].tolist() == [1, 1, 2]  # 16 GPUs are two parts of 8
    assert jobs["cpu_milli"].tolist() == [8000, 4000, 32000]
    assert jobs["gpu_milli"].tolist() == [1000, 0, 8000]
    assert jobs["memory_bytes"].tolist() == [32 * GIB, 16 * GIB, 256 * GIB]
    assert jobs["gpu_type"].tolist() == ["a100", "", "h100"]


NOTATIONS = {
    "s": ("submit_s", lambda s: repr(s)),
    "epoch": ("Submit Time", lambda s: repr(EPOCH.timestamp() + s)),
    "epoch ms": ("submitTime", lambda s: repr(round((EPOCH.timestamp() + s) * 1000, 3))),
    "ms": ("arrival_ms", lambda s: repr(s * 1000)),
    "iso": ("submitted_at", lambda s: (EPOCH + timedelta(seconds=s)).isoformat()),
    "zone": (
        "created",
        lambda s: (EPOCH + timedelta(seconds=s)).astimezone(
            datetime.fromisoformat("2026-01-01T00:00:00+05:30").tzinfo
        ).isoformat(" "),
    ),
    "UTC": (
        "time",
        lambda s: (EPOCH + timedelta(seconds=s)).strftime("%Y-%m-%d %H:%M:%S.%f UTC"),
    ),
    "clock": ("submission", lambda s: f"{int(s // 3600):02}:{int(s // 60 % 60):02}:{s % 60:09.6f}"),
    "days": (
        "submit_date",
        lambda s: f"{int(s // 86400)}-{int(s // 3600 % 24)}:{int(s // 60 % 60)}:{s % 60:09.6f}",
    ),
}  # fmt: skip
RUNS = {
    "s": ("run_s", repr), "minutes": ("duration_min", lambda s: repr(s / 60)),
    "hours": ("Elapsed (hours)", lambda s: repr(s / 3600)),
    "clock": ("elapsed", lambda s: f"{int(s // 60)}:{s % 60:09.6f}"),
}  # fmt: skip
SIZES = {
    "cores": "cores",
    "cpus": "NCPUS",
    "processors": "procs",
    "nodes": "nodes",
    "gpus": "num_gpus",
}


@settings(max_examples=60)
@given(
    jobs=st.lists(
        st.tuples(
            st.integers(0, 10**12).map(lambda us: us / 1e6),
            st.integers(0, 10**12).map(lambda us: us / 1e6),
            st.integers(1, 8),
        ),
        min_size=1, max_size=6,
    ),
    run=st.sampled_from(sorted(RUNS)),
    size=st.sampled_from(sorted(SIZES)),
    notation=st.sampled_from(sorted(NOTATIONS)),
    separator=st.sampled_from(",\t;|"),
)  # fmt: skip
def test_every_notation_is_the_same_jobs(
    tmp_path_factory: pytest.TempPathFactory, notation: str, separator: str,
    jobs: list[tuple[float, float, int]], run: str, size: str,
) -> None:  # fmt: skip
    (submit_name, submit), (run_name, as_run), size_name = (
        NOTATIONS[notation], RUNS[run], SIZES[size],
    )  # fmt: skip
    lines = [separator.join([size_name, "note", run_name, submit_name])]
    lines += [separator.join([str(n), '"a b"', as_run(r), submit(s)]) for s, r, n in jobs]
    found = of(tmp_path_factory.getbasetemp() / "notation", "\n".join(lines))
    expected = sorted(range(len(jobs)), key=lambda row: jobs[row][0])
    first_s = jobs[expected[0]][0]
    assert np.allclose(
        found.jobs["submit_s"], [jobs[row][0] - first_s for row in expected], atol=2e-3
    )
    assert np.allclose(found.jobs["run_s"], [jobs[row][1] for row in expected], atol=1e-5)
    whole = found.jobs["parts"] * found.jobs["cpu_milli"]
    assert whole.tolist() == [jobs[row][2] * 1000 for row in expected]
    assert (found.jobs["parts"] == 1).all() or size in ("processors", "nodes")
    assert found.jobs["distinct"].all() == (size == "nodes")
    assert found.format == "csv"


def test_what_stands_around_the_text(file: Path) -> None:
    text = "submit,run,cores\n0,1,2\n5,1,1\n"
    expected = of(file, text).jobs
    for content in (
        b"\xef\xbb\xbf" + text.encode(), text.replace("\n", "\r\n").encode(),
        gzip.compress(text.encode()), text.replace("\n", "\n\n").encode(), text.strip().encode(),
        gzip.compress(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode()),
        text.replace("submit", '" Submit"').encode(),
    ):  # fmt: skip
        file.write_bytes(content)
        pd.testing.assert_frame_equal(check(read_jobs(file)), expected)


def test_start_and_end_instead_of_a_run_time(file: Path) -> None:
    found = of(file, "submit,start,end,cores\n10,15,45,1\n20,,,1\n0,30,20,1\n").jobs
    assert found["run_s"].tolist() == [30] and found["recorded_start_s"].tolist() == [5]
    found = of(file, "submit,wait,end,cores\n10,5,45,1\n").jobs
    assert found["run_s"].tolist() == [30] and found["recorded_start_s"].tolist() == [5]
    found = of(file, "submit,end,run,cores\n10,45,30,1\n").jobs
    assert found["recorded_start_s"].tolist() == [5]
    found = of(file, "start,run,cores\n10,45,30\n")  # the start stands for the submission
    assert "when they started" in found.remarks[0]
    assert found.jobs["recorded_start_s"].isna().all()


def test_skipped_jobs_are_counted_by_reason(file: Path) -> None:
    rows = [
        "0,1,1",
        ",1,1",
        "unknown,1,1",
        "0,,1",
        "0,-1,1",
        "0,1,",
        "0,1,0",
        "0,1,1e30",
        "1e999,1,1",
    ]
    found = of(file, "\n".join(["submit,run,cores", *rows]))
    assert found.skipped == {
        "without a submission time": 2, "without a run time": 1, "ending before they start": 1,
        "without a size": 1, "asking for nothing": 1, "beyond any machine": 2,
    }  # fmt: skip
    with pytest.raises(UserError, match=r"no job that ran \(without a run time: 1\)"):
        of(file, "submit,run,cores\n0,,1\n")


@pytest.mark.parametrize(
    ("header", "row", "parts", "cpu", "gpu", "memory"),
    [
        ("nodes,cores,gpus,mem", "2,10,4,8G", 2, 5000, 2000, 4 * GIB),
        ("nodes,cores,gpus,mem", "3,10,4,9000M", 3, 4000, 2000, 3000 * 2**20),  # rounded up
        (
            "nodes,cores_per_node,gpus_per_node,memory_gb_per_node",
            "2,10,4,8",
            2,
            10000,
            4000,
            8 * GIB,
        ),
        ("nodes,tasks,cpus_per_task,mem_per_cpu_mb", "2,8,4,1024", 2, 16000, 0, 16 * GIB),
        ("tasks,cpus_per_task,memoryPerTask", "8,4,1Gi", 8, 4000, 0, GIB),
        ("processors,memory", "8,8 GiB", 8, 1000, 0, GIB),
        ("gpus", "0.5", 1, 500, 500, 0),
        ("gpus,cpus", "9,36", 2, 18000, 5000, 0),
        ("cpu_milli,gpu_milli,memory_mib", "500,250,1024", 1, 500, 250, GIB),
        ("vcpus", "2.5", 1, 2500, 0, 0),
        ("nodes,gpus_per_node", "2,4", 2, 4000, 4000, 0),  # a core for each GPU
        ("gpus,mem_per_gpu", "4,10G", 1, 4000, 4000, 40 * GIB),
        ("nodes,cores", ",6", 1, 6000, 0, 0),
    ],
)
def test_sizes(
    file: Path, header: str, row: str, parts: int, cpu: int, gpu: int, memory: int
) -> None:
    [job] = of(file, f"submit,run,{header}\n0,1,{row}\n").jobs.to_dict("records")
    assert (job["parts"], job["cpu_milli"]) == (parts, cpu)
    assert (job["gpu_milli"], job["memory_bytes"]) == (gpu, memory)
    assert job["distinct"] == ("nodes" in header)


def test_ties_keep_the_order_of_the_file(file: Path) -> None:
    found = of(file, "id,submit,run,cores\n" + "".join(f"{n},{n % 3},1,1\n" for n in range(30)))
    expected = sorted(range(30), key=lambda number: number % 3)
    assert found.jobs["name"].tolist() == [str(number) for number in expected]


def test_an_error_names_what_is_there_and_what_is_missing(file: Path) -> None:
    with pytest.raises(UserError, match=r"submission \(submit.*run time \(run.*size \(cores.*a, b"):
        of(file, "a,b\n1,2\n")
    with pytest.raises(UserError, match="no column of the size") as caught:
        of(file, "submit,run,colour\n1,2,3\n")
    assert "submission" not in str(caught.value).partition(";")[0]
    with pytest.raises(UserError, match="row 3 below the header, column Run: 'soon'"):
        of(file, "submit,Run,cores\n0,1,1\n0,2,1\n0,soon,1\n")
    with pytest.raises(UserError, match=r"column submit: '31\.01\.2026'"):
        of(file, "submit,run,cores\n31.01.2026,1,1\n")
    with pytest.raises(UserError, match="column submit: 'now'"):
        of(file, "submit,run,cores\nnow,1,1\n")
    with pytest.raises(UserError, match="Expected 3 columns, got 4"):
        of(file, "submit,run,cores\n0,1,1\n0,1,1,1\n")


def test_jobs_without_a_name_are_numbered(file: Path) -> None:
    assert of(file, "submit,run,cores\n5,1,1\n0,1,1\n").jobs["name"].tolist() == ["1", "2"]
    assert of(file, "id,submit,run,cores\n,5,1,1\nb,0,1,1\n").jobs["name"].tolist() == ["b", ""]


def test_a_table_of_a_job_and_blank_user(file: Path) -> None:
    found = of(file, "submit,run,cores,user,account,partition,priority\n0,1,1,,x,gpu,7\n").jobs
    assert found[["user", "group", "queue"]].iloc[0].tolist() == ["", "x", "gpu"]
    assert found["priority"].tolist() == [7]


def test_deadlines_are_times_as_submissions(file: Path) -> None:
    text = "submit,run,cores,deadline\n2026-01-01T12:00,60,1,2026-01-01T12:05\n"
    assert of(file, f"{text}2026-01-01T12:01,60,1,\n").jobs["deadline_s"].tolist() == [
        300.0,
        pytest.approx(math.nan, nan_ok=True),
    ]
    assert of(file, "submit,run,cores,due_min\n90,5,1,4\n").jobs["deadline_s"].tolist() == [150.0]


def test_widths_and_images(file: Path) -> None:
    found = of(
        file,
        "submit,run,processors,min_parts,max_parts,serial_share,image\n"
        "0,1,4,2,8,0.1,train:2\n1,1,4,,8,0.1,\n2,1,4,2,,0.1,\n3,1,4,2,8,,\n"
        "4,1,4,9,8,0.1,\n5,1,4,0,8,0.1,\n6,1,4,2,8,1.1,\n7,1,4,1.5,8,0,\n",
    )
    columns = ["least_parts", "most_parts", "serial_share", "image"]
    assert found.jobs[columns].to_numpy().tolist() == [
        [2, 8, 0.1, "train:2"], [4, 8, 0.1, ""], [2, 4, 0.1, ""], [4, 4, 0.0, ""],
    ]  # fmt: skip
    assert found.skipped["with widths or a serial share that cannot be"] == 4
    with pytest.raises(UserError, match="no column of serial_share, from 0 to 1"):
        of(file, "submit,run,processors,max_parts\n0,1,4,8\n")
