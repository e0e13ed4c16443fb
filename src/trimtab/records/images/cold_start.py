"""The measurements of `trimtab image start`: two images from their pull to the first output."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from trimtab.records.document import PART, Document
from trimtab.records.values import AboveZero, Amount, Text, Whole, one_of


@dataclass(frozen=True, config=PART)
class ColdRound:
    """Seconds of one round. `start_s` is with all processors, `start_one_core_s` with one."""

    pull_s: Amount
    unpack_s: Amount
    start_s: Amount
    start_one_core_s: Amount

    @property
    def total_s(self) -> float:
        """The time for pull, unpacking, and start with all processors."""
        return self.pull_s + self.unpack_s + self.start_s


@dataclass(frozen=True, config=PART)
class ImportedPackage:
    """A package, or a part of one, that Python imported before the first output.

    `import_s` is its modules' own time; `called` says whether any of its functions was called
    outside imports, None if that is unknown.
    """

    name: Text
    modules: AboveZero
    import_s: Amount
    called: bool | None


@dataclass(frozen=True, config=PART)
class PythonStart:
    """Python's work before the first output: `import_s` is the time in imports.

    `listed_folders` were searched for modules, `compiled_files` had no byte code; None if unknown.
    """

    import_s: Amount
    packages: list[ImportedPackage]
    listed_folders: Whole | None
    compiled_files: Whole | None


@dataclass(frozen=True, config=PART)
class StartParts:
    """One more start, with all processors, split into parts.

    `loader_s` ends when the dynamic linker has started the first process, None if the linker does
    not report it (musl, static programs); `python` is None if no Python ran.
    """

    start_s: Amount
    loader_s: Amount | None
    python: PythonStart | None

    @property
    def rest_s(self) -> float:
        """The remaining time: the program itself, up to its first output."""
        imports_s = self.python.import_s if self.python else 0.0
        return max(0.0, self.start_s - (self.loader_s or 0.0) - imports_s)


@dataclass(frozen=True, config=PART)
class NeededFiles:
    """The image's files that were read before the first output, from an empty page cache.

    `page_bytes` were read, with read-ahead; `chunk_bytes` are the chunks of 4 MiB around them,
    which a lazy pull would have to fetch, and `chunk_compressed_bytes` these, each compressed by
    itself, None in older documents.
    """

    files: Whole
    all_files: Whole
    page_bytes: Whole
    chunk_bytes: Whole
    all_bytes: Whole
    chunk_compressed_bytes: Whole | None = None


@dataclass(frozen=True, config=PART)
class ColdSide:
    """One image. `transfer_s` is the modelled transfer time of its compressed layers."""

    name: Text
    compressed_bytes: Whole
    transfer_s: Amount
    rounds: Annotated[list[ColdRound], Field(min_length=1)]
    parts: StartParts
    needed: NeededFiles


class ColdStart(Document):
    """Two images, measured in turn.

    `emptied` is the cache that was emptied before each start: `files` for the image's files,
    `machine` for all caches of the machine.
    """

    stage: ClassVar[str] = "trimtab image start"
    version: Literal[1] = 1
    command: list[Text]
    gbit_per_s: Amount
    compression: Annotated[str, one_of("gzip", "zstd")]
    emptied: Annotated[str, one_of("files", "machine")]
    processors: AboveZero
    before: ColdSide
    after: ColdSide
