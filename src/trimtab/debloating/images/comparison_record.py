"""Convert a comparison to its document."""

from trimtab.debloating.images.comparing import Compared, ComparedImage
from trimtab.debloating.images.exposure.gadgets import Gadgets
from trimtab.records.images.comparison import GadgetCount, GoneFile, ImageComparison, ImageSide


def comparison_record(
    compared: Compared, before: str, after: str, gbit_per_s: float
) -> ImageComparison:
    """Return the document of a comparison, with the images' names and the bandwidth."""
    return ImageComparison(
        gbit_per_s=gbit_per_s,
        before=_side(compared.before, before),
        after=_side(compared.after, after),
        removed=[
            GoneFile(
                file.path,
                file.package,
                file.kind.value,
                compared.reason(file),
                file.size_bytes,
                file.counts,
            )
            for file in compared.gone.removed
        ],
        removed_files=compared.gone.removed_files,
        removed_bytes=compared.gone.removed_bytes,
        smaller_files=compared.smaller_files,
        smaller_bytes=compared.smaller_bytes,
    )


def _side(side: ComparedImage, name: str) -> ImageSide:
    gadgets = side.binaries.gadgets
    return ImageSide(
        name=name,
        files=side.files,
        file_bytes=side.file_bytes,
        layer_bytes=side.weight.uncompressed_bytes,
        compressed_bytes=side.weight.compressed_bytes,
        save=side.provisioning.save,
        transfer=side.provisioning.transfer,
        unpack=side.provisioning.unpack,
        executables=len(side.surface.executables),
        setuid=list(side.surface.setuid),
        shells=list(side.surface.shells),
        interpreters=list(side.surface.interpreters),
        listening=side.binaries.listening,
        connecting=side.binaries.connecting,
        encrypting=side.binaries.encrypting,
        other_binaries=side.binaries.others,
        packages=[" ".join(package.identity) for package in side.packages],
        gadgets=None
        if gadgets is None
        else {path: _count(found) for path, found in gadgets.items()},
        gadgets_in_all=None if side.gadgets is None else _count(side.gadgets),
        files_sufficient_for_exploits=None
        if gadgets is None
        else sum(found.is_sufficient for found in gadgets.values()),
        vulnerabilities=side.vulnerabilities,
    )


def _count(gadgets: Gadgets) -> GadgetCount:
    returns, jumps, calls, system_calls = gadgets.usable
    return GadgetCount(
        all=gadgets.all,
        returns=returns,
        jumps=jumps,
        calls=calls,
        system_calls=system_calls,
        mean_score=gadgets.mean_score,
        practical=gadgets.practical.bit_count(),
        practical_with_aslr=gadgets.practical_with_aslr.bit_count(),
        turing_complete=gadgets.turing_complete.bit_count(),
    )
