"""How fast traces are read and generated, and how much memory that takes.

Reads those public traces that are in `--folder` under their published names (without it, none), and
generates ten million jobs by each process. Every figure comes from a process of its own.
"""

import argparse
import multiprocessing
import resource
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pandas as pd
from common import save, spread

from trimtab.traces.arrival_order import sorted_by_arrival
from trimtab.traces.distribution import Erlang, Exponential
from trimtab.traces.formats.alibaba_gpu_2023 import read as read_alibaba_gpu_2023
from trimtab.traces.formats.azure_llm import read as read_azure_llm
from trimtab.traces.formats.philly_table import read as read_philly_table
from trimtab.traces.formats.swf import read as read_swf
from trimtab.traces.generators import SyntheticClass, marked_markovian, poisson
from trimtab.traces.jobs import as_trace, usable

REPEATS = 3
GENERATED = 10_000_000
DAY_S = 86400.0
GIB = 2**30
Read = Callable[[Path, Counter[str]], Iterator[pd.DataFrame]]


def read_llm(path: Path, skipped: Counter[str]) -> Iterator[pd.DataFrame]:
    return read_azure_llm(path, skipped, 0.0002, 0.02, 1000, 1000, 16 * GIB)


def read_philly(path: Path, skipped: Counter[str]) -> Iterator[pd.DataFrame]:
    return read_philly_table(path, skipped, 4000, 32 * GIB)


READERS: dict[str, Read] = {
    "*.swf": read_swf,
    "*.swf.gz": read_swf,
    "openb_pod_list_*.csv": read_alibaba_gpu_2023,
    "AzureLLMInferenceTrace_*.csv": read_llm,
    "philly.csv": read_philly,
}


def generate(process: str) -> Iterator[pd.DataFrame]:
    classes = [
        SyntheticClass("low", 0, 20_000, 0, GIB, Erlang(2.0, 10)),
        SyntheticClass("high", 1, 20_000, 0, GIB, Exponential(1.0)),
    ]
    if process == "poisson":
        return poisson(classes, [0.3, 0.1], seed=1, jobs=GENERATED)
    d0, low, high = [[-1.0, 0.1], [0.2, -3.0]], [[0.5, 0.1], [1.0, 0.0]], [[0.3, 0.0], [0.8, 1.0]]
    return marked_markovian(classes, d0, [low, high], seed=1, jobs=GENERATED)


def measured(make: Callable[[Counter[str]], Iterator[pd.DataFrame]]) -> dict[str, object]:
    rates = []
    for _ in range(REPEATS):
        skipped: Counter[str] = Counter()
        rows, end_s, classes = 0, 0.0, set()
        begun = time.perf_counter()
        for chunk in make(skipped):
            rows += len(chunk)
            end_s = float(chunk["arrival_s"].iloc[-1])
            classes.update(chunk["job_class"].unique())
        rates.append(rows / (time.perf_counter() - begun))
    return {
        "rows": rows,
        "skipped": dict(+skipped),
        "classes": len(classes),
        "span_days": end_s / DAY_S,
        "rows_per_s": spread(rates),
        "peak_rss_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }


def measure_file(pattern: str, path: Path) -> dict[str, object]:
    def chunks(skipped: Counter[str]) -> Iterator[pd.DataFrame]:
        return as_trace(sorted_by_arrival(usable(READERS[pattern](path, skipped), skipped)))

    return measured(chunks)


def measure_process(process: str) -> dict[str, object]:
    return measured(lambda _: generate(process))


def main() -> None:
    """Save the figures of every file found, and of the generators."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, help="folder of public traces")
    folder: Path | None = parser.parse_args().folder
    # spawn: a process that begins small, so that its peak is its own.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, context, max_tasks_per_child=1) as pool:
        generated = {name: pool.submit(measure_process, name) for name in ("poisson", "marked")}
        files = {
            path.name: pool.submit(measure_file, pattern, path)
            for pattern in READERS
            for path in (sorted(folder.glob(pattern)) if folder else [])
        }
        save(
            "traces",
            {
                "generated": {name: figures.result() for name, figures in generated.items()},
                "files": {name: figures.result() for name, figures in files.items()},
            },
        )


if __name__ == "__main__":
    main()
