"""Mean response of a queue on the real Slurm, with and without slim images, beside `trimtab worth`.

    python benchmarks/slurm_images.py make FOLDER        # root, after make deps-slurm deps-images
    python benchmarks/slurm_images.py measure FOLDER     # jobs one by one, before each queue
    python benchmarks/slurm_images.py queue FOLDER --seed 1
    python benchmarks/slurm_images.py explain FOLDER     # of all queues that ran

Jobs run programs of others (slurm_image_programs.py) in images of Debian and wheels, original and
as `trimtab image slim` makes them. A node that lacks its job's image pulls it, from a registry that
is as fast as MBIT_PER_S for each node, and unpacks it.

`measure` runs each image's job alone, on a node without the image and with it, and jobs that sleep,
for what Slurm itself takes. From these, the model of `trimtab worth` predicts the queue before
`queue` runs it, first with the original images and then with the slim ones. The machine is not
always as fast: measure right before each queue. `explain` repeats predictions with the times of
unpacking and programs in each queue.
"""

import argparse
import json
import os
import shutil
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from common import load, save
from slurm_image_nodes import (
    CORES,
    MBIT_PER_S,
    NODES,
    SIDES,
    Running,
    bytes_of,
    command_of,
    running,
    submit,
    wait,
)
from slurm_image_prediction import JOBS, LOAD, QueuedJob, as_fast_as, draw, predict
from slurm_image_programs import PROGRAMS

sys.path.insert(0, str(Path(__file__).parent / "images"))
from building import Builder
from commands import run
from slimming import TRIMTAB

from trimtab.images.archives.opening import open_image
from trimtab.images.compression import Compression
from trimtab.images.merging import merged_view
from trimtab.images.writing.repacking import repack

RESULTS = "slurm_images"
ROUNDS, SLEEPERS = 2, 60


def make(folder: Path) -> None:
    """Make the images, and the registries' copies of them, in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    builder = Builder("", folder)
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache")}
    for name, case in PROGRAMS.items():
        own = folder / name
        own.mkdir()
        root = builder.root(case, own)
        original, workspace = own / "original.tar", own / "workspace"
        run([*TRIMTAB, "image", "pack", root, original, "--name", f"{name}:1"], timeout=600)
        slim = [*TRIMTAB, "image", "slim", str(original), "--workspace", str(workspace)]
        often = ["--runs", "2", "--settle", "2", "--", *case.command]
        run([*slim, *often], env=environment, cwd=own, timeout=900)
        for side, archive in zip(SIDES, (original, workspace / "slim.tar"), strict=True):
            image = open_image(archive)
            merged_view(image)
            repack(image, own / side, Compression.GZIP)
        print(name, {side: bytes_of(folder, name, side) for side in SIDES}, flush=True)


def slurm_takes(on: Running) -> list[float]:
    """Return what Slurm takes for each of some jobs that sleep, submitted as those of a queue.

    It is the time from the end before on its node, or its submission if that was later, to the
    beginning of its program.
    """
    random = np.random.default_rng(0)
    sleep_s = random.uniform(0.5, 2.5, SLEEPERS)
    gap_s = random.exponential(sleep_s.mean() / NODES / LOAD, SLEEPERS)
    numbers = []
    for each_s, next_s in zip(sleep_s, gap_s, strict=True):
        numbers.append(submit(on, f"{each_s:.3f}"))
        time.sleep(next_s)
    taken_s, ended_s = [], dict[str, float]()
    for job in sorted(wait(on, numbers).values(), key=lambda job: job["times"]["begun"]):
        times = job["times"]
        ready_s = max(times["slurm_submitted"], ended_s.get(job["node"], 0.0))
        taken_s.append(times["begun"] - ready_s)
        ended_s[job["node"]] = times["ended"]
    return taken_s


def measure(folder: Path) -> None:
    """Run jobs one by one, cold and warm, and jobs that sleep; save what they take."""
    steps: dict[str, Any] = {}
    answers: dict[str, set[str]] = {}
    with running(folder) as on:
        node = on.slurm.nodes[0].name
        slurm_s = slurm_takes(on)
        for _ in range(ROUNDS):
            for name in PROGRAMS:
                for side in SIDES:
                    own = on.registries[name, side], f"{name}-{side}"
                    words = (*own, *command_of(folder, name, side))
                    for _ in range(2):  # cold, warm
                        [found] = wait(on, [submit(on, *words, node=node)]).values()
                        add_steps(steps.setdefault(f"{name}-{side}", {}), found)
                        answers.setdefault(name, set()).add(found["answer"])
                    shutil.rmtree(on.place / node / f"{name}-{side}")
        version = on.slurm.call("sinfo", "--version").strip()
    figures: dict[str, Any] = {
        "slurm": version,
        "jobs": JOBS,
        "nodes": NODES,
        "cores_of_a_node": CORES,
        "mbit_per_s": MBIT_PER_S,
        "answers": {name: sorted(each) for name, each in answers.items()},
        "slurm_takes_s": slurm_s,
        "images": {
            f"{name}-{side}": {**steps[f"{name}-{side}"], "bytes": bytes_of(folder, name, side)}
            for name in PROGRAMS
            for side in SIDES
        },
    }
    queues: Any = (load(RESULTS) or {}).get("queues", {})
    save(RESULTS, {"measured": figures, "queues": queues})
    print(json.dumps(figures, indent=1))


def add_steps(steps: dict[str, list[float]], job: dict[str, Any]) -> None:
    """Add the seconds of a job's steps."""
    times = job["times"]
    if job["is_cold"]:
        steps.setdefault("pull_s", []).append(times["pulled"] - times["begun"])
        steps.setdefault("unpack_s", []).append(times["there"] - times["pulled"])
    which = "cold" if job["is_cold"] else "warm"
    steps.setdefault(f"start_{which}_s", []).append(times["ready"] - times["there"])
    steps.setdefault(f"run_{which}_s", []).append(times["ended"] - times["ready"])


