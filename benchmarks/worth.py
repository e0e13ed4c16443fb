"""`trimtab worth` on a drawn `sacct` dump: seconds and memory, replications included.

python benchmarks/worth.py [--jobs 100000] [--images 200] [--keep FOLDER]

Jobs are of 1 to 16 GPUs on 100 nodes of eight, at a load of 0.8 with days and nights. Images are
drawn by Zipf's law; of the first 150 the slim image is known.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
from common import save

NODES, GPUS, LOAD = 100, 8, 0.8
KNOWN_SLIM = 0.75
FIELDS = (
    "JobID|User|Account|Partition|Submit|Start|End|ElapsedRaw|TimelimitRaw|NNodes|AllocCPUS"
    "|AllocTRES|ReqTRES|State|Priority|Container"
)


def write_dump(path: Path, jobs: int, images: int) -> None:
    """Write what `sacct -P` would print of drawn jobs."""
    rng = np.random.default_rng(1)
    gpus = rng.choice([1, 2, 4, 8, 16], jobs, p=[0.6, 0.15, 0.12, 0.1, 0.03])
    run_s = np.ceil(rng.lognormal(6.5, 1.6, jobs).clip(10, 2 * 86400)).astype(int)
    gaps = rng.exponential(1.0, jobs)
    gaps *= float((gpus * run_s).sum()) / (LOAD * NODES * GPUS) / gaps.sum()
    submit_s = np.cumsum(gaps)
    submit_s += 20_000 / (2 * np.pi) * np.sin(2 * np.pi * submit_s / 86400)  # nights are calmer
    submit_s = np.sort(submit_s - submit_s.min()).astype(int)
    weights = 1.0 / np.arange(1, images + 1)
    image = rng.choice(images, jobs, p=weights / weights.sum())
    began = datetime(2026, 3, 1, tzinfo=UTC)
    lines = [FIELDS]
    for job in range(jobs):
        at = [
            began + timedelta(seconds=int(submit_s[job]) + more) for more in (0, 0, int(run_s[job]))
        ]
        submit, start, end = (f"{each:%Y-%m-%dT%H:%M:%S}" for each in at)
        count, nodes = int(gpus[job]), max(1, int(gpus[job]) // GPUS)
        tres = f"billing={count},cpu={8 * count},gres/gpu={count},node={nodes}"
        lines.append(
            f"{job + 1}|u{job % 97}|a{job % 11}|gpu|{submit}|{start}|{end}|{run_s[job]}"
            f"|{2 * run_s[job] // 60 + 1}|{nodes}|{8 * count}|{tres}|{tres}|COMPLETED|{job % 1000}"
            f"|image{image[job]}.sif"
        )
    path.write_text("\n".join(lines) + "\n")


def write_images(path: Path, images: int) -> None:
    """Write sizes and starts of the images, in part with slim ones."""
    rng = np.random.default_rng(2)
    size = rng.lognormal(22.0, 0.7, images)
    rows = ["image,bytes,warm_start_s,slim_bytes,slim_warm_start_s"]
    for number in range(images):
        slim = f"{size[number] * rng.uniform(0.2, 0.5):.0f},{rng.uniform(2, 5):.1f}"
        known = slim if number < KNOWN_SLIM * images else ","
        rows.append(f"image{number}.sif,{size[number]:.0f},{rng.uniform(5, 9):.1f},{known}")
    path.write_text("\n".join(rows) + "\n")


def _children_cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Draw the dump, run the command twice (the first compiles), and save the second's figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=100_000)
    parser.add_argument("--images", type=int, default=200)
    parser.add_argument("--keep", type=Path, help="folder of the dump and the results")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        write_dump(folder / "jobs.txt", given.jobs, given.images)
        write_images(folder / "images.csv", given.images)
        command = [
            str(Path(sys.executable).parent / "trimtab"), "worth", "jobs.txt",
            "--images", "images.csv",
            "--nodes", f"64c512g8gpu:{NODES}", "--output", "worth",
        ]  # fmt: skip
        walls_s, cpus_s = [], []
        for _ in range(2):
            begun, begun_cpu = time.perf_counter(), _children_cpu_s()
            subprocess.run(command, cwd=folder, check=True)
            walls_s.append(time.perf_counter() - begun)
            cpus_s.append(_children_cpu_s() - begun_cpu)
        document = json.loads((folder / "worth/worth.json").read_text())
    figures = {
        "jobs": given.jobs,
        "images": given.images,
        "processors": len(os.sched_getaffinity(0)),
        "settings": len(document["settings"]),
        "replications": document["replications"],
        "first_wall_s": walls_s[0],
        "wall_s": walls_s[1],
        "cpu_s": cpus_s[1],
        "peak_rss_bytes": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024,
    }
    print(figures)
    save("worth", figures)


if __name__ == "__main__":
    main()
