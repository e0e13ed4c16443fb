"""What `trimtab image compare` found out about two images."""

from typing import ClassVar, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from trimtab.records.document import PART, Document
from trimtab.records.values import Amount, Text, Whole


@dataclass(frozen=True, config=PART)
class ImageSide:
    """One image: `file_bytes` count each regular file once; layers are compressed with zstd.

    Seconds are modelled. The paths are those of regular files that may be run, each once.
    """

    name: Text
    files: Whole
    file_bytes: Whole
    layer_bytes: Whole
    compressed_bytes: Whole
    save_s: Amount
    transfer_s: Amount
    unpack_s: Amount
    executables: Whole
    setuid: list[Text]
    shells: list[Text]
    interpreters: list[Text]


@dataclass(frozen=True, config=PART)
class GoneFile:
    """A regular file of the first image at whose path the second one has none.

    `size_bytes` are 0 where another name of it stayed, or counts.
    """

    path: Text
    package: Text
    kind: Text
    size_bytes: Whole


class ImageComparison(Document):
    """Two images, the files that went, and by what the ones that stayed became smaller."""

    stage: ClassVar[str] = "trimtab image compare"
    most_bytes: ClassVar[int] = 1 << 28  # an image has 100,000 files
    version: Literal[1] = 1
    gbit_per_s: Amount
    before: ImageSide
    after: ImageSide
    removed: list[GoneFile] = Field(default_factory=list)
    removed_bytes: Whole
    smaller_files: Whole
    smaller_bytes: Whole
