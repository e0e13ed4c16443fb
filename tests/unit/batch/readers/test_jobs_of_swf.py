"""Standard Workload Format: limits, users, queues, recorded starts and the machine's size."""

import gzip
from pathlib import Path

import numpy as np
import pytest
from batch_jobs_checks import check

from trimtab.batch.nodes import pool_of
from trimtab.batch.readers.read import read_jobs
from trimtab.errors import UserError

SAMPLES = Path(__file__).parent / "samples"


def fields_of(path: Path) -> list[list[int]]:
    """The jobs' lines of a log, read plainly."""
    content = path.read_bytes()
    text = (gzip.decompress(content) if path.suffix == ".gz" else content).decode()
    return [[int(field) for field in line.split()] for line in text.splitlines() if line[0] != ";"]


def test_the_sample_by_hand() -> None:
    found = read_jobs(SAMPLES / "estimates.swf")
    jobs = check(found)
    assert (found.format, found.cluster) == ("swf", pool_of(128))
    assert jobs["name"].tolist() == ["1", "4", "2"]
    assert jobs["submit_s"].tolist() == [0, 20, 30] and jobs["run_s"].tolist() == [60, 9, 30]
    assert jobs["estimate_s"].fillna(-1).tolist() == [120, 50, -1]
    assert jobs["parts"].tolist() == [8, 2, 2] and (jobs["cpu_milli"] == 1000).all()
    assert jobs["memory_bytes"].tolist() == [2048 * 1024, 0, 512 * 1024]
    assert not jobs["distinct"].any()
    assert jobs["user"].tolist() == ["3", "", "1"] and jobs["group"].tolist() == ["2", "", "1"]
    assert jobs["queue"].tolist() == ["4", "", "1"]
    assert jobs["recorded_start_s"].fillna(-1).tolist() == [5, 27, -1]
    assert found.skipped == {"parts of another job": 1, "never started": 1, "without a run time": 1}


@pytest.mark.parametrize(("name", "cores"), [("nasa.swf", 128), ("lcg.swf.gz", 24515)])
def test_real_logs(name: str, cores: int) -> None:
    found = read_jobs(SAMPLES / name)
    jobs = check(found)
    lines = fields_of(SAMPLES / name)
    assert (
        found.cluster == (pool_of(cores) if cores else None)
        and len(jobs) == len(lines)
        and not found.skipped
    )
    for column, field in (("name", 0), ("run_s", 3), ("user", 11), ("group", 12)):
        told = [
            str(line[field]) if isinstance(jobs[column][0], str) else line[field] for line in lines
        ]
        assert jobs[column].tolist() == [value if value != "-1" else "" for value in told], column
    assert jobs["submit_s"].tolist() == [line[1] - lines[0][1] for line in lines]
    assert jobs["estimate_s"].fillna(-1).tolist() == [line[8] for line in lines]
    assert jobs["parts"].tolist() == [line[7] if line[7] > 0 else line[4] for line in lines]


def test_many_blocks_are_the_same_as_one(tmp_path: Path) -> None:
    """Comments between jobs, and blocks of lines that hold none, change nothing."""
    rng = np.random.default_rng(1)
    rows = rng.integers(0, 1000, (60_000, 18))
    rows[:, 1], rows[:, 10] = np.sort(rows[:, 1]), 1
    rows[:, 7] += 1
    lines = [" ".join(map(str, row)) + "  " * 40 for row in rows]
    path = tmp_path / "log"
    path.write_text("\n".join([";" + "x" * (9 << 20), *lines[:7], "; MaxProcs: 3", "", *lines[7:]]))
    jobs = check(read_jobs(path))
    assert jobs["parts"].tolist() == rows[:, 7].tolist()
    assert jobs["run_s"].tolist() == rows[:, 3].tolist()


def test_a_bad_line_is_named(tmp_path: Path) -> None:
    path = tmp_path / "log"
    good = "1 0 0 10 1 -1 -1 1 -1 -1 1 1 1 1 1 1 -1 -1\n"
    for bad in (good.replace("10", "ten"), good.replace(" 10", "", 1), good.rstrip() + " 1\n"):
        path.write_text("; a comment\n" + good * 3 + bad + good)
        with pytest.raises(UserError, match=f"{path}:5: "):
            read_jobs(path)
