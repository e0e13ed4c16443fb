"""What the benchmark of slim images on Slurm predicts, and the job that runs on its nodes."""

import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import mean
from typing import Any

import pytest
import slurm_images_table
from slurm_image_nodes import JOB, SIDES
from slurm_image_prediction import JOBS, SHARES, QueuedJob, as_fast_as, draw, predict

from trimtab.images.archives.opening import open_image
from trimtab.images.compression import Compression
from trimtab.images.merging import merged_view
from trimtab.images.writing.repacking import repack
from trimtab.profiling.cold_start.pulling import registry

COLD = {"pull_s": [2.0], "unpack_s": [1.0], "start_warm_s": [0.5], "run_warm_s": [1.0]}
SLIM = COLD | {"pull_s": [0.25], "unpack_s": [0.25]}
MEASURED: dict[str, Any] = {
    "slurm_takes_s": [0.5],
    "images": {
        f"{name}-{side}": {"bytes": 1000, **steps}
        for name in SHARES
        for side, steps in (("original", COLD), ("slim", SLIM))
    },
}


@pytest.fixture
def layout(tmp_path: Path) -> Path:
    """An image with one file, as a registry has it."""
    (tmp_path / "content").mkdir()
    (tmp_path / "content/answer").write_text("ready\n42\n")
    pack = ("image", "pack", str(tmp_path / "content"), str(tmp_path / "image.tar"))
    program = "from trimtab.cli.main import main; main()"
    subprocess.run([sys.executable, "-c", program, *pack], check=True, capture_output=True)
    image = open_image(tmp_path / "image.tar")
    merged_view(image)
    repack(image, tmp_path / "layout", Compression.GZIP)
    return tmp_path / "layout"


def run_job(folder: Path, job: int, *does: str) -> "subprocess.CompletedProcess[str]":
    for made in ("groups/node-1", "nodes/jobs"):
        (folder / made).mkdir(parents=True, exist_ok=True)
    words = [sys.executable, "-I", "-S", str(JOB), str(folder / "nodes"), str(folder / "groups")]
    environment = {**os.environ, "SLURMD_NODENAME": "node-1", "SLURM_JOB_ID": str(job)}
    return subprocess.run([*words, *does], env=environment, capture_output=True, text=True)


def test_a_node_pulls_an_image_once(layout: Path, tmp_path: Path) -> None:
    with registry(layout, 1.0) as (host, port):
        for job in (1, 2):
            done = run_job(tmp_path, job, f"{host}:{port}", "image", "cat", "ROOT/answer")
            assert not done.returncode, done.stderr
    first, second = (
        json.loads((tmp_path / f"nodes/jobs/{job}.json").read_text()) for job in (1, 2)
    )
    assert (first["is_cold"], second["is_cold"]) == (True, False)
    assert first["answer"] == second["answer"] == "42"
    assert list(first["times"]) == ["begun", "pulled", "there", "ready", "ended"]
    assert list(first["times"].values()) == sorted(first["times"].values())
    assert (tmp_path / "groups/node-1/cgroup.procs").read_text() == "0"


def test_a_job_fails_with_a_damaged_layer_or_program(layout: Path, tmp_path: Path) -> None:
    with registry(layout, 1.0) as (host, port):
        failed = run_job(tmp_path, 1, f"{host}:{port}", "image", "false")
        assert failed.returncode == 1
        [layer] = open_image(layout).layers
        blob = layout / "blobs/sha256" / layer.region.path.name
        blob.write_bytes(bytes(blob.stat().st_size))
        failed = run_job(tmp_path, 2, f"{host}:{port}", "other", "cat", "ROOT/answer")
    assert "another digest" in failed.stderr
    assert not list((tmp_path / "nodes/jobs").iterdir())


def test_a_cold_start_holds_its_node(tmp_path: Path) -> None:
    name = next(iter(SHARES))
    found = predict(
        MEASURED, [QueuedJob(0.0, name, 1.0)] * 5 + [QueuedJob(100.0, name, 1.5)], tmp_path
    )
    assert found["original"]["response_s"] == pytest.approx([5.0] * 4 + [7.0, 2.5])
    assert found["slim"]["response_s"] == pytest.approx([2.5] * 4 + [4.5, 2.5])
    assert (found["original"]["pulls"], found["slim"]["pulls"]) == (4, 4)


def test_a_prediction_is_the_mean_of_what_slurm_may_take(tmp_path: Path) -> None:
    name = next(iter(SHARES))
    found = predict(
        MEASURED | {"slurm_takes_s": [0.0, 1.0]}, [QueuedJob(0.0, name, 1.0)], tmp_path
    )["slim"]
    assert set(found["mean_response_s"]) == {2.0, 3.0}
    assert found["response_s"] == [pytest.approx(mean(found["mean_response_s"]))]


def test_pull_and_unpacking_by_size(tmp_path: Path) -> None:
    name = next(iter(SHARES))
    size = {"bytes": 25_000_000}  # 2 s at 100 Mbit/s, and 1 s to unpack
    images = {key: each | size for key, each in MEASURED["images"].items()}
    images[f"{name}-slim"]["bytes"] = 5_000_000
    found = predict(
        MEASURED | {"images": images}, [QueuedJob(0.0, name, 1.0)], tmp_path, by_size=True
    )
    assert [found[side]["response_s"][0] for side in SIDES] == pytest.approx([5.0, 2.6])


def test_a_slower_machine_is_explained(tmp_path: Path) -> None:
    queue = [QueuedJob(100.0 * at, name, 2.0) for at, name in enumerate(SHARES)]
    times = {"pulled": 2.0, "there": 4.0, "ready": 5.0, "ended": 8.0}
    slower = as_fast_as(MEASURED, queue, [{"times": times}] * 3, "original")
    found = predict(slower, queue[:1], tmp_path)
    assert found["original"]["response_s"] == pytest.approx([2.0 + 2.0 + 1.0 + 3.0 + 0.5])


def test_queues_differ_by_their_seeds() -> None:
    first, again, other = (draw(MEASURED, seed) for seed in (1, 1, 2))
    assert first == again != other
    assert len(first) == JOBS and first[0].submit_s == 0.0
    assert {job.name for job in first} == set(SHARES)


@pytest.mark.parametrize(("predicted_s", "verdict"), [(10.9, "met"), (11.1, "**missed**")])
def test_the_verdict_is_of_the_worst_error(predicted_s: float, verdict: str) -> None:
    sides = {side: {"response_s": [8.0, 12.0]} for side in SIDES}
    off = {**sides, "slim": {"response_s": [predicted_s, predicted_s]}}
    queue = {"predicted": sides, "predicted_by_size": sides, "measured": sides}
    found = {"measured": {"jobs": 2, "nodes": 1}, "queues": {"1": queue}}
    found["queues"]["2"] = {**queue, "predicted": off}
    assert next(slurm_images_table.rows(found))[-1] == verdict
