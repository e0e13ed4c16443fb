"""Write slim images that share a layer, made from their originals' common layers.

Files of these layers that all images still have, equal to the byte, become one layer; engines and
registries store it once. The rest of each image is a layer above it.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from trimtab.debloating.images.packing import slim_name, slim_view, started
from trimtab.errors import UserError
from trimtab.files import sha256_of
from trimtab.images.archives.image import Image
from trimtab.images.compression import Compression
from trimtab.images.merging import merged_view
from trimtab.images.node import Folder, Inode
from trimtab.images.selection import select
from trimtab.images.view import View
from trimtab.images.writing.image import WrittenImage, write_image
from trimtab.profiling.images.unpacked import Unpacked


@dataclass(frozen=True)
class SlimFileSystem:
    """The slim file system `folder` of an image; `changed` are its rewritten libraries."""

    original: Unpacked
    folder: Path
    changed: frozenset[str]


class CommonBase:
    """The common lowest layers of several images.

    Raises UserError if there are none, or fewer than two images, and ImageError for a damaged
    image.
    """

    def __init__(self, images: Sequence[Image]) -> None:
        diff_ids = [image.config.diff_ids for image in images]
        alike = [len(set(each)) == 1 for each in zip(*diff_ids, strict=False)]
        self.layers = [*alike, False].index(False)
        self._images = images
        if len(images) < 2 or not self.layers:
            named = ", ".join(str(image.path) for image in images)
            raise UserError(
                f"{named}: expected at least two images that begin with the same layer, as those"
                " do that are built from one base"
            )

    def view_of(self, image: Image) -> View:
        """Return the file system of these layers, as `image` has them."""
        lower = replace(image.config, diff_ids=image.config.diff_ids[: self.layers])
        return merged_view(replace(image, config=lower, layers=image.layers[: self.layers]))

    @cached_property
    def paths(self) -> frozenset[str]:
        """The paths that no upper layer of any image changes."""
        base = dict(self.view_of(self._images[0]).walk())
        paths = set(base) - {"/"}
        for image in self._images:
            found = dict(merged_view(image).walk())
            paths &= found.keys()
            paths = {path for path in paths if _facts(found[path]) == _facts(base[path])}
        return frozenset(paths)


def write_sharing(
    base: CommonBase, slim: Sequence[SlimFileSystem], places: Sequence[Path],
    compression: Compression,
) -> list[WrittenImage]:  # fmt: skip
    """Write an image of each of `slim` to the file in `places`; all share the lowest layer.

    Raises as `pack` does.
    """
    views = [slim_view(each.original, each.folder, set(each.changed)) for each in slim]
    shared = _alike(base, views)
    return [
        _write(base, each, view, kept, shared, place, compression)
        for each, (view, kept), place in zip(slim, views, places, strict=True)
    ]


def _alike(base: CommonBase, views: Sequence[tuple[View, list[str]]]) -> set[str]:
    paths = set(base.paths).intersection(*(kept for _, kept in views))
    found = [dict(view.walk()) for view, _ in views]
    alike = {path for path in paths if len(set(_contents(path, found))) == 1}
    names = [_names(nodes, kept) for nodes, (_, kept) in zip(found, views, strict=True)]
    # All names of a file must be in one layer.
    while split := {
        path
        for of_files in names
        for of_one in of_files
        if not alike.isdisjoint(of_one) and not alike.issuperset(of_one)
        for path in of_one
    }:
        alike -= split
    return alike


def _names(nodes: dict[str, Inode], kept: list[str]) -> list[list[str]]:
    names: dict[Inode, list[str]] = defaultdict(list)
    for path in kept:
        names[nodes[path]].append(path)
    return [of_one for of_one in names.values() if len(of_one) > 1]


def _contents(path: str, found: Sequence[dict[str, Inode]]) -> Iterator[Hashable]:
    for nodes in found:
        local = nodes[path].local
        yield None if local is None else sha256_of(local)


def _write(
    base: CommonBase,
    slim: SlimFileSystem,
    view: View,
    kept: list[str],
    shared: set[str],
    place: Path,
    compression: Compression,
) -> WrittenImage:
    lower = base.view_of(slim.original.image)
    for path, node in view.walk():
        if path in shared and node.local is not None:
            lower.put_file(path, node.local)
    return write_image(
        started(slim.original.image, slim.folder),
        view,
        place,
        name=slim_name(slim.original),
        compression=compression,
        kept=[path for path in kept if path not in shared],
        below=[select(lower, shared)],
    )


def _facts(node: Inode) -> Hashable:
    return (
        *(node.kind, node.mode, node.uid, node.gid, node.mtime_ns, node.xattrs),
        *((node.layer,) if isinstance(node, Folder) else (node.layer, node.offset)),
        *(node.size_bytes, node.target, node.device, node.segments),
    )
