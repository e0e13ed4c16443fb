"""What a fleet of images that were made slim together pulls and stores."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from trimtab.records.document import PART, Document
from trimtab.records.values import Text, Whole


@dataclass(frozen=True, config=PART)
class LayerTotals:
    """Layers, each once: as they are pulled, compressed with zstd, and as they are stored."""

    layers: Whole
    pulled_bytes: Whole
    stored_bytes: Whole


@dataclass(frozen=True, config=PART)
class FleetState:
    """The images of a fleet at one time, by their names: each by itself, and all on one host.

    `all` has a layer of several images once; `common` are the layers that all of them have.
    """

    images: Annotated[dict[Text, LayerTotals], Field(min_length=1)]
    all: LayerTotals
    common: LayerTotals


class Fleet(Document):
    """The originals, the slim images that share nothing, and those that share a layer."""

    stage: ClassVar[str] = "trimtab image share"
    version: Literal[1] = 1
    before: FleetState
    alone: FleetState
    sharing: FleetState
