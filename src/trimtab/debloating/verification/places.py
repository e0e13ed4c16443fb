"""Replace the slim environment's place by the original's in the output of its programs.

Programs print their place: a warning names its file, a log its interpreter.
"""

import os
import re
from dataclasses import replace
from pathlib import Path

from trimtab.config.groups.output import OutputComparison
from trimtab.files import atomic_write
from trimtab.processes.program import Program
from trimtab.profiling.runs.compare_outputs import output_digest
from trimtab.profiling.runs.measured import MeasuredRun
from trimtab.untrusted import UntrustedFileError, read_untrusted

_MOST_BYTES = 64 << 20  # longer output is compared unchanged


def as_in_original(run: MeasuredRun, program: Program, slim: Path, original: Path) -> MeasuredRun:
    """Return a run of `program` in `slim` whose output names `original` instead.

    The output is a copy beside the run's. Absolute paths are replaced, and paths relative to the
    program's working folder. In a root the place is the same, and a judging command gets the output
    unchanged; then nothing is replaced.
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
    """Return an expression for a path that is not part of a longer name."""
    before = rb"(?<![\w.-])" if Path(path).is_absolute() else rb"(?<![\w./-])"
    return before + re.escape(os.fsencode(path)) + rb"(?![\w-])"
