"""The findings of `trimtab image compare` about two images."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from trimtab.records.document import PART, Document
from trimtab.records.values import Amount, Text, Whole, one_of


@dataclass(frozen=True, config=PART)
class Step:
    """A step of provisioning: its measured or modelled wall time."""

    wall_s: Amount
    source: Annotated[str, one_of("measured", "modelled")]


@dataclass(frozen=True, config=PART)
class GadgetCount:
    """Gadgets: all offsets where one begins, and the usable ones, equal ones of a file once.

    `mean_score` of the usable ones is low for gadgets with few side effects; None without any. The
    last three are the numbers of classes that occur: of 11, of 35 and of 17.
    """

    all: Whole
    returns: Whole
    jumps: Whole
    calls: Whole
    system_calls: Whole
    mean_score: Amount | None
    practical: Whole
    practical_with_aslr: Whole
    turing_complete: Whole


@dataclass(frozen=True, config=PART)
class KnownVulnerability:
    """A vulnerability of an installed package: its CVE number, or else its advisory's name."""

    name: Text
    advisories: list[Text]
    ecosystem: Text
    package: Text
    version: Text


@dataclass(frozen=True, config=PART)
class ImageSide:
    """One image: `file_bytes` counts each regular file once; layers are compressed with zstd.

    Paths are of regular files, each once. Values that were not asked for are None: `gadgets`, by
    file and `gadgets_in_all`, and `vulnerabilities`.
    """

    name: Text
    files: Whole
    file_bytes: Whole
    layer_bytes: Whole
    compressed_bytes: Whole
    save: Step
    transfer: Step
    unpack: Step
    executables: Whole
    setuid: list[Text]
    shells: list[Text]
    interpreters: list[Text]
    listening: list[Text]
    connecting: list[Text]
    encrypting: list[Text]
    other_binaries: list[Text]
    packages: list[Text]
    gadgets: dict[Text, GadgetCount] | None = None
    gadgets_in_all: GadgetCount | None = None
    files_sufficient_for_exploits: Whole | None = None
    vulnerabilities: list[KnownVulnerability] | None = None


@dataclass(frozen=True, config=PART)
class GoneFile:
    """A regular file of the first image at whose path the second one has none.

    `size_bytes` is 0, and `counts` false, if another name of it stayed or counts.
    """

    path: Text
    package: Text
    kind: Text
    reason: Text
    size_bytes: Whole
    counts: bool


class ImageComparison(Document):
    """Two images, the removed files, and the bytes by which kept files shrank."""

    stage: ClassVar[str] = "trimtab image compare"
    most_bytes: ClassVar[int] = 1 << 28  # an image has 100,000 files
    version: Literal[2] = 2
    gbit_per_s: Amount
    before: ImageSide
    after: ImageSide
    removed: list[GoneFile] = Field(default_factory=list)
    removed_files: Whole
    removed_bytes: Whole
    smaller_files: Whole
    smaller_bytes: Whole
