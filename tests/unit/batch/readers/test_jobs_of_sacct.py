"""Slurm's accounting: `sacct -P` with steps, arrays, heterogeneous jobs, limits and GPUs."""

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from batch_jobs_checks import check
from hypothesis import given, settings
from hypothesis import strategies as st

from trimtab.batch.readers.read import ReadJobs, read_jobs
from trimtab.batch.readers.slurm.sacct import COMMAND
from trimtab.errors import UserError

SAMPLES = Path(__file__).parent / "samples"
GIB, MIB = 2**30, 2**20
HEADER = "JobID|Submit|Start|Elapsed|Timelimit|NNodes|NCPUS|ReqTRES|AllocTRES|ReqMem|State"


def of(path: Path, rows: Sequence[str], header: str = HEADER) -> ReadJobs:
    path.write_text("\n".join([header, *rows]))
    found = read_jobs(path)
    check(found)
    assert found.format == "sacct"
    return found


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "jobs"


def test_the_sample_by_hand() -> None:
    found = read_jobs(SAMPLES / "sacct.txt")
    jobs = check(found)
    # 107 still runs.
    assert jobs["counted"].tolist() == [True, True, True, False, True, True]
    assert jobs["run_s"][3] == 3 * 86400 and jobs["estimate_s"][3] == 7 * 86400
    jobs = jobs[jobs["counted"]]
    assert jobs["name"].tolist() == ["101", "103+0", "103+1", "109", "102_4"]
    assert jobs["submit_s"].tolist() == [0, 360, 360, 1200, 3600]  # 102_4: when eligible
    assert jobs["run_s"].tolist() == [7200, 600, 600, 60, 3600]
    assert jobs["recorded_start_s"].tolist() == [10, 420, 420, 1260, 5400]
    assert jobs["estimate_s"].dropna().tolist() == [86400, 604800]
    assert jobs["parts"].tolist() == [2, 3, 1, 1, 1] and jobs["distinct"].all()
    assert jobs["cpu_milli"].tolist() == [16000, 34000, 4000, 2000, 5000]  # 100 / 3, rounded up
    assert jobs["gpu_milli"].tolist() == [4000, 0, 0, 286, 0]  # two of seven slices of a GPU
    memory = [128 * GIB, 3000 * MIB, 3000 * MIB, 8 * GIB, 20000 * MIB]
    assert jobs["memory_bytes"].tolist() == memory
    assert jobs["gpu_type"].tolist() == [""] * 5  # 101 got A100s, but asked for any
    assert jobs["run_gpu_type"].tolist() == ["a100", "", "", "", ""]
    assert jobs["user"].tolist() == ["ann", "cleo", "cleo", "ann", "bob"]
    assert jobs["group"].tolist() == ["vision", "climate", "climate", "vision", "nlp"]
    assert jobs["priority"].tolist() == [5000, 3000, 3000, 10, 4000]
    assert found.skipped == {
        "never started": 6,  # the five tasks 102_[5-9%2], and 105
        "on lines with another number of fields": 1,  # a bar in a job's name
    }
    assert "steps of jobs, left out: 3" in found.remarks
    assert "components of heterogeneous jobs, each a job: 2" in found.remarks


JOBS = st.tuples(
    st.integers(0, 10**6), st.integers(0, 10**5), st.integers(0, 10**6), st.integers(1, 9),
    st.integers(1, 64), st.integers(0, 3), st.integers(0, 100),
    st.sampled_from(["", "a100", "v100"]),
    st.sampled_from(["COMPLETED", "FAILED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED"]),
)  # fmt: skip


def clock(seconds: int) -> str:
    days, rest = divmod(seconds, 86400)
    text = f"{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"
    return f"{days}-{text}" if days else text


