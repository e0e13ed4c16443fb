"""A library: read, located, rewritten in each mode, read back, and what left it."""

from pathlib import Path

import numpy as np

from trimtab.binaries.elf.functions import read_functions
from trimtab.binaries.elf.reader import read_elf
from trimtab.binaries.rewriting.compact import rewrite
from trimtab.binaries.rewriting.dt_auxiliary import add_dt_auxiliary
from trimtab.binaries.rewriting.program_headers import unmap_headers
from trimtab.binaries.rewriting.read_back import read_back
from trimtab.config.groups.debloat import Debloat, Mode, Remove, StartUpOnly
from trimtab.debloating.gpu.gpu_code import GpuScope
from trimtab.debloating.libraries.located import locate_used
from trimtab.debloating.libraries.profiled import ProfiledLibrary
from trimtab.debloating.removed_pages import removed_pages
from trimtab.debloating.span_document import document_of
from trimtab.errors import TrimtabError, UserError

ERRORS = UserError  # a library is refused; that it was written wrongly is a TrimtabError
_MODES = list(Mode)
_COMPANION = "$ORIGIN/../trimtab/libtrimtab-fallback.so"


def run(data: bytes, folder: Path) -> None:
    source, slim = folder / "source.so", folder / "slim.so"
    source.write_bytes(data[1:])
    choice = data[0] if data else 0
    elf = read_elf(source)
    starts = read_functions(elf).start.astype(np.int64)
    # Here and there, or what whole pages may leave behind.
    used = starts[:: 2 + choice % 5] if choice < 128 else starts[: choice % 5]
    start_up = list(StartUpOnly)[choice // 8 % 2]
    options = Debloat(
        name="fuzz", remove=Remove.CODE, mode=_MODES[choice % 3], start_up_only=start_up
    )
    read = np.array([len(data) * 7 % elf.size_bytes], np.int64)
    library = ProfiledLibrary(
        "lib/a.so", source, elf.build_id, elf.size_bytes, used, "", used_data=read
    )
    located = locate_used(library, options, GpuScope())
    rewrite(located.elf, located.spans, options.mode.value, slim, 4096, patches=located.patches)
    companion = ""
    if options.mode == Mode.COMPACT:
        unmap_headers(slim)
        companion = _COMPANION if add_dt_auxiliary(slim, located.elf, _COMPANION) else ""
    read_back(slim, located.elf, located.spans, located.patches, companion)
    document = document_of(
        source, library.name, located.spans, 4096, sha256="0" * 64, gpu=located.gpu
    )
    if options.mode != Mode.PUNCH and located.spans.removed_bytes:
        removed_pages(located.elf, located.spans, document)


assert not issubclass(TrimtabError, ERRORS)
