"""The transfer and storage sizes of a fleet of images that were made slim together."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from trimtab.records.document import PART, Document
from trimtab.records.values import Text, Whole


@dataclass(frozen=True, config=PART)
class LayerTotals:
    """Layers, each once: as transferred, compressed with zstd, and as stored."""

    layers: Whole
    pulled_bytes: Whole
    stored_bytes: Whole


@dataclass(frozen=True, config=PART)
class FleetState:
    """The images of a fleet at one time, by name: each alone, and all on one host.

    `all` counts a shared layer once; `common` are the layers that all images have.
    """

    images: Annotated[dict[Text, LayerTotals], Field(min_length=1)]
    all: LayerTotals
    common: LayerTotals


class Fleet(Document):
    """The originals, the slim images without shared layers, and the slim images with one."""

    stage: ClassVar[str] = "trimtab image share"
    version: Literal[1] = 1
    before: FleetState
    alone: FleetState
    sharing: FleetState