def run_queue(folder: Path, queue: Sequence[QueuedJob], side: str) -> list[dict[str, Any]]:
    """Run a queue on nodes without any image; return what its jobs say, in their order."""
    with running(folder) as on:
        wait(on, [submit(on, "0")])  # the first job waits three seconds for a new Slurm
        begun, numbers = time.monotonic(), []
        for submit_s, name, amount in queue:
            words = command_of(folder, name, side, amount)
            time.sleep(max(0.0, begun + submit_s - time.monotonic()))
            numbers.append(submit(on, on.registries[name, side], f"{name}-{side}", *words))
        done = wait(on, numbers)
        return [done[number] for number in numbers]


def brief(job: dict[str, Any], since_s: float) -> dict[str, Any]:
    """Return where a job ran, and its times, in seconds since the first submission."""
    times = {name: round(at_s - since_s, 3) for name, at_s in job["times"].items()}
    return {"node": job["node"], "image": job["image"], "is_cold": job["is_cold"], "times": times}


def measure_queue(folder: Path, seed: int) -> None:
    """Predict a queue, run it with both sides, and save both."""
    figures: Any = load(RESULTS)
    measured = figures["measured"]
    queue = draw(measured, seed)
    by_size = predict(measured, queue, folder, by_size=True)
    predicted = predict(measured, queue, folder)
    real, answers = {}, list[str]()
    for side in SIDES:
        jobs = run_queue(folder, queue, side)
        answers = answers or [each["answer"] for each in jobs]
        if answers != [each["answer"] for each in jobs]:
            raise SystemExit(f"seed {seed}: answers of {side} images differ from the originals'")
        real[side] = {
            "response_s": [each["times"]["slurm_ended"] - each["times"]["slurm_submitted"]
                           for each in jobs],
            "pulls": sum(each["is_cold"] for each in jobs),
            "jobs": [brief(each, jobs[0]["times"]["slurm_submitted"]) for each in jobs],
        }  # fmt: skip
        means = [statistics.mean(each[side]["response_s"]) for each in (predicted, real)]
        print(seed, side, "predicted {:.2f} s, measured {:.2f} s".format(*means),
              f"{means[0] / means[1] - 1:+.1%}", predicted[side]["pulls"], real[side]["pulls"],
              flush=True)  # fmt: skip
    found: Any = load(RESULTS)
    found["queues"][str(seed)] = {
        "alone": measured,
        "jobs": [each._asdict() for each in queue],
        "predicted": predicted,
        "predicted_by_size": by_size,
        "measured": real,
    }
    save(RESULTS, {key: found[key] for key in ("measured", "queues")})


def explain(folder: Path) -> None:
    """Add what is predicted with programs and unpacking as fast as they were in each queue."""
    found: Any = load(RESULTS)
    for each in found["queues"].values():
        queue = [QueuedJob(**job) for job in each["jobs"]]
        each["predicted_as_fast"] = {
            side: predict(
                as_fast_as(each["alone"], queue, each["measured"][side]["jobs"], side),
                queue, folder,
            )[side]
            for side in SIDES
        }  # fmt: skip
    save(RESULTS, {key: found[key] for key in ("measured", "queues")})


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("step", choices=("make", "measure", "queue", "explain"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    folder = given.folder.resolve()
    if given.step == "queue":
        measure_queue(folder, given.seed)
    else:
        {"make": make, "measure": measure, "explain": explain}[given.step](folder)


if __name__ == "__main__":
    main()
