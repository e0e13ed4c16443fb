"""Rule tune_on_machine: a search for a seed, by one of the machines that share it."""

import argparse
import socket
from pathlib import Path

from trimtab.processes.supervision import supervised

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--config", type=Path, required=True, help="a TuneStage, JSON")
parser.add_argument("--seed", type=int, required=True, help="of the search")
parser.add_argument("--machine", type=int, required=True, help="its number, from 1")
parser.add_argument("--output", type=Path, required=True, help="what it has done, as JSON")
arguments = parser.parse_args()

with supervised():
    from trimtab.config.stages import TuneStage, read
    from trimtab.files import write_json
    from trimtab.locks import file_lock
    from trimtab.tuning.plan import RungResult, WorkerNumber
    from trimtab.tuning.tune import Request, search_beside

    stage = read(arguments.config, TuneStage)
    folder = arguments.output.parents[1]
    request = Request.of(stage, folder)
    trained: list[list[int]] = []

    def heard(seed: int, fold: int, result: RungResult) -> None:
        trained.append([result.trial, result.job.rung])

    machine = WorkerNumber(arguments.machine, stage.machines, stage.database)
    lock = arguments.output.with_suffix(".lock")
    # NFS has the lock of a machine that lost its power until its lease is over.
    with file_lock(lock, f"machine {machine.number}: another job is it already", patience_s=120.0):
        search_beside(
            request,
            arguments.seed,
            machine,
            folder,
            folder.parents[2] / "ground_truth.json",
            heard,
        )
        write_json(arguments.output, {"host": socket.gethostname(), "trials_and_rungs": trained})