def stamp(seconds: int) -> str:
    return datetime.fromtimestamp(1_700_000_000 + seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")


@settings(max_examples=40)
@given(st.lists(JOBS, min_size=1, max_size=8), st.sampled_from("|\t,"), st.booleans())
def test_any_jobs_come_back(
    tmp_path_factory: pytest.TempPathFactory,
    jobs: list[tuple[int, ...]],
    separator: str,
    ends: bool,
) -> None:
    rows = []
    for number, (submit, wait, run, nodes, cores, gpus, gib, model, state) in enumerate(jobs):
        gres = f";gres/gpu={gpus * nodes}" if gpus else ""
        gres += f";gres/gpu:{model}={gpus * nodes}" if gpus and model else ""
        tres = f"billing=1;cpu={cores * nodes};mem={gib * nodes}G{gres};node={nodes}"
        tres = "" if separator == "," else tres.replace(";", ",")
        fields = [
            f"{number}", stamp(submit), stamp(submit + wait), clock(run), clock(2 * run + 1),
            f"{nodes}", f"{cores * nodes}", tres, tres, f"{gib}Gn", str(state),
        ]  # fmt: skip
        rows.append(separator.join(fields) + separator * ends)
    path = tmp_path_factory.getbasetemp() / "any"
    found = of(path, rows, HEADER.replace("|", separator) + separator * ends).jobs
    order = sorted(range(len(jobs)), key=lambda row: jobs[row][0])
    for row, job in zip(order, found.to_dict("records"), strict=True):
        submit, wait, run, nodes, cores, gpus, gib, model, _ = jobs[row]
        assert job["name"] == str(row)
        assert job["submit_s"] == submit - jobs[order[0]][0]
        assert job["recorded_start_s"] == job["submit_s"] + wait
        assert (job["run_s"], job["estimate_s"]) == (run, 2 * run + 1)
        assert (job["parts"], job["distinct"]) == (nodes, True)
        assert (job["cpu_milli"], job["memory_bytes"]) == (cores * 1000, gib * GIB)
        if separator != ",":
            assert job["gpu_milli"] == gpus * 1000
            assert job["gpu_type"] == (model if gpus else "")


@pytest.mark.parametrize(
    ("state", "start", "elapsed", "reason"),
    [
        ("PENDING", "Unknown", "00:00:00", "never started"),
        ("CANCELLED by 12", "None", "00:00:00", "never started"),
        ("CANCELLED by 12", stamp(9), "00:00:00", "never started"),  # as older versions write
        ("CANCELLED+", stamp(9), "00:00:01", ""),
        ("RUNNING", stamp(9), "1-00:00:00", ""),
        ("SUSPENDED", stamp(9), "1-00:00:00", ""),
        ("RUNNING", "Unknown", "00:00:00", "never started"),
        ("REQUEUED", stamp(9), "00:10:00", ""),
        ("DEADLINE", "Unknown", "00:00:00", "never started"),
        ("COMPLETED", stamp(9), "00:00:00", ""),
    ],
)
def test_states(file: Path, state: str, start: str, elapsed: str, reason: str) -> None:
    good = f"1|{stamp(0)}|{stamp(5)}|00:01:00||1|1||||COMPLETED"
    found = of(file, [good, f"2|{stamp(0)}|{start}|{elapsed}||1|1||||{state}"])
    assert found.skipped == ({reason: 1} if reason else {})
    assert len(found.jobs) == 2 - bool(reason)
    assert found.jobs["counted"].all() == (bool(reason) or state not in ("RUNNING", "SUSPENDED"))


def test_a_trace_without_states(file: Path) -> None:
    """What has no end still ran; the header has a bar at its end, the rows have none."""
    header = "JobID|Submit|Start|End|Elapsed|NNodes|"
    rows = [f"1|{stamp(0)}|{stamp(5)}|{stamp(65)}|00:01:00|2",
            f"2|{stamp(0)}|{stamp(5)}|Unknown|00:10:00|1",
            f"3|{stamp(0)}|Unknown|Unknown|00:00:00|1"]  # fmt: skip
    found = of(file, rows, header)
    assert found.jobs["counted"].tolist() == [True, False]
    assert found.jobs["run_s"].tolist() == [60, 600] and found.jobs["parts"].tolist() == [2, 1]
    assert found.skipped == {"never started": 1}
    rows = [row + "|" for row in rows]
    assert of(file, rows, header).jobs.equals(found.jobs)


def test_slurms_fields_in_another_table(file: Path) -> None:
    """Limits in minutes, quoted resources, and memory of each node are Slurm's."""
    header = "Submit,ElapsedRaw,TimelimitRaw,NNodes,NCPUS,ReqMem,ReqTRES"
    row = f'{stamp(0)},60,90,2,8,4000Mn,"cpu=8,gres/gpu:a100=2"'
    [job] = of(file, [row], header).jobs.to_dict("records")
    assert (job["estimate_s"], job["parts"], job["cpu_milli"]) == (5400, 2, 4000)
    assert (job["memory_bytes"], job["gpu_milli"], job["gpu_type"]) == (4000 * MIB, 1000, "a100")
    file.write_text("submit,run,cores,TimelimitRaw,ReqMem\n0,60,1,90,4000\n")
    found = read_jobs(file)
    [job] = check(found).to_dict("records")
    assert found.format == "csv" and job["name"] == "1"
    assert (job["estimate_s"], job["memory_bytes"]) == (5400, 4000 * MIB)


@pytest.mark.parametrize(
    ("tasks", "count"),
    [("5-9%2", 5), ("1,3,8-9", 4), ("0-15:4", 4), ("7", 1), ("1-3,...", 3), ("x", 1)],
)  # fmt: skip
def test_pending_tasks_of_an_array(file: Path, tasks: str, count: int) -> None:
    separator = ";" if "," in tasks else "|"
    rows = [f"1|{stamp(0)}|{stamp(5)}|00:01:00||1|1||||COMPLETED",
            f"2_[{tasks}]|{stamp(0)}|Unknown|00:00:00||1|1||||PENDING"]  # fmt: skip
    found = of(file, [row.replace("|", separator) for row in rows], HEADER.replace("|", separator))
    assert found.skipped == {"never started": count}


@pytest.mark.parametrize(
    ("header", "value", "column", "expected"),
    [
        ("TimelimitRaw", "90", "estimate_s", 5400),  # in minutes
        ("Timelimit", "90:00", "estimate_s", 5400),
        ("TimelimitRaw", "UNLIMITED", "estimate_s", math.nan),
        ("Timelimit", "Partition_Limit", "estimate_s", math.nan),
        ("ReqMem", "4000Mn", "memory_bytes", 4000 * MIB),
        ("ReqMem", "4Gc", "memory_bytes", 16 * GIB),
        ("ReqMem", "16G", "memory_bytes", 8 * GIB),
        ("ReqMem", "16", "memory_bytes", 8 * MIB),
        ("ReqMem", "0n", "memory_bytes", 0),
        ("ReqTRES", "cpu=8,gres/gpu:tesla_v100=4,mem=1.5T", "gpu_type", "v100"),
        ("ReqTRES", "cpu=8,gres/gpu:a100=2,gres/gpu:h100=2,gres/gpu=4", "gpu_milli", 2000),
        ("AllocTRES", "cpu=8,gres/gpu:a100_1g.5gb=1,gres/gpu=1", "gpu_type", "a100"),
        ("AllocTRES", "cpu=8,gres/gpu:a100_3g.20gb=14,gres/gpu=14", "gpu_milli", 3000),
        ("AllocTRES", "license/x=2,gres/shard=3,energy=12", "gpu_milli", 0),
        ("AllocNodes", "1K", "parts", 1024),
        ("Group", "staff", "group", "staff"),
        ("QOS", "long", "queue", "long"),
    ],
)
def test_fields(file: Path, header: str, value: str, column: str, expected: object) -> None:
    row = f"1|{stamp(0)}|{stamp(5)}|00:01:00|2|8|COMPLETED|{value}"
    fields = f"JobID|Submit|Start|Elapsed|NNodes|AllocCPUS|State|{header}"
    [found] = of(file, [row], fields).jobs[column]
    assert found == expected or (math.isnan(found) and expected is math.nan)


def test_what_is_nearly_sacct_says_the_command(file: Path) -> None:
    fixed = (
        "JobID           JobName      State\n------------ ---------- ----------\n1 a COMPLETED\n"
    )
    bare = f"1|ann|{stamp(0)}|{stamp(5)}|CANCELLED by 7\n"
    for text, reason in ((fixed, "fixed width"), (bare, "no header")):
        file.write_text(text)
        with pytest.raises(UserError, match=reason) as caught:
            read_jobs(file)
        assert COMMAND in str(caught.value)
    for missing in ("Submit", "Elapsed"):
        with pytest.raises(UserError, match=f"no field .*{missing}"):
            of(file, ["1"], "|".join(name for name in HEADER.split("|") if name != missing))
    with pytest.raises(UserError, match="row 2 below the header, NNodes: 'many'"):
        of(file, [f"{n}|{stamp(0)}|{stamp(5)}|1:00||{nodes}|1||||COMPLETED"
                  for n, nodes in enumerate(["1", "many"])])  # fmt: skip
    for text in ("cpu", "cpu=x", "mem=4X", "gres/gpu=all", "cpu=-1", "gres/gpu:a100="):
        with pytest.raises(UserError, match=f"AllocTRES: '{text}'"):
            of(file, [f"1|{stamp(0)}|{stamp(5)}|1:00||1|1||{text}||COMPLETED"])


def test_names_in_another_encoding_stop_nothing(file: Path) -> None:
    """Also on a line that is skipped."""
    good = f"1|{stamp(0)}|{stamp(5)}|00:01:00|1|jos\xe9|COMPLETED"
    bad = f"2|{stamp(0)}|{stamp(5)}|00:01:00|1|jos|\xe9|COMPLETED"
    header = "JobID|Submit|Start|Elapsed|NCPUS|User|State"
    file.write_bytes("\n".join([header, bad, good]).encode("latin-1"))
    found = read_jobs(file)
    assert check(found)["user"].tolist() == ["jos\ufffd"]
    assert found.skipped == {"on lines with another number of fields": 1}
    file.write_text("\n".join([header, *[good] * 200_000]))  # characters across blocks
    assert set(check(read_jobs(file))["user"]) == {"jos\xe9"}


def test_the_command_asks_for_all_that_it_needs(file: Path) -> None:
    fields = COMMAND.rpartition("-o ")[2].split(",")
    file.write_text(
        "|".join(fields) + "\n" + "|".join("1" if name == "JobID" else "" for name in fields)
    )
    with pytest.raises(UserError, match="no job that ran"):  # and no field is missing
        read_jobs(file)
