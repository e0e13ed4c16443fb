"""What the layers of an image weigh, as a registry stores and sends them."""

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
    """Compress the layers of `image` anew, so that images are compared that were saved otherwise.

    Its view has been made, which checks its digests. Raises ImageError where it was changed since.
    """
    before_bytes = after_bytes = 0
    numbers = {layer.diff_id: number for number, layer in enumerate(image.layers)}
    for number in numbers.values():
        packing = compressor(compression)
        with open_layer(image, number) as stream:
            while piece := stream.take(CHUNK_BYTES):
                before_bytes += len(piece)
                after_bytes += len(packing.compress(piece))
        after_bytes += len(packing.flush())
    return Weight(before_bytes, after_bytes)
