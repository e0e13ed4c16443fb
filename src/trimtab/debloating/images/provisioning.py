"""How long an image takes to get to where it runs, as modelled."""

from dataclasses import dataclass

from trimtab.images.weighing import Weight

# Of this project's ordinary 2-core machine (docs/methods/images.md): zstd at the level that images
# are written with, and an extraction with the digests checked.
SAVE_MB_PER_S = 54.0
UNPACK_MB_PER_S = 240.0


@dataclass(frozen=True)
class Provisioning:
    """Seconds to save an image (compress its layers), to transfer it, and to unpack it."""

    save_s: float
    transfer_s: float
    unpack_s: float

    @property
    def total_s(self) -> float:
        """All three, one after another."""
        return self.save_s + self.transfer_s + self.unpack_s


def provisioning_of(weight: Weight, gbit_per_s: float) -> Provisioning:
    """Return what an image of this weight takes at a bandwidth of `gbit_per_s`."""
    megabytes = weight.uncompressed_bytes / 1e6
    return Provisioning(
        save_s=megabytes / SAVE_MB_PER_S,
        transfer_s=weight.compressed_bytes * 8 / (gbit_per_s * 1e9),
        unpack_s=megabytes / UNPACK_MB_PER_S,
    )
