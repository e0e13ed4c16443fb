"""Where an environment lies, in what its programs write: the slim one's reads as the original's.

Programs tell where they are: a warning names its file, a log its interpreter.
"""

import os
import re
from dataclasses import replace
from pathlib import Path

from trimtab.config.groups.output import OutputComparison
from trimtab.files import atomic_write
from trimtab.processes.program import Program
from trimtab.profiling.runs.compare import output_digest
from trimtab.profiling.runs.measured import MeasuredRun
from trimtab.untrusted import UntrustedFileError, read_untrusted

_MOST_BYTES = 64 << 20  # what is longer is compared as it is


def as_in_original(run: MeasuredRun, program: Program, slim: Path, original: Path) -> MeasuredRun:
    """Return a run of `program` in `slim` with the place of `original` in its output for its own.

    That is a copy beside the output. Absolute paths count, and those from the program's working
    folder. In a root programs see both in the same place; a command that judges gets what was
    written.
    """
    if run.output is None or program.root is not None:
        return run
    if program.output.compare == OutputComparison.COMMAND:
        return run
    try:
        written = read_untrusted(run.output, _MOST_BYTES)
    except UntrustedFileError:
        return run
    told = written
    for here, there in _spellings(program.workdir, slim, original).items():
        told = re.sub(_named(here), os.fsencode(there).replace(b"\\", rb"\\"), told)
    if told == written:
        return run
    copy = run.output.with_name(f"{run.output.name}.as_in_original")
    with atomic_write(copy) as temporary:
        temporary.write_bytes(told)
    return replace(run, output=copy, output_digest=output_digest(copy))


def _spellings(workdir: Path, slim: Path, original: Path) -> dict[str, str]:
    absolute = {os.path.abspath(slim): os.path.abspath(original)}
    resolved = {os.path.realpath(slim): os.path.realpath(original)}
    relative = {os.path.relpath(slim, workdir): os.path.relpath(original, workdir)}
    return absolute | resolved | relative


def _named(path: str) -> bytes:
    """Return an expression for a path that is not the end, or the beginning, of another name."""
    before = rb"(?<![\w.-])" if Path(path).is_absolute() else rb"(?<![\w./-])"
    return before + re.escape(os.fsencode(path)) + rb"(?![\w-])"
