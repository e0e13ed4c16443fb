"""Searches at equal budgets on surrogate tasks: ours beside other tuners.

    PYTHON benchmarks/tuning/surrogates.py run --data FOLDER --runs RUNS.jsonl --method ours ...
    python benchmarks/tuning/surrogates.py table --data FOLDER --runs RUNS.jsonl ...

`run` is called in the environment that has the method (requirements-peers.txt, or
requirements-bohb.txt for Ray's), and adds a line a run; what is there is not run again. `table`
judges, and says of a method with fewer runs than five seeds on all tasks that it is not complete.
Methods get the same tasks, seeds and budget: training in epochs, as `surrogate_tasks`
counts it. A run is worth the best score of a configuration that was trained to the end, and its
regret is what is missing to the best known, in the range of 20,000 random configurations:
the best known is the best of them and of what any method found. Ours is the project's own study and
scheduler, whose journal lies in memory (/dev/shm); nothing but the training is replaced.
"""

import argparse
import contextlib
import json
import time
from collections.abc import Callable
from multiprocessing import Pool
from pathlib import Path
from typing import Any

from surrogate_tasks import FAMILIES, SpentError, Task, Trainer, tasks_of

Method = Callable[[Trainer, int], None]
BUDGETS = (20, 50)  # full trainings
OURS = "ours"


def main() -> None:
    """Run searches, or judge them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("run", "table"))
    parser.add_argument("--data", type=Path, required=True, help="folder of the surrogates")
    parser.add_argument("--runs", type=Path, nargs="+", required=True, help="lines of JSON")
    parser.add_argument("--method", nargs="+", help="of peers.py or ours.py")
    parser.add_argument("--family", default="lcbench", choices=FAMILIES)
    parser.add_argument("--every", type=int, default=1, help="take one task in so many")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--budget", type=int, default=BUDGETS[0], help="in full trainings")
    parser.add_argument("--processes", type=int, default=1)
    given = parser.parse_args()
    if given.what == "table":
        from surrogate_table import write_table

        return write_table(given.data, [row for path in given.runs for row in read(path)])
    run(given)


def run(given: Any) -> None:
    """Search on all tasks with all seeds that are not there yet."""
    path: Path = given.runs[0]
    done = {(row["method"], row["task"], row["seed"], row["budget"]) for row in read(path)}
    tasks = tasks_of(FAMILIES[given.family], given.data, given.every)
    wanted = [
        (method, given.data, task.family.name, task.name.partition("/")[2], seed, given.budget)
        for seed in range(given.seeds)
        for method in given.method
        for task in tasks
        if (method, task.name, seed, given.budget) not in done
    ]
    with Pool(given.processes) as pool, path.open("a") as file:
        for row in pool.imap_unordered(searched, wanted):
            file.write(json.dumps(row) + "\n")
            file.flush()


def searched(what: tuple[str, Path, str, str, int, int]) -> dict[str, Any]:
    """Search once and return what became of it."""
    method, data, family, instance, seed, budget = what
    task = Task(FAMILIES[family], data, instance)
    trainer = Trainer(task, budget * task.levels)
    begun = time.process_time()
    with contextlib.suppress(SpentError):
        method_of(method)(trainer, seed)
    return {
        "method": method,
        "task": task.name,
        "seed": seed,
        "budget": budget,
        "best": trainer.best,
        "evaluations": trainer.evaluations,
        "cpu_s": round(time.process_time() - begun, 3),
        "trace": trainer.trace,
    }


def method_of(name: str) -> Method:
    """Return a peer, or ours by its settings: `ours`, or as in `ours:trials=9,algorithm=tpe`."""
    if name.split(":")[0] == OURS:
        from ours import ours

        return ours(name.partition(":")[2])
    from peers import PEERS

    return PEERS[name]


def read(path: Path) -> list[dict[str, Any]]:
    """Return the runs of a file, none where it is not there; half a line is no run."""
    rows = []
    for line in path.read_text().splitlines() if path.exists() else []:
        try:
            rows.append(json.loads(line))
        except ValueError:
            continue
    return rows


if __name__ == "__main__":
    main()
