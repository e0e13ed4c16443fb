"""What earlier stages measured, as a class of jobs: by hand from written tables."""

from pathlib import Path

import pandas as pd
import pytest

from trimtab.config.groups.cluster import ClusterConfig
from trimtab.config.groups.hardware import Hardware
from trimtab.config.groups.jobs.arrivals import ArrivalsConfig
from trimtab.config.groups.trace import JobClassConfig, TraceConfig
from trimtab.config.stages import TraceStage
from trimtab.errors import UserError
from trimtab.records.images.cold_start import (
    ColdRound,
    ColdSide,
    ColdStart,
    NeededFiles,
    StartParts,
)
from trimtab.records.measured_rounds import MeasuredRounds, RoundTimes
from trimtab.records.parquet.files import write_table
from trimtab.records.tables import LIBRARIES, RUNS
from trimtab.scheduling.measured import measured_workload, read_measured


def runs(path: Path, *rows: dict[str, object]) -> Path:
    frame = pd.DataFrame([dict.fromkeys(RUNS.names) | row for row in rows])
    write_table(path, RUNS, frame)
    return path


def row(
    condition: str, wall_s: float, energy_j: float | None, repeat: int = 0
) -> dict[str, object]:
    return {
        "workload": "train", "hardware": "small", "condition": condition, "wall_s": wall_s,
        "repeat": repeat,
        "start_up_s": 1.0, "peak_rss_bytes": int(wall_s * 100), "energy_j": energy_j,
        "energy_source": "modelled",
    }  # fmt: skip


@pytest.fixture
def libraries(tmp_path: Path) -> Path:
    path = tmp_path / "libraries.parquet"
    rows = [
        dict.fromkeys(LIBRARIES.names, 0)
        | {name: name for name in ("target", "hardware", "library", "build_id", "reason")}
        | {"debloated": True}
        | {"compressed_before_bytes": before, "compressed_after_bytes": after}
        for before, after in ((100, 40), (50, 10))
    ]
    write_table(path, LIBRARIES, pd.DataFrame(rows))
    return path


def test_times_image_memory_and_power_are_of_the_named_environment(
    tmp_path: Path, libraries: Path
) -> None:
    table = runs(
        tmp_path / "runs.parquet",
        row("original", 5.0, 50.0), row("debloated", 3.0, 24.0), row("debloated", 4.0, 24.0, 1),
    )  # fmt: skip
    slim = measured_workload([table], [libraries], "train", "debloated", {"small": 5.0})
    assert slim.work_s == (2.0, 3.0)
    assert (slim.cold_start_s, slim.image_bytes, slim.memory_bytes) == (1.0, 50, 400)
    assert slim.active_w == pytest.approx((24 / 3 + 24 / 4) / 2 - 5.0)
    original = measured_workload([table], [libraries], "train", "original", {"small": 5.0})
    assert (original.work_s, original.image_bytes) == ((4.0,), 150)
    assert slim.no_clear_change == original.no_clear_change == ("cold_start_s",)


def test_what_pairs_do_not_agree_on_is_of_all_runs_in_both_environments(
    tmp_path: Path, libraries: Path
) -> None:
    table = runs(
        tmp_path / "runs.parquet",
        row("original", 5.0, 50.0, 0), row("debloated", 6.0, 48.0, 0),
        row("debloated", 4.0, 36.0, 1), row("original", 4.5, 45.0, 1),
    )  # fmt: skip
    slim, original = (
        measured_workload([table], [libraries], "train", environment, {"small": 5.0})
        for environment in ("debloated", "original")
    )
    assert slim.work_s == original.work_s == (4.0, 5.0, 3.0, 3.5)
    assert slim.no_clear_change == ("work_s", "cold_start_s")
    assert slim.active_w == pytest.approx((48 / 6 + 36 / 4) / 2 - 5)  # less in both pairs
    assert original.active_w == pytest.approx(5.0)
    assert slim.image_bytes < original.image_bytes


def test_a_pair_with_one_run_decides_nothing(tmp_path: Path, libraries: Path) -> None:
    table = runs(
        tmp_path / "runs.parquet",
        row("original", 5.0, 50.0, 0), row("debloated", 3.0, 24.0, 0),
        row("debloated", 9.0, 90.0, 1),
    )  # fmt: skip
    slim = measured_workload([table], [libraries], "train", "debloated", {"small": 5.0})
    assert slim.work_s == (2.0, 8.0)


