"""What `trimtab image start` measured of two images: from their pull to the first output."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from trimtab.records.document import PART, Document
from trimtab.records.values import AboveZero, Amount, Text, Whole, one_of


@dataclass(frozen=True, config=PART)
class ColdRound:
    """Seconds of one round. `start_s` is on all processors, `start_one_core_s` on one."""

    pull_s: Amount
    unpack_s: Amount
    start_s: Amount
    start_one_core_s: Amount

    @property
    def total_s(self) -> float:
        """Pull, unpack, and start on all processors."""
        return self.pull_s + self.unpack_s + self.start_s


@dataclass(frozen=True, config=PART)
class ImportedPackage:
    """A package, or a part of one, that Python imported before the first output.

    `import_s` is its modules' own time; `called` says whether any function of it was called while
    nothing was imported, None where that was not to be seen.
    """

    name: Text
    modules: AboveZero
    import_s: Amount
    called: bool | None


@dataclass(frozen=True, config=PART)
class PythonStart:
    """What Python did before the first output: `import_s` is the time in imports.

    `listed_folders` are those that modules were looked for in, `compiled_files` those without byte
    code; None where it was not to be seen.
    """

    import_s: Amount
    packages: list[ImportedPackage]
    listed_folders: Whole | None
    compiled_files: Whole | None


@dataclass(frozen=True, config=PART)
class StartParts:
    """One more start, on all processors, taken apart.

    `loader_s` goes until the dynamic linker has started the first process, None where that linker
    does not tell (musl, static programs); `python` is None where no Python ran.
    """

    start_s: Amount
    loader_s: Amount | None
    python: PythonStart | None

    @property
    def rest_s(self) -> float:
        """What is neither of both: the program itself, up to its first output."""
        imports_s = self.python.import_s if self.python else 0.0
        return max(0.0, self.start_s - (self.loader_s or 0.0) - imports_s)


@dataclass(frozen=True, config=PART)
class NeededFiles:
    """What of the image's files was read before the first output, from an empty page cache.

    `page_bytes` were read, ahead of need too; `chunk_bytes` are the chunks of 4 MiB that any of
    them lie in, which an image that is pulled lazily would have to fetch.
    """

    files: Whole
    all_files: Whole
    page_bytes: Whole
    chunk_bytes: Whole
    all_bytes: Whole


@dataclass(frozen=True, config=PART)
class ColdSide:
    """One image. `transfer_s` is what its compressed layers take at the bandwidth, as modelled."""

    name: Text
    compressed_bytes: Whole
    transfer_s: Amount
    rounds: Annotated[list[ColdRound], Field(min_length=1)]
    parts: StartParts
    needed: NeededFiles


class ColdStart(Document):
    """Two images, measured in turns.

    `emptied` says what was not in memory before each start: `files` those of the image, `machine`
    all that the machine had in its caches.
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
