"""Write the slim libraries of a target, and rewrite those that have to keep more."""

import os
import stat
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np

from trimtab.binaries.rewriting.compact import rewrite
from trimtab.binaries.rewriting.dt_auxiliary import add_dt_auxiliary
from trimtab.binaries.rewriting.program_headers import unmap_headers
from trimtab.binaries.rewriting.read_back import WrittenWronglyError, read_back
from trimtab.config.groups.debloat import Debloat, Fallback, Mode
from trimtab.debloating.fallback import FALLBACK_LIBRARY
from trimtab.debloating.gpu.gpu_code import GpuScope
from trimtab.debloating.libraries.file_size import FileSize, size_of
from trimtab.debloating.libraries.located import Located, locate_used
from trimtab.debloating.libraries.profiled import ProfiledLibrary, changed_since, check_unchanged
from trimtab.debloating.outcome import SlimLibrary
from trimtab.debloating.span_document import document_of
from trimtab.files import naming
from trimtab.records.library_spans import spans_file

OnProgress = Callable[[str, int, int], None]  # finished library, number finished, total

# The work is reading and writing, and numpy and zstd release the interpreter's lock. Each worker
# holds a few chunks of a library.
_WORKERS = min(8, len(os.sched_getaffinity(0)))
# Half of a process's default limit; the program and restored pages need the rest. All libraries
# that PyTorch for CUDA 13 loads have 12,000 holes together.
_MOST_HOLES = 65_530 // 4  # each costs two mappings


def locate_in(library: ProfiledLibrary, options: Debloat, gpu: GpuScope, spans: Path) -> Located:
    """Locate the kept and removed spans of a library, and write them to the folder `spans`.

    Raises UserError if the file is not the profiled one.
    """
    check_unchanged(library)
    located = locate_used(library, options, gpu)
    document_of(
        library.path,
        library.name,
        located.spans,
        options.minimum_hole_bytes,
        sha256=library.sha256 or "",
        started=located.started,
        gpu=located.gpu,
    ).write(spans_file(spans, library.name))
    return located


class Slimming:
    """Rewrites libraries into the folder `slim`, and writes the spans of each into `spans`.

    `locate_s` and `rewrite_s` are wall time, divided in proportion to the threads' times.
    """

    def __init__(self, options: Debloat, gpu: GpuScope, slim: Path, spans: Path) -> None:
        self.options, self.gpu, self.folder, self.spans = options, gpu, slim, spans
        self.locate_s = self.rewrite_s = 0.0
        self._done: dict[str, SlimLibrary] = {}

    def rewrite(
        self, libraries: Sequence[ProfiledLibrary], on_progress: OnProgress
    ) -> list[SlimLibrary]:
        """Return the slim libraries by name; only those whose used code changed are rewritten.

        Each file is read once more, for its sizes. If the loaded libraries have more holes than a
        process can map, all are rewritten with larger holes only.
        """
        begun_s = time.perf_counter()
        changed = [library for library in libraries if not self._is_done(library)]
        locating_s = rewriting_s = 0.0
        with ThreadPoolExecutor(_WORKERS) as pool:
            # The largest first, so no worker ends with a large one alone.
            largest_first = sorted(changed, key=lambda library: -library.size_bytes)
            for done, (slim, locate_s, rewrite_s) in enumerate(
                pool.map(self._rewrite, largest_first), 1
            ):
                locating_s, rewriting_s = locating_s + locate_s, rewriting_s + rewrite_s
                self._done[slim.profiled.name] = slim
                on_progress(slim.profiled.name, done, len(changed))
        share = (time.perf_counter() - begun_s) / max(locating_s + rewriting_s, 1e-9)
        self.locate_s += locating_s * share
        self.rewrite_s += rewriting_s * share
        made = [self._done[name] for name in sorted(library.name for library in libraries)]
        holes = sum(slim.rewritten.holes for slim in made if slim.profiled.loaded)
        if self.options.mode == Mode.COMPACT and holes > _MOST_HOLES:
            smallest = 2 * self.options.minimum_hole_bytes
            self.options = replace(self.options, minimum_hole_bytes=smallest)
            self._done.clear()
            return self.rewrite(libraries, on_progress)
        return made

    def _is_done(self, library: ProfiledLibrary) -> bool:
        slim = self._done.get(library.name)
        return slim is not None and all(
            np.array_equal(now, then)
            for now, then in (
                (library.left_alone, slim.profiled.left_alone),
                (library.used, slim.profiled.used),
                (library.used_data, slim.profiled.used_data),
            )
        )

    def _rewrite(self, library: ProfiledLibrary) -> tuple[SlimLibrary, float, float]:
        try:
            return self._write(library)
        except WrittenWronglyError as error:  # only this library stays whole; it is reported
            return self._write(replace(library, written_wrongly=str(error)))

    def _write(self, library: ProfiledLibrary) -> tuple[SlimLibrary, float, float]:
        started_s = time.perf_counter()
        located = locate_in(library, self.options, self.gpu, self.spans)
        located_s = time.perf_counter()
        path = self.folder / library.name
        with located.elf.staying_whole(), naming(path):
            rewritten = rewrite(
                located.elf,
                located.spans,
                self.options.mode,  # type: ignore[arg-type]  # an option of the same words
                path,
                minimum_hole_bytes=self.options.minimum_hole_bytes,
                patches=located.patches,
            )
            companion = ""
            if self.options.mode == Mode.COMPACT and located.spans.removed_bytes:
                permissions = path.stat().st_mode
                path.chmod(permissions | stat.S_IWUSR)  # the original may be read-only
                unmap_headers(path)  # before the file gets hard links
                if self.options.fallback != Fallback.NONE:
                    to_root = os.path.relpath(FALLBACK_LIBRARY, Path(library.name).parent)
                    if add_dt_auxiliary(path, located.elf, f"$ORIGIN/{to_root}"):
                        companion = f"$ORIGIN/{to_root}"
                path.chmod(permissions)
            read_back(path, located.elf, located.spans, located.patches, companion)
        rewritten_s = time.perf_counter()
        before = self._size_before(library)
        if before.sha256 != library.sha256:
            raise changed_since(library.path)
        slim = SlimLibrary(library, located, rewritten, path, before, size_of(path))
        return slim, located_s - started_s, rewritten_s - located_s

    def _size_before(self, library: ProfiledLibrary) -> FileSize:
        done = self._done.get(library.name)
        return size_of(library.path) if done is None else done.before