def test_a_class_has_its_own_environment_the_original_one_and_its_rounds(
    tmp_path: Path, libraries: Path
) -> None:
    table = runs(tmp_path / "runs.parquet", row("original", 5.0, 50.0), row("debloated", 3.0, 24.0))
    times = RoundTimes(1.0, 7.0, 0.5, 0.0, "deterministic", 0.0)
    MeasuredRounds(classes={"own": times}, load_average_before=0.0).write(tmp_path / "rounds.json")
    classes = {
        "slim": JobClassConfig(workload="train", environment="debloated"),
        "own": JobClassConfig(program="word_popularity"),
    }
    hardware = Hardware("small", 2, 5.0, 30.0, 0.0, 8.0, "test")
    trace = TraceConfig("drawn", 1, ArrivalsConfig("poisson", jobs=1, load=0.5), classes)
    measured = read_measured(
        TraceStage(ClusterConfig("c", {"small": 1}), [hardware], trace),
        rounds=[tmp_path / "rounds.json"],
        verify_runs=[table],
        libraries=[libraries],
    )
    slim, original = measured.workloads["slim"], measured.original["slim"]
    assert (slim.environment, slim.work_s) == ("debloated", (2.0,))
    assert (original.environment, original.work_s) == ("original", (4.0,))
    assert len(measured.workloads) == len(measured.original) == 1
    assert measured.rounds == {"own": times}


def test_an_image_that_was_started_says_size_and_cold_start(
    tmp_path: Path, libraries: Path
) -> None:
    table = runs(tmp_path / "runs.parquet", row("original", 5.0, 50.0), row("debloated", 3.0, 24.0))

    def side(compressed_bytes: int, *unpack_s: float) -> ColdSide:
        rounds = [ColdRound(9.0, each, 1.0, 8.0) for each in unpack_s]
        parts, needed = StartParts(1.0, None, None), NeededFiles(1, 1, 1, 1, 1)
        return ColdSide("image", compressed_bytes, 9.0, rounds, parts, needed)

    ColdStart(
        command=[], gbit_per_s=1.0, compression="gzip", emptied="files", processors=2,
        before=side(1000, 4.0, 90.0, 3.0), after=side(100, 2.0),
    ).write(tmp_path / "start.json")  # fmt: skip
    facts = JobClassConfig(
        workload="train", environment="debloated", image_start=str(tmp_path / "start.json")
    )
    trace = TraceConfig("drawn", 1, ArrivalsConfig("poisson", jobs=1, load=0.5), {"own": facts})
    hardware = Hardware("small", 2, 5.0, 30.0, 0.0, 8.0, "test")
    stage = TraceStage(ClusterConfig("c", {"small": 1}), [hardware], trace)
    given = {"rounds": [], "verify_runs": [table], "libraries": [libraries]}
    measured = read_measured(stage, **given)
    slim, original = measured.workloads["own"], measured.original["own"]
    assert (slim.cold_start_s, slim.image_bytes, slim.work_s) == (3.0, 100, (2.0,))
    assert (original.cold_start_s, original.image_bytes) == (5.0, 1000)
    (tmp_path / "start.json").unlink()
    with pytest.raises(UserError, match="run the stage `trimtab image start` first"):
        read_measured(stage, **given)


def test_a_mark_heard_with_the_programs_end_leaves_its_time_as_work(
    tmp_path: Path, libraries: Path
) -> None:
    table = runs(tmp_path / "runs.parquet", row("original", 1.0, 50.0), row("original", 3.0, 50.0))
    found = measured_workload([table], [libraries], "train", "original", {"small": 5.0})
    assert (found.work_s, found.cold_start_s) == ((1.0, 2.0), 0.5)


def test_unknown_energy_stays_unknown(tmp_path: Path, libraries: Path) -> None:
    table = runs(tmp_path / "runs.parquet", row("original", 5.0, None))
    found = measured_workload([table], [libraries], "train", "original", {"small": 5.0})
    assert found.active_w is None


@pytest.mark.parametrize(
    ("workload", "idle_w", "expected"),
    [
        ("other", {"small": 5.0}, "workload other: no run in the original environment"),
        ("train", {"large": 5.0}, "measured on small; expected that machine among .* large"),
    ],
)
def test_runs_that_are_not_there_or_of_another_machine_are_errors(
    tmp_path: Path, libraries: Path, workload: str, idle_w: dict[str, float], expected: str
) -> None:
    table = runs(tmp_path / "runs.parquet", row("original", 5.0, 50.0))
    with pytest.raises(UserError, match=expected):
        measured_workload([table], [libraries], workload, "original", idle_w)
