"""What each slim run of a verification missed, and where its libraries came from."""

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
    """Reads the records of one run of `slim` after the other, and keeps them in `folder`.

    `calls` are the removed pieces that each run asked for, and `files` the removed files.
    `elsewhere` says what the first run that did so used in place of the slim environment, and
    `unshown` names the first one that does not show whether it used that. `used` are the slim
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
        """Whether the environment has a fallback, which notes what is missed and used."""
        return self.libraries.fallback is not None

    @property
    def clean_runs(self) -> int:
        """How many runs missed nothing."""
        return sum(
            not (calls or files) for calls, files in zip(self.calls, self.files, strict=True)
        )

    @property
    def program(self) -> Program:
        """The program of the slim environment as it is observed: delivered, and noting."""
        program = restoring(self.slim, self._missed)
        return replace(program, environment={**program.environment, RECORD: str(self._mapped)})

    def note(self, run: MeasuredRun) -> None:
        """Read what `run` left, all of whose processes have ended."""
        if run.condition == DEBLOATED:
            self.note_record(str(run.repeat))

    def note_record(self, name: str) -> None:
        """Read what a run left, and keep it under its `name`."""
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
