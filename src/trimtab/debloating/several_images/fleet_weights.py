"""The sizes of the images of a fleet; shared layers count once."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from trimtab.debloating.several_images.fleet import FleetMember
from trimtab.debloating.targets.image import SLIM_IMAGE
from trimtab.images.archives.image import Image
from trimtab.images.archives.opening import open_image
from trimtab.images.compression import Compression
from trimtab.images.weighing import Weight, layer_weights, total_weight
from trimtab.records.images.fleet import Fleet, FleetState, LayerTotals


def fleet_of(members: Mapping[str, FleetMember], sharing: Mapping[str, Path]) -> Fleet:
    """Return the sizes of the images of `members` before, and of the archives `sharing` after.

    Raises ImageError if an image was changed since.
    """
    before = {name: member.target.unpacked.image for name, member in members.items()}
    alone = {name: open_image(member.folder / SLIM_IMAGE) for name, member in members.items()}
    slim = {name: open_image(archive) for name, archive in sharing.items()}
    return Fleet(before=fleet_state(before), alone=fleet_state(alone), sharing=fleet_state(slim))


def fleet_state(images: Mapping[str, Image]) -> FleetState:
    """Return what `images`, by name, transfer and store; each layer is compressed once.

    Raises ImageError if an image was changed since its view was made.
    """
    known: dict[str, Weight] = {}
    by_image: dict[str, dict[str, Weight]] = {}
    for name, image in images.items():
        by_image[name] = layer_weights(image, Compression.ZSTD, known)
        known |= by_image[name]
    every = list(by_image.values())
    common = set(known).intersection(*every)
    return FleetState(
        images={name: _layers(weights.values()) for name, weights in by_image.items()},
        all=_layers(known.values()),
        common=_layers(known[layer] for layer in common),
    )


def _layers(weights: Iterable[Weight]) -> LayerTotals:
    every = list(weights)
    total = total_weight(every)
    return LayerTotals(len(every), total.compressed_bytes, total.uncompressed_bytes)
