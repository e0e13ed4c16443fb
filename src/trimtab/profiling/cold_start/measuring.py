"""Measure two images in turn, each from its pull to the first output of a program in it."""

import os
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self

from trimtab.config.groups.workload import Workload
from trimtab.errors import UserError
from trimtab.files import remove_tree
from trimtab.images.archives.image import Image
from trimtab.images.archives.opening import open_image
from trimtab.images.compression import Compression
from trimtab.images.extracting import extract
from trimtab.images.merging import merged_view
from trimtab.images.view import View
from trimtab.images.writing.repacking import repack
from trimtab.processes.program import Program
from trimtab.processes.root import RootFileSystem
from trimtab.profiling.cold_start import page_cache
from trimtab.profiling.cold_start.lazy_pull import needed_files
from trimtab.profiling.cold_start.pulling import paced_bytes_per_s, pull, registry, transfer_s
from trimtab.profiling.cold_start.starting import first_output_s, to_first_output
from trimtab.profiling.cold_start.taking_apart import take_apart
from trimtab.profiling.images.image_workload import in_root_of
from trimtab.profiling.images.unpacked import image_at, image_cache
from trimtab.profiling.runs.from_workload import program_in
from trimtab.records.images.cold_start import (
    ColdRound,
    ColdSide,
    ColdStart,
    NeededFiles,
    StartParts,
)

_FAILS_WITHIN_S = 1.0  # after its first output; then it is killed
OnRound = Callable[[str, int, ColdRound], None]  # the image, the round from 0 on, its times


@dataclass(frozen=True)
class Conditions:
    """The conditions for measuring both images.

    `first_output` is a regular expression of the line that ends a start; see `to_first_output`.
    `store` is a folder with removed pieces of the images, if any. With `drop_caches` the whole
    machine's caches are emptied before each start, which takes root.
    """

    gbit_per_s: float = 1.0
    compression: Compression = Compression.GZIP
    rounds: int = 5
    first_output: str | None = None
    store: Path | None = None
    drop_caches: bool = False


def measure_cold_starts(
    before: str,
    after: str,
    workload: Workload,
    conditions: Conditions,
    on_round: OnRound | None = None,
) -> ColdStart:
    """Measure the images at `before` and `after`, with `workload` as the program in both.

    A round pulls, unpacks and starts both, in alternating order. Its files are in `image_cache()`,
    which has to be on a disk. Raises UserError, TrimtabError and OSError as the steps do.
    """
    paced_bytes_per_s(conditions.gbit_per_s)  # reports an invalid bandwidth before the compression
    if conditions.store is not None and not conditions.store.is_dir():
        raise UserError(f"store: {conditions.store}: no such folder; expected a slim image's store")
    folder = image_cache()
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with TemporaryDirectory(prefix="start-", dir=folder) as place:
        sides = [
            _Side.of(name, location, workload, conditions, Path(place))
            for name, location in (("before", before), ("after", after))
        ]
        rounds: dict[str, list[ColdRound]] = {side.name: [] for side in sides}
        for number in range(conditions.rounds):
            for side in sides if number % 2 == 0 else reversed(sides):
                took = side.round(number, is_last=number == conditions.rounds - 1)
                rounds[side.name].append(took)
                if on_round is not None:
                    on_round(side.location, number, took)
        documents = [side.document(rounds[side.name]) for side in sides]
    return ColdStart(
        command=list(workload.command),
        gbit_per_s=conditions.gbit_per_s,
        compression=conditions.compression.value,
        emptied="machine" if conditions.drop_caches else "files",
        processors=len(os.sched_getaffinity(0)),
        before=documents[0],
        after=documents[1],
    )


@dataclass
class _Side:
    """An image: `layout` is the registry's copy, `view` the file system of its layers."""

    name: str
    location: str
    image: Image
    view: View
    layout: Path
    workload: Workload
    conditions: Conditions
    parts: StartParts | None = None
    needed: NeededFiles | None = None

    @classmethod
    def of(
        cls, name: str, location: str, workload: Workload, conditions: Conditions, place: Path
    ) -> Self:
        image = image_at(location)
        view = merged_view(image)
        layout = place / name
        repack(image, layout, conditions.compression)
        return cls(name, location, image, view, layout, workload, conditions)

    def round(self, number: int, *, is_last: bool) -> ColdRound:
        """Pull, unpack and start once; the first round also checks that the program does not fail.

        The last round also measures the parts of the start.
        """
        pulled, root = (self.layout.with_suffix(f".{word}") for word in ("pulled", "root"))
        try:
            with registry(self.layout, self.conditions.gbit_per_s) as (host, port):
                pull_s = _timed(lambda: pull(host, port, pulled))
            image = open_image(pulled)
            unpack_s = _timed(lambda: extract(image, self.view, root))
            program = self._program(root)
            files = list(page_cache.files_below(root))
            stem = self.layout.with_suffix(".log")
            self._empty(files)
            start_s = first_output_s(program, stem)
            if is_last:
                self.needed = needed_files(files, self.conditions.compression)
            self._empty(files)
            patience_s = 0.0 if number else _FAILS_WITHIN_S
            start_one_core_s = first_output_s(
                replace(program, cpus=1), stem, may_end_within_s=patience_s
            )
            if is_last:
                self.parts = take_apart(program, stem, lambda: self._empty(files))
        finally:
            shutil.rmtree(pulled, ignore_errors=True)
            remove_tree(root)
        return ColdRound(pull_s, unpack_s, start_s, start_one_core_s)

    def _program(self, root: Path) -> Program:
        workload = in_root_of(self.workload, self.image, root)
        program = program_in(RootFileSystem(root), workload, self.layout.with_suffix(".run"))
        if (store := self.conditions.store) is not None:
            environment = {**program.environment, "TRIMTAB_STORE": str(store)}
            program = replace(program.seeing(store), environment=environment)
        return to_first_output(program, self.conditions.first_output)

    def _empty(self, files: Sequence[Path]) -> None:
        if self.conditions.drop_caches:
            page_cache.drop_caches()
        page_cache.evict(files)

    def document(self, rounds: list[ColdRound]) -> ColdSide:
        assert self.parts is not None and self.needed is not None  # set by the last round
        compressed_bytes = sum(
            layer.region.size_bytes
            for layer in {layer.diff_id: layer for layer in open_image(self.layout).layers}.values()
        )
        return ColdSide(
            name=self.location,
            compressed_bytes=compressed_bytes,
            transfer_s=transfer_s(compressed_bytes, self.conditions.gbit_per_s),
            rounds=rounds,
            parts=self.parts,
            needed=self.needed,
        )


def _timed(step: Callable[[], object]) -> float:
    began_s = time.perf_counter()
    step()
    return time.perf_counter() - began_s
