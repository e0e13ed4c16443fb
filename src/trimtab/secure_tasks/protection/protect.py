"""The stage `protect`: all runs of a task program, and the simulations of its graphs."""

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd
import pyarrow as pa

from trimtab.config.stages import ProtectStage
from trimtab.errors import UserError
from trimtab.locks import folder_lock
from trimtab.records.parquet.files import write_table
from trimtab.records.tables import PROTECTED_RUNS
from trimtab.secure_tasks.protection.journal import journal_of
from trimtab.secure_tasks.protection.measured import run_once
from trimtab.secure_tasks.protection.plan import SetUp, in_turns
from trimtab.secure_tasks.protection.program import native_program
from trimtab.secure_tasks.protection.simulated import simulated_rows
from trimtab.secure_tasks.simulation.simulate import policy_names

Tell = Callable[[str], None]


def protect(stage: ProtectStage, destination: Path, tell: Tell) -> None:
    """Write `runs.parquet` to `destination`: rows of PROTECTED_RUNS, measured ones first.

    Finished runs are kept beside it, in `journal.jsonl`; later calls with the same program on the
    same machine do not repeat them. The program's network, if any, is written there first. A failed
    run is a row with its error; later calls retry it. Raises UserError, before anything runs, for a
    missing program or policy, and TrimtabError for a wrong result.
    """
    for policy in stage.protect.policies:
        if policy not in policy_names():
            expected = f"expected one of {', '.join(policy_names())}"
            raise UserError(f"experiment.protect.policies: {policy!r} given, {expected}")
    rows: list[dict[str, Any]] = []
    with folder_lock(destination), TemporaryDirectory(prefix="trimtab-") as folder:
        native = native_program(stage, destination)
        journal = journal_of(destination / "journal.jsonl", stage, native.digest)
        for set_up, repeat in in_turns(stage):
            row = journal.row(set_up.key(repeat))
            if row is None or not row["complete"]:
                row = run_once(stage, native, set_up, repeat, Path(folder) / "runs")
                journal.add(row)
                tell(f"{stage.program.name}, {_in_words(set_up)}, repeat {repeat}: {_outcome(row)}")
            rows.append(dict(row))
        for row in simulated_rows(stage, native, Path(folder) / "graphs"):
            rows.append(row)
        tell(f"{stage.program.name}: {len(rows)} rows, of which simulated ones take no time here")
        frame = pd.DataFrame(rows, columns=PROTECTED_RUNS.names)
        whole = {each.name: "Int64" for each in PROTECTED_RUNS if each.type == pa.int64()}
        write_table(destination / "runs.parquet", PROTECTED_RUNS, frame.astype(whole))


def _in_words(set_up: SetUp) -> str:
    return ", ".join(f"{key} {value}" for key, value in asdict(set_up).items() if value is not None)


def _outcome(row: Any) -> str:
    return f"{row['run_s']:.3f} s" if row["complete"] else f"failed: {row['error']}"
