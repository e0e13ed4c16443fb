"""Real runs on Spark: what is measured, what fails, and how a characterization goes on."""

import dataclasses
import itertools
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest
from space import HERE, SPACE

from trimtab.characterization.application import Application, price_usd
from trimtab.characterization.characterize import characterize
from trimtab.characterization.infrastructure import CpuTime, RunMeter, marked_processes
from trimtab.characterization.session_process import SessionEndedError, spark_process
from trimtab.config.groups.learning.characterization import (
    PLATFORM_DEFAULTS,
    Characterization,
    PriceModel,
)
from trimtab.config.groups.learning.workload import LearningWorkload, Method
from trimtab.config.stages import CharacterizeStage, dump
from trimtab.profiling.meters.machine import machine_meters
from trimtab.profiling.profile import model_of
from trimtab.records.parquet.files import read_table
from trimtab.records.tables import CHARACTERIZATION_RUNS
from trimtab.spark.session import Session

pytestmark = pytest.mark.xdist_group("spark")

MEANS = LearningWorkload("iris_kmeans", "iris", Method.KMEANS)
BINOMIAL = LearningWorkload(  # of three classes: it fails
    "iris_logistic_regression", "iris", Method.LOGISTIC_REGRESSION
)
STAGE = CharacterizeStage(
    Characterization(
        name="it",
        workloads=["iris_kmeans", "iris_logistic_regression"],
        platform={"cores": [1]},
        hyperparameters={Method.KMEANS: {"k": [2, 3], "max_iter": [20, 5]}},
        repeats=1,
        warm_up_runs=0,
        joint_settings=1,
    ),
    [MEANS, BINOMIAL],
    HERE,
)
PROGRAM = """
import sys
from pathlib import Path
from trimtab.characterization.characterize import characterize
from trimtab.config.stages import CharacterizeStage, load
characterize(load(sys.argv[1], CharacterizeStage), Path(sys.argv[2]), print)
"""


def asking(**values: Any) -> CharacterizeStage:
    """STAGE, with other values of its characterization."""
    changed = dataclasses.replace(STAGE.characterization, **values)
    return dataclasses.replace(STAGE, characterization=changed)


def test_a_price_by_the_hour_and_the_gigabyte() -> None:
    assert price_usd(PriceModel(0.46, 8, 0.05), 3600.0, 8, 2 * 10**9) == pytest.approx(0.46 + 0.10)
    assert price_usd(PriceModel(0.46, 8, 0.05), 1800.0, 4, 0) == pytest.approx(0.46 / 4)


@pytest.mark.timeout(600)  # a cluster twice, each of four Java processes
def test_a_killed_characterization_goes_on(spark_folder: Path, tmp_path: Path) -> None:
    stage = asking(master="standalone")
    out = tmp_path / "out"
    journal = out / "journal.jsonl"
    path = os.pathsep.join(each for each in sys.path if each)
    process = subprocess.Popen(
        [sys.executable, "-u", "-c", PROGRAM, dump(stage), str(out)],
        env={**os.environ, "PYTHONPATH": path}, stdout=subprocess.PIPE, start_new_session=True,
        text=True,
    )  # fmt: skip
    assert process.stdout is not None
    with process.stdout:
        told_of = (line for line in process.stdout if ", repeat 0: " in line)
        assert len(list(itertools.islice(told_of, 2))) == 2
        killed = psutil.Process(process.pid)
        # It first: were Spark killed before it, it would write that a run failed.
        for each in [killed, *killed.children(recursive=True)]:
            each.kill()
        process.wait()
    before = journal.read_bytes()
    finished = before[: before.rfind(b"\n") + 1]
    assert not (out / "runs.parquet").exists()

    characterize(stage, out, lambda text: None)
    assert journal.read_bytes().startswith(finished)
    rows = [json.loads(line) for line in journal.read_text().splitlines()[1:]]
    keys = [(row["workload"], row["phase"], row["settings"], row["repeat"]) for row in rows]
    assert len(set(keys)) == len(keys)

    table = read_table(out / "runs.parquet", CHARACTERIZATION_RUNS)
    assert len(table) == len(rows)
    assert set(table.engine) == {"standalone[1]"}
    good = table[table.workload == "iris_kmeans"]
    assert good.complete.all() and set(good.phase) == {"defaults", "hyper", "joint"}
    assert set(good.varied) >= {"", "k", "max_iter"}
    assert (good.own_s < good.wall_s).all() and (good.peak_rss_bytes > 1e8).all()
    assert (good.energy_j > 0).all() and (good.cpu_s > 0).all()
    failed = table[table.workload == "iris_logistic_regression"]
    assert not failed.complete.any() and (failed.error.str.len() > 10).all()
    assert "" not in set(failed.error) and failed.quality.isna().all()


