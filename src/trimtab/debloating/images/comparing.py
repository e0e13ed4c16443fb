"""Compare two images: what the second one lacks, and what that saves."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from operator import add
from pathlib import Path

from trimtab.debloating.files.closure import Kept
from trimtab.debloating.files.removed_files import CountedFile, FileSelection, selection
from trimtab.debloating.files.tree import FileTree
from trimtab.debloating.images.exposure.binaries import Binaries, binaries_of
from trimtab.debloating.images.exposure.gadgets import Gadgets
from trimtab.debloating.images.provisioning import Provisioning, provisioned
from trimtab.debloating.images.surface import Surface, surface_of
from trimtab.debloating.images.view_tree import view_tree
from trimtab.debloating.images.vulnerabilities.advisories import read_advisories
from trimtab.debloating.images.vulnerabilities.known import known_vulnerabilities
from trimtab.debloating.images.vulnerabilities.packages import Package, packages_in, packages_left
from trimtab.images.archives.image import Image
from trimtab.images.merging import merged_view
from trimtab.images.node import FileType, Inode
from trimtab.images.view import View
from trimtab.images.weighing import Weight
from trimtab.records.images.comparison import KnownVulnerability

_Found = Mapping[tuple[str, str, str], list[KnownVulnerability]]


@dataclass(frozen=True)
class ComparedImage:
    """One of the two images: `file_bytes` counts each regular file once, and no links.

    `packages` are the packages that have a file in it. `vulnerabilities` is None without
    advisories.
    """

    files: int
    file_bytes: int
    weight: Weight
    provisioning: Provisioning
    surface: Surface
    binaries: Binaries
    packages: list[Package]
    vulnerabilities: list[KnownVulnerability] | None

    @property
    def gadgets(self) -> Gadgets | None:
        """The gadgets of all programs and libraries; None if they were not counted."""
        by_file = self.binaries.gadgets
        return None if by_file is None else reduce(add, by_file.values(), Gadgets())


@dataclass(frozen=True)
class Compared:
    """Both images, the removed files, and how many files that stayed shrank by how many bytes.

    `gone` also has the files of the first image that stayed. `replaced` are the paths of removed
    files at which the second image has a link or a folder.
    """

    before: ComparedImage
    after: ComparedImage
    gone: FileSelection
    replaced: frozenset[str]
    smaller_files: int
    smaller_bytes: int

    def reason(self, file: CountedFile) -> str:
        """Return why a file counts as removed, by what is at its path now."""
        if file.path in self.replaced:
            return "something else is at its path"
        return "nothing is at its path" if file.counts else "another of its names stayed or counts"


def compare_images(
    before: Image,
    after: Image,
    gbit_per_s: float,
    *,
    count_gadgets: bool = False,
    advisories: Path | None = None,
) -> Compared:
    """Compare an image with one made from it; both are compressed and unpacked on the way.

    A file is removed if the second image has no regular file at its path. `advisories` is a file,
    folder or archive, as in `read_advisories`. Raises ImageError for a damaged image, UserError for
    invalid advisories, and OSError if temporary files do not fit.
    """
    images = before, after
    views = merged_view(before), merged_view(after)
    files = [_files(view) for view in views]
    trees = [view_tree(image, view) for image, view in zip(images, views, strict=True)]
    stayed = [
        path
        for path, node in trees[0].nodes.items()
        if node.kind is not FileType.FILE or path in files[1]
    ]
    shrunk = {
        node: node.size_bytes - files[1][path].size_bytes
        for path, node in files[0].items()
        if path in files[1] and files[1][path].size_bytes < node.size_bytes
    }
    gone = selection(trees[0], Kept({path: {} for path in stayed}))
    packages = _packages(*trees)
    known = None
    if advisories is not None:
        known = known_vulnerabilities([*packages[0], *packages[1]], read_advisories(advisories))
    sides = [
        _side(image, view, gbit_per_s, binaries_of(image, view, count_gadgets), there, known)
        for image, view, there in zip(images, views, packages, strict=True)
    ]
    return Compared(
        before=sides[0],
        after=sides[1],
        gone=gone,
        replaced=frozenset(file.path for file in gone.removed if file.path in trees[1].nodes),
        smaller_files=len(shrunk),
        smaller_bytes=sum(shrunk.values()),
    )


def _packages(before: FileTree, after: FileTree) -> tuple[list[Package], list[Package]]:
    installed = packages_in(before)
    return packages_left(installed, before), packages_left(installed, after)


def _side(
    image: Image,
    view: View,
    gbit_per_s: float,
    binaries: Binaries,
    packages: list[Package],
    known: _Found | None,
) -> ComparedImage:
    files = set(_files(view).values())
    weight, provisioning = provisioned(image, view, gbit_per_s)
    return ComparedImage(
        files=len(files),
        file_bytes=sum(node.size_bytes for node in files),
        weight=weight,
        provisioning=provisioning,
        surface=surface_of(view),
        binaries=binaries,
        packages=packages,
        vulnerabilities=None if known is None else list(_of(packages, known)),
    )


def _of(packages: Iterable[Package], known: _Found) -> Iterable[KnownVulnerability]:
    for package in packages:
        yield from known.get(package.identity, ())


def _files(view: View) -> dict[str, Inode]:
    return {path: node for path, node in view.walk() if node.kind is FileType.FILE}
