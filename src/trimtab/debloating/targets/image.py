"""A container image: an archive, an OCI folder, a SIF, or an image's name in an engine.

It is extracted to a root file system, which is run, debloated and verified without an engine. If
its programs no longer need the original, the slim image is written beside the slim root file
system: `slim.tar`, which engines load, and for a SIF `slim.sif` too.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import ClassVar, Self

from trimtab.config.groups.debloat import Debloat, Fallback, Share
from trimtab.config.groups.workload import Workload
from trimtab.debloating.fallback import Source
from trimtab.debloating.files.tree import FileTree
from trimtab.debloating.images.byte_code import add_byte_code
from trimtab.debloating.images.health_check import named_by_health_check
from trimtab.debloating.images.packing import pack
from trimtab.debloating.removal import Removal, options_of, replaced_paths
from trimtab.debloating.targets.root_folder import RootFolder
from trimtab.errors import UserError
from trimtab.images.archives.opening import open_image
from trimtab.images.compression import Compression
from trimtab.images.merging import merged_view
from trimtab.images.sif.container import Sif, is_sif
from trimtab.images.sif.start_up import paths_of_apptainer
from trimtab.images.sif.writing import write_sif
from trimtab.processes.program import Program
from trimtab.profiling.images.image_workload import in_its_root
from trimtab.profiling.images.unpacked import Unpacked, unpacked_image
from trimtab.profiling.runs.from_workload import absolute
from trimtab.records.built_environment import BuiltEnvironment
from trimtab.records.manifest import Environment, Manifest
from trimtab.records.usage import Usage

_RUN_HERE = ("amd64", "386", "")  # x86-64 runs these; some configs give none
SLIM_IMAGE, SLIM_SIF, STORE = "slim.tar", "slim.sif", "store"  # beside the slim file system


@dataclass(frozen=True)
class ImageTarget(RootFolder):
    """The image at `location`; `root` is the folder with its file system."""

    location: str
    unpacked: Unpacked
    gets_byte_code: ClassVar[bool] = True

    @classmethod
    def of(cls, workload: Workload) -> Self:
        """Return the image in the workload's `target.location`; raises as `unpacked_image` does."""
        return cls.at(workload.target.location or "")

    @classmethod
    def at(cls, location: str) -> Self:
        """Return the image at `location`.

        Raises UserError if its programs cannot run here, and as `unpacked_image` does.
        """
        unpacked = unpacked_image(location)
        found = unpacked.image.config.platform()
        if found.architecture not in _RUN_HERE:
            raise UserError(
                f"{location}: is for {found}; expected an image for linux/amd64, as its programs"
                " are run and traced here"
            )
        return cls(unpacked.root, location, unpacked)

    def describe(self) -> Environment:
        """Return the kind, and the image's archive or folder as location."""
        return Environment(self.kind(), os.path.abspath(self.unpacked.image.path))

    @cached_property
    def _tree(self) -> FileTree:
        return super().tree()

    def tree(self, copy: Path | None = None) -> FileTree:
        """Return the image's content, as programs inside see it; its folder does not change."""
        return self._tree

    def removal(
        self,
        usages: Sequence[Usage],
        workloads: Sequence[Workload],
        options: Debloat,
        *,
        settles: bool = False,
    ) -> Removal:
        """Return the kept and removed files; volumes and the image's working folder stay."""
        inside = [in_its_root(workload) for workload in workloads]
        return super().removal(usages, inside, options, settles=settles)

    def also_kept(self, workloads: Sequence[Workload]) -> set[str]:
        """Return the working folders of `workloads` and of the image, its volumes, the files of its
        health check, and for a SIF the files that Apptainer needs.
        """
        image = self.unpacked.image
        run = image.config.run()
        checked = named_by_health_check(self.tree(), run) if run.health_check else ()
        kept = {*super().also_kept(workloads), run.working_folder, *run.volumes, *checked}
        return kept | (paths_of_apptainer(merged_view(image)) if is_sif(image.path) else set())

    def program(self, workload: Workload, run_folder: Path, slim: Path | None = None) -> Program:
        """Return `workload` as it runs in the image's file system, or in the slim one at `slim`.

        A slim one built with a store uses the store beside it.
        """
        program = super().program(in_its_root(workload), run_folder, slim)
        if slim is None:
            return program
        place = absolute(slim).parent
        store, built = place / STORE, place / "environment.json"
        # While runs settle, the original is used, and the store is not yet complete.
        if (
            not store.is_dir()
            or not built.exists()
            or BuiltEnvironment.read(built).source != "store"
        ):
            return program
        environment = {**program.environment, "TRIMTAB_STORE": str(store)}
        return replace(program.seeing(store), environment=environment)

    def build_file_system(
        self, debloated: Path, share: Share, source: Source, destination: Path, *, again: bool
    ) -> None:
        """Make `destination` the slim file system, as RootFolder.build does."""
        super().build(debloated, share, source, destination, again=again)

    def check_place(self, destination: Path) -> None:
        """Raise UserError if results at `destination` would overwrite the image."""
        super().check_place(destination)
        places = {os.path.realpath(destination.parent / name) for name in (SLIM_IMAGE, SLIM_SIF)}
        if os.path.realpath(self.unpacked.image.path) in places:
            raise UserError(
                f"{self.location}: the slim image would take the place of the original; move it,"
                " or choose another folder for the results"
            )

    def build(
        self,
        debloated: Path,
        share: Share,
        source: Source,
        destination: Path,
        *,
        again: bool = False,
    ) -> None:
        """Make `destination` the slim file system and, if it does not need the original, write the
        image `debloated`/slim.tar, with byte code where the original has none; for a SIF
        `debloated`/slim.sif too.

        Raises as RootFolder.build does, and ImageError if the image was changed since.
        """
        self.check_place(debloated / destination.name)
        for name in (SLIM_IMAGE, SLIM_SIF):
            (debloated / name).unlink(missing_ok=True)
        self.build_file_system(debloated, share, source, destination, again=again)
        gone = [f"/{path}" for path in replaced_paths(debloated)]
        if gone or source.kind != Fallback.ORIGINAL:
            place = debloated / "environment.json"
            built = BuiltEnvironment.read(place)
            more_bytes = add_byte_code(self.root, destination, gone)
            built.model_copy(update={"after_bytes": built.after_bytes + more_bytes}).write(place)
        if source.kind != Fallback.ORIGINAL:
            files = Manifest.read(debloated / "manifest.json").files
            compression = Compression(options_of(debloated).compression)
            archive = debloated / SLIM_IMAGE
            pack(self.unpacked, destination, set(files), archive, compression)
            if is_sif(original := self.unpacked.image.path):
                sif, slim = Sif.open(original), open_image(archive)
                write_sif(sif, slim, debloated / SLIM_SIF, compression)