def test_what_is_finished_is_used_by_others(spark_folder: Path, tmp_path: Path) -> None:
    told: list[str] = []
    characterize(asking(), tmp_path, told.append)
    assert "0 sessions" in told[-2]  # that of the defaults went on
    journal = (tmp_path / "journal.jsonl").read_bytes()
    characterize(asking(), tmp_path, told.append)
    assert told[-1].startswith("parameters of shown impact together: 0 runs in 0 sessions")
    characterize(asking(joint_settings=0), tmp_path, told.append)
    assert (tmp_path / "journal.jsonl").read_bytes() == journal
    fewer = read_table(tmp_path / "runs.parquet", CHARACTERIZATION_RUNS)
    assert set(fewer.phase) == {"defaults", "hyper"}


def test_a_run_that_takes_too_long_ends_its_session(spark_folder: Path, tmp_path: Path) -> None:
    with marked_processes() as processes:
        platform = {**PLATFORM_DEFAULTS, "cores": 1}
        with spark_process(tmp_path / "session", None, platform, PriceModel()) as spark:
            meter = RunMeter(processes, CpuTime(), machine_meters(model_of(HERE)))
            started = processes.living()
            assert len(started) >= 2  # Python and Java
            with pytest.raises(SessionEndedError, match="ended after 0 s"):
                spark.ask(SPACE.defaults()[0], meter, 0.05, 0.0)
            assert meter.finish()["cpu_s"] >= 0
            psutil.Process(spark.pid).kill()
            with pytest.raises(SessionEndedError, match="Spark ended during the run"):
                spark.ask(SPACE.defaults()[0], meter, 5.0, 60.0)
        assert [stat for stat in processes.living() if not stat.is_zombie] == []


# Last, as the session that these share lives on, with hundreds of threads.
@pytest.mark.parametrize(
    ("data", "method", "least"),
    [
        ("iris", Method.KMEANS, 0.5),
        ("iris", Method.BISECTING_KMEANS, 0.3),
        ("wine", Method.DECISION_TREE, 0.7),
        ("wine", Method.MULTILAYER_PERCEPTRON, 0.7),
        ("diabetes", Method.LINEAR_REGRESSION, 0.2),
        ("digits", Method.CNN, 0.8),
        ("digits", Method.GRU, 0.7),
        ("digits", Method.LSTM, 0.7),
    ],
)
def test_a_method_learns(spark: Session, data: str, method: Method, least: float) -> None:
    application = Application(spark, PLATFORM_DEFAULTS, PriceModel())
    workload = LearningWorkload(f"{data}_{method}", data, method)
    found = application.run(workload, method.hyperparameters, 0)
    assert least < found["quality"] <= 1
    assert found["train_s"] > 0 and found["inference_records_per_s"] > 0
    assert found["tasks"] > 0 and found["task_s"] >= found["executor_cpu_s"] > 0
    trained = found["records"] - found["records"] // 4
    assert found["train_s_per_1000_records"] * trained == pytest.approx(found["train_s"] * 1000)
