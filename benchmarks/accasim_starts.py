"""Start times of AccaSim 1.1.3, written as JSON; runs in the Python that AccaSim is installed in.

Its arguments: an SWF file, the cores of the only node, `fcfs` or `easy`, the file to write.
"""

import collections
import collections.abc
import json
import sys
import tempfile
from pathlib import Path

collections.Mapping = collections.abc.Mapping  # where AccaSim, written for Python 3.9, looks for it

from accasim.base.allocator_class import FirstFit  # noqa: E402
from accasim.base.scheduler_class import EASYBackfilling, FirstInFirstOut  # noqa: E402
from accasim.base.simulator_class import Simulator  # noqa: E402

SCHEDULE = {
    "format": "{job} {start_s}",
    "attributes": {"job": ("id", "str"), "start_s": ("start_time", "int")},
}


def main() -> None:
    log, cores, discipline, result = sys.argv[1:]
    scheduler = {"fcfs": FirstInFirstOut, "easy": EASYBackfilling}[discipline]
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder, "system.json")
        config.write_text(
            json.dumps(
                {
                    "groups": {"only": {"core": int(cores)}},
                    "resources": {"only": 1},
                    "equivalence": {"processor": {"core": 1}},
                }
            )
        )
        Simulator(
            log,
            str(config),
            scheduler(FirstFit()),
            statistics_output=False,
            show_statistics=False,
            RESULTS_FOLDER_PATH=folder,
            SCHEDULE_OUTPUT=SCHEDULE,
            LOG_LEVEL="ERROR",
        ).start_simulation()
        lines = Path(folder, f"sched-{Path(log).name}").read_text().splitlines()
    starts = {job: int(start_s) for job, start_s in map(str.split, lines)}
    Path(result).write_text(json.dumps(starts))


if __name__ == "__main__":
    main()
