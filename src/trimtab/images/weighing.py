"""What the layers of an image weigh, as a registry stores and sends them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from trimtab.images.archives.image import Image
from trimtab.images.compression import Compression, compressor
from trimtab.images.layers import open_layer
from trimtab.images.tar.stream import CHUNK_BYTES


@dataclass(frozen=True)
class Weight:
    """Bytes of all layers, each once: as tar archives, and compressed one by one."""

    uncompressed_bytes: int
    compressed_bytes: int


def weigh(image: Image, compression: Compression) -> Weight:
    """Return the weight of `image`, by its layers as `layer_weights` has them."""
    return total_weight(layer_weights(image, compression).values())


def total_weight(weights: Iterable[Weight]) -> Weight:
    """Return the sum of weights."""
    every = list(weights)
    return Weight(
        sum(weight.uncompressed_bytes for weight in every),
        sum(weight.compressed_bytes for weight in every),
    )


def layer_weights(
    image: Image, compression: Compression, known: Mapping[str, Weight] | None = None
) -> dict[str, Weight]:
    """Compress the layers of `image` anew, so that images are compared that were saved otherwise.

    Returned are the weights by `diff_id`; those that are `known` are taken as they are. The image's
    view has been made, which checks its digests. Raises ImageError where it was changed since.
    """
    weights = dict(known or {})
    for number, layer in enumerate(image.layers):
        if layer.diff_id in weights:
            continue
        packing = compressor(compression)
        before_bytes = after_bytes = 0
        with open_layer(image, number) as stream:
            while piece := stream.take(CHUNK_BYTES):
                before_bytes += len(piece)
                after_bytes += len(packing.compress(piece))
        after_bytes += len(packing.flush())
        weights[layer.diff_id] = Weight(before_bytes, after_bytes)
    return {layer.diff_id: weights[layer.diff_id] for layer in image.layers}
