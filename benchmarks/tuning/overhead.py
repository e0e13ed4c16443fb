"""What a trial takes beyond its training: in a whole search, and of that what is the engine's.

    python benchmarks/tuning/overhead.py [--seeds 3]

A whole search: LeNet5 (PyTorch) by Tune V1, its trials one after the other on all CPUs. Counted is
all its time but that of the epochs, by the program's own clock, and of the program's starts, up to
its first word to us (Python and PyTorch are loaded by then); divided by the trials on all rungs. So
it holds suggesting, the journal, making folders and processes, changing settings, the time in which
programs wait for us between epochs, opening the study, and the last program's end. The ends of the
other programs are beside their successors' starts and count as far as these wait for them.

The engine alone: to ask, note, tell and find what is next. The journal lies on disk and holds 100
or 1,000 trials, of which every third was told a second budget; then trials are asked for and told,
each step timed. The bar is on the median of all steps together, too. Opening is what resuming
takes. The processor's time is told beside, as the machine may do other work.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
import pipetune
from common import save, spread
from priority import prefer

from trimtab.config import Configurations
from trimtab.config.groups.tuning import Kind
from trimtab.tuning.fidelity import Budget
from trimtab.tuning.hyperband import HyperBand, brackets_of
from trimtab.tuning.space import SearchSpace
from trimtab.tuning.study import Study

ROOT = Path(__file__).parents[2]
EARLIER = (100, 1000)
MEASURED = 20
BAR_S = 0.3


def main() -> None:
    """Measure and save."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=3, help="searches")
    seeds = range(1, parser.parse_args().seeds + 1)
    prefer(os.getpid())
    searches = [whole_search(seed) for seed in seeds]
    tuning = Configurations(ROOT / "conf").option("workload", "lenet5_train").tuning
    assert tuning is not None
    space, rows = SearchSpace(tuning), []
    for algorithm in ("random", "tpe"):
        for earlier in EARLIER:
            with tempfile.TemporaryDirectory() as folder:
                rows.append(measured(Path(folder), space, algorithm, earlier))
            print(rows[-1], flush=True)
    whole = spread([one["overhead_s"] for one in searches])
    save(
        "tuning_overhead",
        {
            "bar_s": BAR_S,
            "load": os.getloadavg()[0],
            "search": {"overhead_s": whole, "met": whole["median"] <= BAR_S, "searches": searches},
            "rows": rows,
        },
    )


def whole_search(seed: int) -> dict[str, Any]:
    """Return what a trial of a search took beyond its program's start and training, in s."""
    given = argparse.Namespace(hardware="this_machine", cuda=False, ahead=False)
    with tempfile.TemporaryDirectory() as folder:
        found = pipetune.search("lenet5_train", "tune_v1", seed, Path(folder, "truth.json"), given)
    row = {name: found[name] for name in ("overhead_s", "start_up_s", "tuning_s", "failed")}
    print(seed, row, flush=True)
    return row


def measured(folder: Path, space: SearchSpace, algorithm: str, earlier: int) -> dict[str, object]:
    """Return what each step takes, in s, when the journal holds `earlier` trials."""

    def opened() -> Study:
        return Study(folder / "journal", "t", space, [Kind.MODEL, Kind.TRAINING], algorithm, 0)

    fill(opened(), earlier)
    steps: dict[str, list[float]] = {"open": [], "ask": [], "note": [], "tell": [], "next": []}

    def timed(step: str, call: Callable[..., Any], *given: Any) -> Any:
        begun = time.perf_counter()
        found = call(*given)
        steps[step].append(round(time.perf_counter() - begun, 5))
        return found

    scheduler, cpu_s = HyperBand(brackets_of(earlier, 3), 3), list[float]()
    for turn in range(MEASURED):
        study = timed("open", opened)
        begun_s = time.process_time()
        number, _ = timed("ask", study.ask, {"jobs": [[0, 0]]})
        timed("note", study.note, number, "jobs", [[0, 0], [0, 1]])
        timed("tell", study.tell, number, Budget(1), 0.5 + turn / 100)
        scheduler.start(timed("next", scheduler.next_job), turn)
        cpu_s.append(round(time.process_time() - begun_s, 5))
        scheduler.report(turn, 0.5)
    trial = [steps[name] for name in steps if name != "open"]
    each = [round(sum(step), 5) for step in zip(*trial, strict=True)]
    return {
        "algorithm": algorithm,
        "trials": earlier,
        **{f"{name}_s": spread(found) for name, found in steps.items()},
        "trial_s": spread(each),
        "trial_cpu_s": spread(cpu_s),
        "met": statistics.median(each) <= BAR_S,
    }


def fill(study: Study, trials: int) -> None:
    """Put trials at random into the journal, without the algorithm, which would take minutes."""
    memory, journal = study._in_memory([], 0), study._journal
    for number in range(trials):
        scores = {Budget(1): number % 7 / 7.0}
        if number % 3 == 0:
            scores[Budget(3)] = number % 5 / 5.0
        with journal.lock():
            journal.add(study._drawn(memory, {}), study.space.distributions, {"jobs": [[0, 0]]})
            journal.add_scores(number, scores)


if __name__ == "__main__":
    main()
