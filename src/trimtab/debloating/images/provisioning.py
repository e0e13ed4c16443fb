"""The time until an image can run: measured where possible here, else modelled."""

import shutil
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from trimtab.images.archives.image import Image
from trimtab.images.compression import Compression
from trimtab.images.extracting import extract
from trimtab.images.node import FileType
from trimtab.images.view import View
from trimtab.images.weighing import Weight, recompressed, weigh
from trimtab.records.images.comparison import Step

# Measured on this project's 2-core machine (docs/methods/images.md) by an extraction.
UNPACK_MB_PER_S = 240.0
_BLOCK_BYTES = 4096  # that a file or path may take beyond its length


@dataclass(frozen=True)
class Provisioning:
    """The steps: save an image (compress its layers), transfer the layers, unpack them."""

    save: Step
    transfer: Step
    unpack: Step

    @property
    def total_s(self) -> float:
        """The sum of the three steps."""
        return self.save.wall_s + self.transfer.wall_s + self.unpack.wall_s


def provisioned(image: Image, view: View, gbit_per_s: float) -> tuple[Weight, Provisioning]:
    """Compress the layers of `image`, and unpack them into a temporary folder.

    The transfer, at a bandwidth of `gbit_per_s`, is modelled, and so is unpacking if the disk is
    too small. Raises ImageError if the image was changed since its view was made.
    """
    with tempfile.TemporaryDirectory(prefix="trimtab-") as folder:
        if shutil.disk_usage(folder).free < _needed_bytes(image, view):
            weight = weigh(image, Compression.ZSTD)
            unpack = Step(weight.uncompressed_bytes / 1e6 / UNPACK_MB_PER_S, "modelled")
        else:
            layers = Path(folder, "layers")
            layers.mkdir()
            again, weight = recompressed(image, Compression.ZSTD, layers)
            began_s = time.perf_counter()
            extract(again, view, Path(folder, "root"))
            unpack = Step(time.perf_counter() - began_s, "measured")
    transfer_s = weight.compressed_bytes * 8 / (gbit_per_s * 1e9)
    return weight, Provisioning(
        Step(weight.compress_s, "measured"), Step(transfer_s, "modelled"), unpack
    )


def _needed_bytes(image: Image, view: View) -> int:
    """Return an upper bound for the extracted files and the compressed layers."""
    paths = 0
    files = set()
    for _, node in view.walk():
        paths += 1
        if node.kind is FileType.FILE:
            files.add(node)
    extracted_bytes = sum(node.stored_bytes for node in files) + paths * _BLOCK_BYTES
    hidden_bytes = sum(layer.region.size_bytes for layer in image.layers)
    return extracted_bytes + max(extracted_bytes, hidden_bytes)
