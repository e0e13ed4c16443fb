"""The misses of each slim run of a verification, and the origin of its libraries."""

from dataclasses import dataclass, field, replace
from pathlib import Path

from trimtab.debloating.slim_runs import restoring
from trimtab.debloating.verification.compare import DEBLOATED
from trimtab.debloating.verification.library_origins import RECORD, LibraryFiles
from trimtab.processes.program import Program
from trimtab.profiling.runs.measured import MeasuredRun
from trimtab.records.misses.removed_calls import RemovedCall, read_removed_calls
from trimtab.records.misses.removed_files import read_missed_files


@dataclass
class Observed:
    """Reads the records of the runs of `slim`, one after the other, and keeps them in `folder`.

    `calls` are the removed pieces that each run asked for, and `files` the removed files.
    `elsewhere` says what the first offending run used instead of the slim environment. `unshown`
    names the first run that does not show whether it used the slim environment. `used` are the slim
    libraries that any run used.
    """

    folder: Path
    slim: Program
    libraries: LibraryFiles
    calls: list[list[RemovedCall]] = field(default_factory=list)
    files: list[set[str]] = field(default_factory=list)
    elsewhere: str | None = None
    unshown: str | None = None
    used: set[str] = field(default_factory=set)

    @property
    def tells(self) -> bool:
        """Whether the environment has a fallback, which records misses and mapped files."""
        return self.libraries.fallback is not None

    @property
    def clean_runs(self) -> int:
        """The number of runs without a miss."""
        return sum(
            not (calls or files) for calls, files in zip(self.calls, self.files, strict=True)
        )

    @property
    def program(self) -> Program:
        """The program of the slim environment as delivered, with its records switched on."""
        program = restoring(self.slim, self._missed)
        return replace(program, environment={**program.environment, RECORD: str(self._mapped)})

    def note(self, run: MeasuredRun) -> None:
        """Read the records of `run`, all of whose processes have ended."""
        if run.condition == DEBLOATED:
            self.note_record(str(run.repeat))

    def note_record(self, name: str) -> None:
        """Read the records of a run, and keep them under its `name`."""
        self.calls.append(read_removed_calls(self._missed))
        self.files.append({file.path for file in read_missed_files(self._missed)})
        if self.elsewhere is None and (
            problem := self.libraries.problem_of(self._mapped, self.slim.root)
        ):
            self.elsewhere = f"the debloated run {name}: {problem}"
        if self.unshown is None and not self.libraries.is_shown_by(self._mapped, self.slim.root):
            self.unshown = f"the debloated run {name}"
        self.used |= self.libraries.slim_libraries_in(self._mapped, self.slim.root)
        for record in (self._missed, self._mapped):
            if record.exists():
                record.rename(self.folder / f"{record.stem}-{name}{record.suffix}")

    @property
    def _missed(self) -> Path:
        return self.folder.absolute() / "records/removed_calls.jsonl"

    @property
    def _mapped(self) -> Path:
        return self.folder.absolute() / "records/mapped.tsv"
