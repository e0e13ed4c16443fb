"""The journal of finished runs of task programs."""

import json
from pathlib import Path

from trimtab.config.stages import ProtectStage, dump
from trimtab.records.parquet.journal import RowJournal
from trimtab.records.tables import PROTECTED_RUNS
from trimtab.secure_tasks.protection.plan import KEY


def journal_of(path: Path, stage: ProtectStage, program: str) -> RowJournal:
    """Return the finished runs in a file, without those of other machines or programs.

    `program` identifies the program and its network.
    """
    asked = json.loads(dump(stage))
    head = {
        "task_program": asked["program"]["name"],
        "hardware": asked["hardware"],
        "enclaves": asked["enclaves"],
        "program": program,
    }
    return RowJournal(path, PROTECTED_RUNS, KEY, head)
