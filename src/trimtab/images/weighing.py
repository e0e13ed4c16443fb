"""The sizes of an image's layers, as a registry stores and sends them."""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from trimtab.images.archives.image import Image
from trimtab.images.archives.region import FileRegion, identity_of, opened
from trimtab.images.compression import Compression, compressor
from trimtab.images.layers import open_layer
from trimtab.images.tar.stream import CHUNK_BYTES


@dataclass(frozen=True)
class Weight:
    """The bytes of all layers, each once: as tar archives, and compressed separately.

    `compress_s` is the wall time of the compression, without reading.
    """

    uncompressed_bytes: int
    compressed_bytes: int
    compress_s: float = field(compare=False)


def weigh(image: Image, compression: Compression) -> Weight:
    """Return the weight of `image`, from `layer_weights`."""
    return total_weight(layer_weights(image, compression).values())


def total_weight(weights: Iterable[Weight]) -> Weight:
    """Return the sum of weights."""
    every = list(weights)
    return Weight(
        sum(weight.uncompressed_bytes for weight in every),
        sum(weight.compressed_bytes for weight in every),
        sum(weight.compress_s for weight in every),
    )


def layer_weights(
    image: Image, compression: Compression, known: Mapping[str, Weight] | None = None
) -> dict[str, Weight]:
    """Recompress the layers of `image`, to make differently saved images comparable.

    Returns the weights by `diff_id`; `known` ones are taken as they are. The image's view was made
    before, with a check of its digests. Raises ImageError if the image was changed since.
    """
    weights = dict(known or {})
    for layer in image.layers:
        if layer.diff_id not in weights:
            number = _numbers(image)[layer.diff_id]
            weights[layer.diff_id] = _compressed(image, number, compression, None)
    return {layer.diff_id: weights[layer.diff_id] for layer in image.layers}


def recompressed(image: Image, compression: Compression, folder: Path) -> tuple[Image, Weight]:
    """Return `image` with its layers recompressed to files in `folder`, and their weights.

    Its view, made before, also fits the new image. Raises as `weigh` does, and OSError if the files
    cannot be written.
    """
    numbers = _numbers(image)
    weights = [
        _compressed(image, number, compression, folder / str(number)) for number in numbers.values()
    ]
    layers = [
        replace(layer, region=_whole(folder / str(numbers[layer.diff_id])), digest=None)
        for layer in image.layers
    ]
    return replace(image, layers=tuple(layers)), total_weight(weights)


def _numbers(image: Image) -> dict[str, int]:
    return {layer.diff_id: number for number, layer in enumerate(image.layers)}


def _compressed(image: Image, number: int, compression: Compression, path: Path | None) -> Weight:
    before_bytes = after_bytes = 0
    compress_s = 0.0
    packing = compressor(compression)
    with open_layer(image, number) as stream, (path or Path("/dev/null")).open("wb") as file:
        while True:
            piece = stream.take(CHUNK_BYTES)
            before_bytes += len(piece)
            began_s = time.perf_counter()
            packed = packing.compress(piece) if piece else packing.flush()
            compress_s += time.perf_counter() - began_s
            after_bytes += len(packed)
            file.write(packed)
            if not piece:
                return Weight(before_bytes, after_bytes, compress_s)


def _whole(path: Path) -> FileRegion:
    with opened(path) as file:
        return FileRegion(path, 0, path.stat().st_size, identity_of(file))
