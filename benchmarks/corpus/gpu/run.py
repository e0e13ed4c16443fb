"""The corpus on a GPU: programs debloated as a new user would, then run as they were not traced.

    python benchmarks/corpus/gpu/run.py --environment ENV --workspaces FOLDER --output FILE [NAME]

ENV holds PyTorch, CuPy and JAX for CUDA; trimtab may be installed elsewhere, or found by
PYTHONPATH, which programs do not get. Lines of JSON are appended to FILE, the last of each program
with all that was measured so far: sizes, the traced input, sizes of input that were not traced,
strict runs, operations and programs that were not traced, and run times. What FILE has already is
not measured again.
"""

import argparse
import json
import os
import shutil
import signal
import statistics
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from cases import Deadline, OutOfTimeError, compared, empty_caches, run
from sizes import GPUS, HELD_OUT, OPERATIONS, TOLERANCES

ALL_CPUS = sorted(os.sched_getaffinity(0))
_DEBLOAT_S, _PART_S = 120, 40  # with less time left none is begun
_OTHERS_AT_ONCE, _STRICT_AT_ONCE = 8, 4


@dataclass(frozen=True)
class Place:
    """The CPUs and GPUs that a program and its runs may use."""

    cpus: list[int]
    gpus: list[str]

    def variables(self, name: str) -> dict[str, str]:
        """Return the variables by which program `name` finds as many GPUs as it needs."""
        chosen = self.gpus[: GPUS.get(name, 1)]
        return {"CUDA_VISIBLE_DEVICES": ",".join(chosen)} if chosen else {}


