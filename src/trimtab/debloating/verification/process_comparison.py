"""One more run in each environment, with all processes followed from outside.

It sees more than the other runs: processes that load no fallback library, such as those of the
original's interpreter, and how each process ended. It is slower, and also measures how much of the
libraries is in memory.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from trimtab.debloating.fallback import FALLBACK_LIBRARY
from trimtab.debloating.verification.library_origins import LibraryFiles, and_more, file_of
from trimtab.processes.program import Program
from trimtab.profiling.profile import with_files_followed
from trimtab.profiling.runs.resident import resident_library_bytes
from trimtab.profiling.tracing.files import FileTrace, read_file_trace


@dataclass(frozen=True)
class FollowedRun:
    """The mapped and resident files of a run, and how its processes ended."""

    program: Program
    resident_bytes: int
    trace: FileTrace

    @property
    def mapped(self) -> set[tuple[int, int]]:
        """The files, by device and inode, that any process mapped to execute."""
        paths = {use.real_path for use in self.trace.files if "map_execute" in use.uses}
        files = {self.program.outside(path) for path in paths if path}
        return {file_of(file) for file in files if file.is_file()}

    def elsewhere(self, original: Path, slim: Path) -> str | None:
        """Return in words what it used instead of the environment at `slim`, or None.

        The places of executed, read and mapped files decide. The fallback reads missing pieces, and
        so libraries, from the environment at `original`; `problem_beside` checks these.
        """
        paths = {use.real_path for use in self.trace.files if use.uses & _CONTENT}
        files = {self.program.outside(path) for path in paths if path}
        if all(name.parts[0] == FALLBACK_LIBRARY.parts[0] for name in _names_below(slim, files)):
            return (
                "no process of it used the slim environment; does the program name the original"
                " one, its interpreter or a folder of it?"
            )
        wrong = sorted(
            str(name)
            for name in _names_below(original, files)
            if ".so" not in name.name and (slim / name).is_file()
        )
        if wrong:
            more = and_more(len(wrong) - 1, "of its files")
            return f"it used {wrong[0]} of the original environment{more}"
        return None

    @property
    def bad_ends(self) -> set[str]:
        """The processes that ended with an error, in words."""
        return {
            f"{Path(process.executable).name} ended with {_words[process.end]} {process.status}"
            for process in self.trace.processes
            if process.end in _words and process.status
        }


def _names_below(folder: Path, files: Iterable[Path]) -> set[Path]:
    """Return the relative paths of those `files` that lie in `folder`, by either name of it."""
    tops = {folder, folder.resolve()}
    return {file.relative_to(top) for file in files for top in tops if top in file.parents}


_CONTENT = {"read", "execute", "map", "map_execute"}
_words = {"exit": "exit code", "killed": "signal"}


def follow(program: Program, libraries: Iterable[Path], record: Path) -> FollowedRun:
    """Run `program` with all its processes followed; their record goes to `record`."""
    followed = with_files_followed(program, record)
    resident_bytes = resident_library_bytes(followed, set(libraries))
    return FollowedRun(program, resident_bytes, read_file_trace(record))


def problem_beside(original: FollowedRun, slim: FollowedRun, files: LibraryFiles) -> str | None:
    """Return in words what `slim` used of the original, or how its end differs, or None."""
    wrong = sorted({files.original[file] for file in slim.mapped & files.original.keys()})
    if wrong:
        more = and_more(len(wrong) - 1)
        return f"a process of it used {wrong[0]} of the original environment{more}"
    if original.mapped & files.original.keys() and not slim.mapped & files.slim.keys():
        return "it used no library of the slim environment"
    worse = sorted(slim.bad_ends - original.bad_ends)
    return f"{worse[0]}, as none did in the original environment" if worse else None
