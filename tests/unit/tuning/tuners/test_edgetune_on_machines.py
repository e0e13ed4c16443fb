"""EdgeTune on two machines: real jobs of the rule, in one fold and in two."""

import json
import signal
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from test_edgetune import request, used
from test_machines import HOST, LIMIT_S, started, trained_again

from trimtab.config import dump, stages
from trimtab.config.groups.tuner import TunerConfig
from trimtab.records.parquet.files import read_table
from trimtab.records.tables import TRIALS
from trimtab.tuning.request import Request
from trimtab.tuning.tune import tune


def stage_of(folder: Path, **parameters: Any) -> stages.TuneStage:
    given = request(folder)
    return stages.TuneStage(
        workload=given.workload, hardware=HOST, objective=given.objective, seeds=1, workers=1,
        tuner=TunerConfig("edgetune", "edgetune", parameters=parameters), machines=2,
        inference_workload=given.inference_workload,
    )  # fmt: skip


def searched(folder: Path, *, killed: bool = False, **parameters: Any) -> Path:
    """Search by two machines, of which one may be killed early; return where the results are."""
    stage, results = stage_of(folder, **parameters), folder / "results/edgetune/w/h/o"
    jobs = [started(stage, results, machine) for machine in (1, 2)]
    if killed:
        jobs[0].send_signal(signal.SIGKILL)
    said = [job.communicate(timeout=LIMIT_S)[1] for job in jobs]
    assert [job.returncode == 0 for job in jobs] == [not killed, True], said
    done = Request.of(stages.load(dump(stage), stages.TuneStage), results)  # as the last job has it
    truth = results.parents[2] / "ground_truth.json"
    assert not truth.with_name("known_inference.json").exists()
    tune(done, [1], results, truth, trained_again)
    return results


def known(results: Path) -> list[tuple[int, int]]:
    """Widths and batch sizes that later searches know."""
    document = json.loads((results.parents[2] / "known_inference.json").read_text())
    return [
        (one["architecture"]["width"], measured["configuration"]["batch_size"])
        for one in document["architectures"]
        for measured in one["measured"]
    ]


@pytest.mark.parametrize("killed", [False, True])
def test_one_fold(tmp_path: Path, killed: bool) -> None:
    results = searched(tmp_path, killed=killed)
    table = read_table(results / "trials.parquet", TRIALS)
    assert not table.duplicated(["trial", "rung", "bracket"]).any() and len(table) == 6
    assert (table["score"] == table["accuracy"] / table["inference_s"]).all()
    widths = {json.loads(one)["model.width"] for one in table["configuration"]}
    # Of all that either has measured nothing is lost, and a third batch size works nowhere.
    assert sorted(known(results)) == [(width, size) for width in sorted(widths) for size in (1, 4)]
    assert max(Counter(used(tmp_path)).values()) <= 2  # once a machine at most
    before = used(tmp_path)
    later = replace(Request.of(stage_of(tmp_path), tmp_path), workers=2)  # another search
    tune(later, [1], results, results.parents[2] / "ground_truth.json")
    assert [one for one in used(tmp_path)[len(before) :] if not one.endswith(" 64")] == []


def test_two_folds(tmp_path: Path) -> None:
    results = searched(tmp_path, approach="hierarchical")
    table = read_table(results / "trials.parquet", TRIALS)
    assert not table.duplicated(["fold", "trial", "rung"]).any()
    first, second = (table[table["fold"] == fold] for fold in (1, 2))
    assert len(first) == 6 and len(second) == 3
    assert first["inference_s"].isna().all() and second["inference_s"].notna().all()
    # Both machines have gone on from the same best configuration, after all of the first fold.
    found = first[first["epochs"] == 3]
    widest = max(json.loads(one)["model.width"] for one in found["configuration"])
    assert set(second["accuracy"]) == {1 - 0.5**widest}
    assert second["began_s"].min() >= 0 and second["ended_s"].max() > first["ended_s"].max()
    assert {line.split()[0] for line in used(tmp_path)} == {str(widest)}
    best = yaml.safe_load((results / "best.yaml").read_text())
    assert best["parameters"]["width"] == widest
    assert {width for width, _ in known(results)} == {widest}
