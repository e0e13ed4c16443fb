"""The header and the descriptors of a SIF."""

from pathlib import Path

from trimtab.errors import UserError
from trimtab.images.sif.container import Sif, is_sif

ERRORS = UserError


def run(data: bytes, folder: Path) -> None:
    path = folder / "image.sif"
    path.write_bytes(data)
    is_sif(path)
    sif = Sif.open(path)
    _, region = sif.root()
    assert b"".join(region.chunks()) == data[region.offset :][: region.size_bytes]