def places(jobs: int, gpus: list[str]) -> list[Place]:
    """Return a place for each job: its GPUs begin with another one, and two jobs share a CPU."""
    share = max(2, 2 * len(ALL_CPUS) // jobs)
    made = []
    for job in range(jobs):
        begin = job * share % len(ALL_CPUS)
        first = job % len(gpus) if gpus else 0
        cpus = (ALL_CPUS * 2)[begin : begin + share]
        made.append(Place(cpus, gpus[first:] + gpus[:first]))
    return made


class Measurement:
    """All that is measured of one program, part by part into its row."""

    def __init__(
        self,
        row: dict[str, Any],
        options: argparse.Namespace,
        place: Place,
        write: Callable[[], None],
    ) -> None:
        self.row, self.options, self.place, self.write = row, options, place, write
        self.name: str = row["program"]
        self.workspace: Path = options.workspaces / self.name
        self.slim: Path = self.workspace / "env"

    def all(self) -> None:
        """Measure what is missing; raises OutOfTimeError at the deadline."""
        options, parts = self.options, self._parts()
        if "debloat_exit_code" in self.row and not (parts.keys() - self.row.keys()):
            return
        if not (self.row.get("debloat_exit_code") == 0 and self.slim.is_dir()):
            self._debloat()
        if self.row["debloat_exit_code"]:
            return
        for part, measure in parts.items():
            if part not in self.row:
                options.deadline.check(_PART_S)
                self.row[part] = measure()
                self.write()
        if not options.keep:
            shutil.rmtree(self.workspace)

    def _parts(self) -> dict[str, Callable[[], Any]]:
        options, name = self.options, self.name
        parts: dict[str, Callable[[], Any]] = {
            "traced_input": lambda: self._case(name, [], "traced"),
            "held_out": lambda: self._case(name, HELD_OUT[name], "held_out"),
            "strict": self._strict,
        }
        if name in options.others:
            parts["operations"] = lambda: self._case(OPERATIONS, [], "operations")
            parts["other_programs"] = self._others
        if name in options.eager:
            parts["eager"] = self._eager
        if options.pairs:
            parts["run_time"] = self._pairs
        return parts

    def _debloat(self) -> None:
        options = self.options
        options.deadline.check(_DEBLOAT_S)
        shutil.rmtree(self.workspace, ignore_errors=True)
        words = [*options.option, "--workspace", str(self.workspace)]
        if self.name in TOLERANCES:
            words += ["--relative-tolerance", str(TOLERANCES[self.name])]
        program = [str(options.environment / "bin/python"), self._program(self.name)]
        done = run(
            [*options.trimtab, "debloat", *words, "--", *program],
            {**os.environ, **self.place.variables(self.name)}, options.deadline, signal.SIGINT,
        )  # fmt: skip
        self.row |= {"debloat_exit_code": done["exit_code"], "debloat_s": done["wall_s"]}
        if done["exit_code"]:
            self.row["error"] = "\n".join([*done["lines"], done["error"], self._said()])
        else:
            self.row.pop("error", None)
            manifest = json.loads((self.workspace / "manifest.json").read_text())
            for when in ("before", "after"):
                sizes = [file[f"size_{when}_bytes"] for file in manifest["files"].values()]
                self.row[f"libraries_{when}_bytes"] = sum(sizes)
            built = json.loads((self.workspace / "environment.json").read_text())
            for when in ("before", "after"):
                self.row[f"environment_{when}_bytes"] = built[f"{when}_bytes"]
            self.row["removed_files"] = manifest["removed_files"]
            settling = json.loads((self.workspace / "settling.json").read_text())
            self.row["settling"] = {
                "builds": settling["builds"],
                "runs": len(settling["runs"]),
                "settled": settling["settled"],
            }
        self.write()

    def _said(self) -> str:
        """What the last runs in the slim and in the original environment wrote, if anything."""
        patterns = ("settling/*/logs/*.stderr", "runs/*.stderr")
        found = [path for pattern in patterns for path in self.workspace.glob(pattern)]
        last = sorted(found, key=lambda path: path.stat().st_mtime)[-2:]
        return "\n".join(f"{path.name}: {path.read_text()[-3000:]}" for path in last)

    def _program(self, name: str) -> str:
        return str(self.options.programs_folder / f"{name}.py")

    def _run(
        self,
        environment: Path,
        name: str,
        words: list[str],
        place: Place | None = None,
        **more: str,
    ) -> dict[str, Any]:
        variables = (place or self.place).variables(name)
        return run(
            [str(environment / "bin/python"), self._program(name), *words],
            {**os.environ, **variables, **more},
            self.options.deadline,
        )

    def _case(
        self, name: str, words: list[str], label: str, place: Place | None = None
    ) -> dict[str, Any]:
        """Run a program in both environments, each with empty caches of its own."""
        record, caches = self.workspace / f"{label}.jsonl", self.workspace / "caches" / label
        record.unlink(missing_ok=True)
        shutil.rmtree(caches, ignore_errors=True)
        environments = {"original": self.options.environment, "slim": self.slim}
        before, after = (
            self._run(
                environment, name, words, place,
                TRIMTAB_FALLBACK_RECORD=str(record), **empty_caches(caches / which),
            )
            for which, environment in environments.items()
        )  # fmt: skip
        shutil.rmtree(caches, ignore_errors=True)
        return compared(before, after, record, TOLERANCES.get(name, 0))

    def _strict(self) -> dict[str, Any]:
        count = self.options.strict_runs

        def strict(number: int) -> dict[str, Any]:
            return self._run(
                self.slim, self.name, [],
                TRIMTAB_FALLBACK="strict", TRIMTAB_FALLBACK_RECORD=os.devnull,
            )  # fmt: skip

        with ThreadPoolExecutor(_STRICT_AT_ONCE) as pool:
            runs = list(pool.map(strict, range(count)))
        return {
            "runs": count,
            "clean": sum(each["exit_code"] == 0 for each in runs),
            "error": next((each["error"] for each in runs if each["error"]), ""),
        }

    def _others(self) -> dict[str, Any]:
        """Run every other program, several at a time, on all CPUs and GPUs of the machine."""
        names = [name for name in self.options.programs if name != self.name]
        gpus, cpus = self.options.gpus, set(ALL_CPUS)

        def other(number: int) -> dict[str, Any]:
            os.sched_setaffinity(0, cpus)  # of this thread
            first = number % len(gpus) if gpus else 0
            place = Place(ALL_CPUS, gpus[first:] + gpus[:first])
            return self._case(names[number], [], f"other_{names[number]}", place)

        with ThreadPoolExecutor(_OTHERS_AT_ONCE) as pool:
            return dict(zip(names, pool.map(other, range(len(names))), strict=True))

    def _eager(self) -> dict[str, Any]:
        original, slim = (
            self._run(environment, self.name, [], CUDA_MODULE_LOADING="EAGER")
            for environment in (self.options.environment, self.slim)
        )
        return compared(original, slim, tolerance=TOLERANCES.get(self.name, 0))

    def _pairs(self) -> dict[str, Any]:
        """Run the traced input in both environments by turns, and let the caches be warm."""
        environments = {"original": self.options.environment, "slim": self.slim}
        runs: dict[str, list[dict[str, Any]]] = {which: [] for which in environments}
        for _ in range(self.options.pairs):
            for which, environment in environments.items():
                runs[which].append(self._run(environment, self.name, []))
        return {
            f"{which}_{what}": [each[what] for each in of]
            for which, of in runs.items()
            for what in ("wall_s", "peak_rss_bytes")
        } | {"ratio": round(_ratio(runs["slim"], runs["original"]), 3)}


def _ratio(ours: list[dict[str, Any]], others: list[dict[str, Any]]) -> float:
    mine, theirs = (statistics.median(each["wall_s"] for each in of) for of in (ours, others))
    return float(mine / theirs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--environment", type=Path, required=True)
    parser.add_argument("--workspaces", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--programs-folder", type=Path, default=Path(__file__).parent / "programs")
    parser.add_argument("--gpus", type=int, default=1, help="of the machine")
    parser.add_argument("--jobs", type=int, default=4, help="programs at a time")
    parser.add_argument("--strict-runs", type=int, default=5)
    parser.add_argument("--pairs", type=int, default=0, help="runs in each environment, by turns")
    parser.add_argument(
        "--others", nargs="*", default=["decoder"], help="also run what they are not"
    )
    parser.add_argument("--eager", nargs="*", default=["decoder"])
    parser.add_argument("--option", action="append", default=[], help="of trimtab debloat")
    parser.add_argument("--seconds", type=float, default=1e6, help="by then all has ended")
    parser.add_argument("--keep", action="store_true", help="the workspaces")
    options = parser.parse_args()
    # A program must not find there what trimtab needs.
    found = os.environ.pop("PYTHONPATH", "").split(":")
    start = f"import sys; sys.path[:0] = {found!r}; from trimtab.cli.main import main; main()"
    options.trimtab = [sys.executable, "-c", start]
    options.deadline = Deadline(options.seconds)
    options.gpus = [str(number) for number in range(options.gpus)]
    options.programs = [
        name for name in HELD_OUT if GPUS.get(name, 1) <= max(1, len(options.gpus))
        and (options.programs_folder / f"{name}.py").is_file()
    ]  # fmt: skip
    rows: dict[str, dict[str, Any]] = {}
    if options.output.exists():
        lines = map(json.loads, options.output.read_text().splitlines())
        rows = {row["program"]: row for row in lines}
    lock, free = threading.Lock(), SimpleQueue[Place]()
    for place in places(options.jobs, options.gpus):
        free.put(place)

    def work(name: str) -> None:
        row, place = rows.get(name, {"program": name}), free.get()

        def write() -> None:
            with lock, options.output.open("a") as file:
                file.write(json.dumps(row) + "\n")

        os.sched_setaffinity(0, place.cpus)  # of this thread, and of what it starts
        try:
            Measurement(row, options, place, write).all()
            said = row.get("error", "")[-300:]
        except OutOfTimeError:
            said = "out of time"
        except Exception as error:  # one program's failure is its row's
            said = row["error"] = f"{type(error).__name__}: {error}"
            write()
        free.put(place)
        print(name, row.get("debloat_s"), *(row.keys() - {"program"}), said, flush=True)

    with ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(work, options.names or options.programs))


if __name__ == "__main__":
    main()
