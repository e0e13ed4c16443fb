"""Debloating a damaged library for what its calls touch, and comparing what it does then."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from exercised import Exercise

from trimtab.binaries.elf.functions import read_functions
from trimtab.binaries.elf.reader import read_elf
from trimtab.binaries.errors import ElfError
from trimtab.binaries.rewriting.compact import rewrite
from trimtab.binaries.rewriting.dt_auxiliary import add_dt_auxiliary
from trimtab.binaries.rewriting.program_headers import unmap_headers
from trimtab.binaries.rewriting.read_back import read_back
from trimtab.config.groups.debloat import Debloat, Mode, Remove
from trimtab.debloating.gpu.gpu_code import GpuScope
from trimtab.debloating.libraries.located import locate_used
from trimtab.debloating.libraries.profiled import ProfiledLibrary

COMPANION = "$ORIGIN/../trimtab/libtrimtab-fallback.so"
_PAGE = 4096


@dataclass(frozen=True)
class Outcome:
    """What became of one mutant: `kind` is unread, flaky, refused, left or slim."""

    kind: str
    same: bool = True
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()

    @property
    def accepted(self) -> bool:
        """Whether our reader and the dynamic linker accepted the mutant."""
        return self.kind in ("left", "slim") and self.before[0] == "loaded"


def outcome_of(mutant: Path, slim: Path, mode: Mode, plain: Exercise, watch: Exercise) -> Outcome:
    """Debloat the library `mutant` to `slim` and return whether both do the same.

    Raises what our readers and writers raise but ElfError of the first reading: that is a finding.
    """
    try:
        elf = read_elf(mutant)
    except ElfError:
        return Outcome("unread")
    before = plain.of(mutant)
    if before != plain.of(mutant):
        return Outcome("flaky")
    pages = watch.pages_of(mutant)
    functions = read_functions(elf)
    start = functions.start.astype(np.int64)
    last = (start + functions.size.astype(np.int64) - 1) // _PAGE
    touched = np.searchsorted(pages // _PAGE, start // _PAGE)
    used = np.searchsorted(pages // _PAGE, last, "right") > touched
    library = ProfiledLibrary(mutant.name, mutant, elf.build_id, elf.size_bytes, start[used], "")
    located = locate_used(
        library, Debloat(name="mutants", remove=Remove.CODE, mode=mode), GpuScope()
    )
    rewrite(located.elf, located.spans, mode.value, slim, _PAGE, patches=located.patches)
    companion = ""
    if mode == Mode.COMPACT:
        unmap_headers(slim)
        companion = COMPANION if add_dt_auxiliary(slim, located.elf, COMPANION) else ""
    read_back(slim, located.elf, located.spans, located.patches, companion)
    after = plain.of(slim)
    kind = "slim" if located.spans.removed_bytes else "left"
    if before != after and slim.read_bytes() == mutant.read_bytes():
        kind, after = "flaky", before  # the same file: chance, as where memory is overrun
    return Outcome(kind, before == after, tuple(before), tuple(after))
