"""Rebuild one library from the document of its spans."""

import stat
from pathlib import Path

from trimtab.binaries.elf.reader import read_loaded
from trimtab.binaries.gpu.fatbin import find_gpu_code
from trimtab.binaries.gpu.wrappers import registered_regions
from trimtab.binaries.rewriting.compact import rewrite
from trimtab.binaries.rewriting.initializers import stop_patches
from trimtab.binaries.rewriting.program_headers import unmap_headers
from trimtab.binaries.rewriting.read_back import read_back
from trimtab.binaries.rewriting.regions import Patch, rewrite_regions
from trimtab.config.groups.debloat import Mode
from trimtab.debloating.span_document import spans_of
from trimtab.errors import TrimtabError, UserError
from trimtab.files import sha256_of
from trimtab.records.library_spans import LibrarySpans


def reconstruct(span_path: Path, output_dir: Path, mode: Mode) -> Path:
    """Rebuild the library of `span_path` in `output_dir` and return its path there.

    Raises UserError for invalid spans, or if they are of another library.
    """
    try:
        document = LibrarySpans.read(span_path)
    except TrimtabError as error:
        raise UserError(str(error)) from None  # the user gave this file
    library, spans = Path(document.library), spans_of(document)
    elf, _ = read_loaded(library)
    known_as = (spans.build_id, spans.size_bytes, document.sha256)
    if (elf.build_id, elf.size_bytes, sha256_of(library)) != known_as:
        raise UserError(f"{span_path}: {library} is not the library that these spans are about")
    destination = output_dir / library.name
    if destination.resolve() == library.resolve():
        raise UserError(f"{output_dir}: holds the original {library.name}; choose another folder")
    patches: tuple[Patch, ...] = ()
    if document.gpu_code is not None:
        if document.gpu_code.pruned_elements:
            raise UserError(
                f"{span_path}: unused kernels were pruned within modules, which spans do not hold;"
                f" {library.name} without them is in env/"
            )
        listed = {offset for offset, _ in document.gpu_code.placed} | document.gpu_code.kept
        code = find_gpu_code(elf)
        registered = registered_regions(elf, code)
        patches = rewrite_regions(elf.data, code, listed, registered=registered).patches
    if not document.started:
        patches = stop_patches(elf)
    with elf.staying_whole():
        rewrite(
            elf,
            spans,
            mode,  # type: ignore[arg-type]  # an option of the same words
            destination,
            document.minimum_hole_bytes,
            patches=patches,
        )
    if mode == Mode.COMPACT and spans.removed_bytes:
        permissions = destination.stat().st_mode
        destination.chmod(permissions | stat.S_IWUSR)  # the original may be read-only
        unmap_headers(destination)
        destination.chmod(permissions)
    read_back(destination, elf, spans, patches)
    return destination
