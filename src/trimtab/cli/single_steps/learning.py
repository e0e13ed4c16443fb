"""Keeps code that a slim environment missed: in further runs, or recorded in production.

A workspace is rebuilt at once. In the results of an experiment, which the workflow owns,
`learned.json` is written for the rule debloat_target.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from trimtab.cli.unfinished import changing, check_finished
from trimtab.cli.workspace import START, check_end
from trimtab.config.groups.debloat import Remove
from trimtab.config.stages import DebloatStage, load
from trimtab.debloating.debloat import Debloating
from trimtab.debloating.fallback import FALLBACK_LIBRARY
from trimtab.debloating.images.saved_original import use_saved_original
from trimtab.debloating.misses import (
    check_files_recorded_in,
    check_recorded_in,
    learn,
    learned_with,
    named,
)
from trimtab.debloating.original_identity import check_original
from trimtab.debloating.risk import RunHistory
from trimtab.debloating.settling import ORIGINAL, OnTurn, settle, why_not_settled
from trimtab.debloating.slim_runs import SlimRuns
from trimtab.debloating.snapshots.installing import FOLDER as SNAPSHOTS
from trimtab.debloating.targets.registry import target_of
from trimtab.debloating.verification.environment_digests import check_intact
from trimtab.errors import UserError
from trimtab.files import read_limited
from trimtab.records.misses.removed_calls import RemovedCall, read_removed_calls
from trimtab.records.misses.removed_files import MissedFile, read_missed_files
from trimtab.records.misses.settling import Settling
from trimtab.records.usage import Usage

_MOST_BYTES = 1 << 24  # most bytes of a stage.json
_BUILT = "built again with what was learned, and not run since"


class SlimFolder:
    """The folder with a slim environment: a workspace, or an experiment's for one target.

    Raises UserError where it holds none, or the original is missing or changed.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.environment = folder, folder / "env"
        stage = folder / "stage.json"
        if not stage.is_file() or not self.environment.is_dir():
            raise UserError(
                f"{folder}: no slim environment; run `trimtab debloat` first, or name an"
                " experiment's results/debloat/TARGET/HARDWARE with --workspace"
            )
        check_original(folder / "environment.json")
        self.stage = load(read_limited(stage, _MOST_BYTES), DebloatStage, str(stage))
        use_saved_original(folder, self.stage.workloads)
        self.target = target_of(self.stage.target, self.stage.workloads)
        self.settling = Settling.read(folder / "settling.json")
        self.learned = folder / "learned.json"
        # An experiment keeps usages with its workloads.
        self.is_workspace = (folder / "usage.json").is_file()
        # `learned.json` has code that an interrupted `learn` did not build.
        self._unbuilt = check_finished(folder, but="learn")

    def learn_from_runs(self, runs: int, on_turn: OnTurn) -> int:
        """Run every workload `runs` times in a row; return the number of missed pieces.

        A workspace's environment is rebuilt with them until none are missed. Raises UserError for
        an environment without a fallback or a program, and as `settle` does.
        """
        if self.is_workspace:
            usage = Usage.read(self.folder / "usage.json")
            if not usage.command:
                raise UserError(f"{self.folder}: no program was traced, so there is none to run")
            check_end(self.folder, usage)
        if not (self.environment / FALLBACK_LIBRARY).is_file():
            raise UserError(
                f"{self.environment}: has no fallback, which tells what is missed; debloat with"
                " --fallback original or packed, and another mode than punch"
            )
        if not self._unbuilt:  # otherwise it may lack its record, and is rebuilt
            check_intact(self.folder, self.target.root, self.environment)
        self._keep(self.settling.missed)
        if self.is_workspace:
            stage = replace(self.stage, settle=replace(self.stage.settle, clean_runs=runs))
            with changing(self.folder, "learn"), self._debloating(stage) as debloating:
                if self._unbuilt:
                    debloating.write()
                    debloating.build(self.environment, ORIGINAL)
                after = settle(debloating, self.environment, on_turn, self.settling)
                debloating.deliver(self.environment)
                debloating.weigh(self.environment)
            self._forget_starts()
            missed = after.missed
        else:
            missed = self._missed_in(runs, on_turn)
        self._keep(missed)
        return len(missed) - len(self.settling.missed)

    def learn_from_record(self, record: Path) -> int:
        """Keep the pieces in a fallback's record; return the number of new ones.

        A workspace's environment is rebuilt with them, without a run. Raises UserError for an
        invalid record, or one of another environment.
        """
        if not record.exists():
            raise UserError(f"{record}: no such record")
        calls, files = read_removed_calls(record), read_missed_files(record)
        check_recorded_in(self.target.root, {call.library for call in calls})
        check_files_recorded_in(self.target.root, [file.path for file in files])
        calls = named(calls, self.target.root)
        self._keep(self.settling.missed)
        if not self.is_workspace:
            return self._keep(calls, files)
        # Refuse invalid records before any change.
        place = (self.learned, self.stage.target, self.target.root)
        learned, new = learned_with(*place, calls, files)
        with changing(self.folder, "learn"):
            learned.write(self.learned)
            if new or self._unbuilt:
                with self._debloating(self.stage) as debloating:
                    debloating.write()
                    debloating.build(self.environment)
                    debloating.weigh(self.environment)
                changes = {"builds": self.settling.builds + 1, "settled": False, "why_not": _BUILT}
                self.settling.model_copy(update=changes).write(self.folder / "settling.json")
        self._forget_starts()
        return new

    def _forget_starts(self) -> None:
        """Remove start.json if the environment was built again, which removes its snapshots."""
        if not (self.environment / SNAPSHOTS).is_dir():
            (self.folder / START).unlink(missing_ok=True)

    def _debloating(self, stage: DebloatStage) -> Debloating:
        debloating = Debloating(
            stage,
            [self.folder / "usage.json"],
            self.folder,
            built=self.environment,
            settles=not why_not_settled(self.stage),
        )
        if self.settling.missed_files and stage.debloat.remove == Remove.FILES:
            debloating.keep_files(self.settling.missed_files)
        return debloating

    def _missed_in(self, runs: int, on_turn: OnTurn) -> list[RemovedCall]:
        history = RunHistory(self.settling)
        slim = SlimRuns(self.target, self.environment, self.folder / "settling", history)
        for turn in range(1, runs + 1):
            slim.turn(self.stage.workloads)
            on_turn(turn, len(history.pieces), history.builds)
        slim.remove()
        return history.pieces

    def _keep(self, misses: Sequence[RemovedCall], files: Sequence[MissedFile] = ()) -> int:
        if not misses and not files:
            return 0
        return learn(self.learned, self.stage.target, self.target.root, misses, files)
