"""Two images side by side: what the second one no longer has, and what that is worth."""

from dataclasses import dataclass
from typing import Self

from trimtab.debloating.files.closure import Kept
from trimtab.debloating.files.removed_files import Selection, selection
from trimtab.debloating.files.tree import NodeKind
from trimtab.debloating.images.provisioning import Provisioning, provisioning_of
from trimtab.debloating.images.surface import Surface, surface_of
from trimtab.debloating.images.view_tree import view_tree
from trimtab.images.archives.image import Image
from trimtab.images.compression import Compression
from trimtab.images.merging import merged_view
from trimtab.images.node import Kind, Node
from trimtab.images.view import View
from trimtab.images.weighing import Weight, weigh
from trimtab.records.images.comparison import GoneFile, ImageComparison, ImageSide


@dataclass(frozen=True)
class Side:
    """One of the two: `file_bytes` are those of its regular files, each once, links not at all."""

    files: int
    file_bytes: int
    weight: Weight
    provisioning: Provisioning
    surface: Surface

    @classmethod
    def of(cls, image: Image, view: View, gbit_per_s: float) -> Self:
        """Measure an image; all its layers are compressed anew."""
        files = {node for _, node in view.walk() if node.kind is Kind.FILE}
        weight = weigh(image, Compression.ZSTD)
        return cls(
            files=len(files),
            file_bytes=sum(node.size_bytes for node in files),
            weight=weight,
            provisioning=provisioning_of(weight, gbit_per_s),
            surface=surface_of(view),
        )

    def record(self, name: str) -> ImageSide:
        """Return it as the document has it."""
        return ImageSide(
            name=name,
            files=self.files,
            file_bytes=self.file_bytes,
            layer_bytes=self.weight.uncompressed_bytes,
            compressed_bytes=self.weight.compressed_bytes,
            save_s=self.provisioning.save_s,
            transfer_s=self.provisioning.transfer_s,
            unpack_s=self.provisioning.unpack_s,
            executables=len(self.surface.executables),
            setuid=list(self.surface.setuid),
            shells=list(self.surface.shells),
            interpreters=list(self.surface.interpreters),
        )


@dataclass(frozen=True)
class Compared:
    """Both sides, the files that went, and by how many bytes files that stayed became smaller.

    `gone` says what of the first one's files stayed as well.
    """

    before: Side
    after: Side
    gone: Selection
    smaller_files: int
    smaller_bytes: int

    def record(self, before: str, after: str, gbit_per_s: float) -> ImageComparison:
        """Return it as the document of images of these names, compared at that bandwidth."""
        return ImageComparison(
            gbit_per_s=gbit_per_s,
            before=self.before.record(before),
            after=self.after.record(after),
            removed=[
                GoneFile(file.path, file.package, file.kind.value, file.size_bytes)
                for file in self.gone.removed
            ],
            removed_bytes=self.gone.removed_bytes,
            smaller_files=self.smaller_files,
            smaller_bytes=self.smaller_bytes,
        )


def compare_images(before: Image, after: Image, gbit_per_s: float) -> Compared:
    """Compare an image with what was made of it.

    A file has gone where the second image has no regular file of its path. Raises ImageError where
    one of both is damaged.
    """
    views = merged_view(before), merged_view(after)
    files = [_files(view) for view in views]
    tree = view_tree(before, views[0])
    stayed = [
        path
        for path, node in tree.nodes.items()
        if node.kind is not NodeKind.FILE or path in files[1]
    ]
    shrunk = {
        node: node.size_bytes - files[1][path].size_bytes
        for path, node in files[0].items()
        if path in files[1] and files[1][path].size_bytes < node.size_bytes
    }
    return Compared(
        before=Side.of(before, views[0], gbit_per_s),
        after=Side.of(after, views[1], gbit_per_s),
        gone=selection(tree, Kept({path: {} for path in stayed})),
        smaller_files=len(shrunk),
        smaller_bytes=sum(shrunk.values()),
    )


def _files(view: View) -> dict[str, Node]:
    return {path: node for path, node in view.walk() if node.kind is Kind.FILE}
