"""Debloat the shared libraries and files of a target for a set of workloads."""

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pandas as pd

from trimtab.config.groups.debloat import Fallback, Remove
from trimtab.config.stages import DebloatStage, dump
from trimtab.debloating.copies.compressed_size import COMPRESSION, compressed_bytes
from trimtab.debloating.copies.layout import EnvironmentLayout
from trimtab.debloating.fallback import Source
from trimtab.debloating.files.file_fallback import store_removed_files
from trimtab.debloating.files.unread import other_files
from trimtab.debloating.gpu.gpu_code import gpu_scope_of
from trimtab.debloating.kept_libraries import left_alone
from trimtab.debloating.libraries.profiled import unloaded_libraries, with_digests
from trimtab.debloating.misses import learned_files, learned_misses, with_misses
from trimtab.debloating.module_archive.writing import byte_code_read
from trimtab.debloating.outcome import (
    files_of,
    gpus_of,
    modules_made_at_run_time,
    rows_of,
    saturation_of_workloads,
    unloaded_of,
    used_code,
)
from trimtab.debloating.removal import Removal
from trimtab.debloating.slimming import OnProgress, Slimming
from trimtab.debloating.targets.registry import target_of
from trimtab.disk_use import disk_bytes
from trimtab.errors import TrimtabError, UserError
from trimtab.files import atomic_write, remove_tree
from trimtab.native import survive_truncation
from trimtab.records.built_environment import CompressedEnvironment
from trimtab.records.manifest import Manifest, OtherFiles, Timings
from trimtab.records.misses.removed_calls import RemovedCall
from trimtab.records.misses.settling import Settling
from trimtab.records.parquet.files import write_table
from trimtab.records.tables import FILES, LIBRARIES
from trimtab.records.usage import Usage, UsedFile
from trimtab.records.used import ByteCodeRead


def complete_usages(paths: Sequence[Path]) -> list[Usage]:
    """Return the usages in `paths`; raises UserError if one is incomplete."""
    usages = [Usage.read(path) for path in paths]
    for path, usage in zip(paths, usages, strict=True):
        if not usage.complete:
            reasons = "; ".join(usage.incomplete_because)
            raise UserError(f"{path}: incomplete, so nothing is removed: {reasons}")
    return usages


def _found_earlier(settling: Path) -> set[str]:
    """Return the libraries that an earlier settling found to check their own files."""
    with suppress(OSError, TrimtabError):  # never settled, or by another version
        return set(Settling.read(settling).left_alone)
    return set()


def debloat_target(
    stage: DebloatStage,
    usages: Sequence[Path],
    destination: Path,
    on_progress: OnProgress = lambda name, done, total: None,
) -> None:
    """Write a target's slim libraries, and what was done to each, into `destination`.

    `usages` are the usage.json of the stage's workloads. Uses Debloating once.
    """
    with Debloating(stage, usages, destination, libraries_stay=True) as debloating:
        debloating.write(on_progress)


class Debloating:
    """The slim libraries of a target; a context in which they can be rewritten with more code.

    They keep the code in `usages`, the usage.json of the stage's workloads, and in `learned.json`
    in the folder `destination`. At the end their folder there is removed, as built environments
    have them, unless `libraries_stay`; after an error always. `built` is an earlier environment of
    this target. With `settles` the slim environment is run, and the code and files that it misses
    are kept (debloating.settling). Raises UserError for an incomplete usage, or if the workloads
    have different environments.
    """

    def __init__(
        self,
        stage: DebloatStage,
        usages: Sequence[Path],
        destination: Path,
        *,
        libraries_stay: bool = False,
        built: Path | None = None,
        settles: bool = False,
    ) -> None:
        survive_truncation()
        self.stage, self.destination, self._libraries_stay = stage, destination, libraries_stay
        self.target = target_of(stage.target, stage.workloads)
        self._settles = settles
        self._profiled = complete_usages(usages)
        self._missed_files: set[str] = set()  # as programs see them
        self._usages = list(self._profiled)
        self._removal: Removal | None = None
        self._used = list(self._usages)
        learned, root = destination / "learned.json", self.target.root
        if stage.debloat.remove == Remove.FILES:
            self.keep_files(learned_files(learned, root))
        self._misses = learned_misses(learned, root)
        self._gpu = gpu_scope_of(stage.debloat, self._usages, stage.gpus)
        self._libraries, self._spans = destination / "libraries", destination / "spans"
        self._slimming = Slimming(stage.debloat, self._gpu, self._libraries, self._spans)
        self.slimmed: list[str] = []  # libraries that lost bytes in the last write
        self._written = self._written_files = False
        self._other_files: dict[str, OtherFiles] = {}
        self._original_bytes: int | None = None  # compressed, None until weighed
        self._built = {built}
        self._delivered = True  # as far as known of an earlier build
        self.self_checking = _found_earlier(destination / "settling.json")
        self._left_alone = set(left_alone(self.target, stage.debloat.keep_libraries))
        self._left_alone |= self.self_checking
        self._unloaded = self._find_unloaded()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is not None or not self._libraries_stay:
            remove_tree(self._libraries)

    def _find_unloaded(self) -> dict[str, int]:
        """Return the bytes on disk of each library that no run loaded.

        Libraries that are to lose their code are added as one more usage that used nothing.
        Libraries that are removed as files are not.
        """
        root = self.target.root.resolve()
        libraries = unloaded_libraries(root, self._usages)
        by_name = {str(Path(library.path).relative_to(root)): library for library in libraries}
        if self.stage.debloat.removes_unloaded:
            removed = [
                library
                for name, library in by_name.items()
                if not self._goes(name)
                and name not in self._left_alone
                and self.target.may_remove_unloaded(name)
            ]
            usage = Usage(
                workload="unloaded", command=[], complete=True, libraries=with_digests(removed)
            )
            self._usages.append(usage)
        return {name: disk_bytes(Path(root, name).stat()) for name in by_name}

    def _closed(self) -> Removal:
        return self.target.removal(
            self._used, self.stage.workloads, self.stage.debloat, settles=self._settles
        )

    def _goes(self, name: str) -> bool:
        return self._removal is not None and self._removal.goes(name)

    def leave_alone(self, names: Iterable[str]) -> None:
        """Leave libraries, by their paths in the target, unchanged: they check their own files."""
        self.self_checking.update(names)
        self._left_alone |= self.self_checking

    def keep(self, misses: Sequence[RemovedCall]) -> None:
        """Keep `misses` in the next write."""
        self._misses += misses

    def stays(self) -> set[str]:
        """Return the paths of the target's tree that stay; all paths if no file is removed."""
        return set(self.target.tree().nodes if self._removal is None else self._removal.kept)

    def keep_files(self, names: Iterable[str]) -> None:
        """Keep removed files, by their path in the target, and all that they depend on."""
        if names := sorted(names):
            tree = self.target.tree()
            paths = [tree.seen(f"/{name}") for name in names]
            self._missed_files.update(paths)
            missed = Usage(
                workload="missed", command=["missed"], complete=True, files_complete=True,
                files=[UsedFile(path, None, ["execute", "read"]) for path in paths],
            )  # fmt: skip
            self._used.append(missed)
        self._removal = self._closed()
        self._written_files = False

    def write(self, on_progress: OnProgress = lambda name, done, total: None) -> None:
        """Write the slim libraries; later calls rewrite those whose used code changed.

        `libraries/` holds the slim libraries by their path in the target, `libraries.parquet` a row
        of LIBRARIES for each loaded one. `files.parquet` has a row of FILES for each path if files
        are removed, `spans/` what was kept and why, `used.json` the used functions and kernels,
        `byte_code.json` the byte code that runs read.
        `manifest.json` has sizes and digests, `stage.json` the configuration. Raises UserError if
        no library was loaded and no file is removed, or if a library was changed since it was
        profiled.
        """
        stage, options = self.stage, self.stage.debloat
        usages = with_misses(self._usages, self.target.root, self._misses)
        libraries = [
            replace(
                library,
                loaded=library.name not in self._unloaded,
                left_alone=library.left_alone or library.name in self._left_alone,
            )
            for library in self.target.libraries(usages)
        ]
        if self._removal is None and not any(library.loaded for library in libraries):
            root = self.target.root
            raise UserError(
                f"target {stage.target}: no shared library of {root} was loaded; take remove: files"
                " (--remove files)"
            )
        if not self._written:
            for folder in (self._libraries, self._spans):  # of an earlier run
                remove_tree(folder)
                folder.mkdir(parents=True)  # the rule expects both, even if empty
        self._written, self._delivered = True, False
        if not self._written_files:
            self._write_files({library.name for library in libraries})
        slim = self._slimming.rewrite(libraries, on_progress)
        self.slimmed = sorted(one.profiled.name for one in slim if one.located.spans.removed_bytes)
        rows = rows_of(slim, stage.target, stage.hardware)
        table = pd.DataFrame(rows, columns=LIBRARIES.names)
        write_table(self.destination / "libraries.parquet", LIBRARIES, table)
        used_code(slim).write(self.destination / "used.json")
        byte_code = byte_code_read(self._profiled)
        ByteCodeRead(paths=[path for path in byte_code if path not in self._missed_files]).write(
            self.destination / "byte_code.json"
        )
        with atomic_write(self.destination / "stage.json") as temporary:
            temporary.write_text(dump(stage) + "\n")
        Manifest(
            target=stage.target,
            hardware=stage.hardware,
            workloads=[workload.name for workload in stage.workloads],
            environment=self.target.describe(),
            mode=options.mode.value,
            symbols=options.symbols.value,
            gpus=gpus_of(self._gpu, usages),
            gpu_code_kept_because=self._gpu.why_all,
            modules_made_at_run_time=modules_made_at_run_time(self._gpu, slim),
            timings=Timings(
                sum(usage.trace_s for usage in usages),
                self._slimming.locate_s,
                self._slimming.rewrite_s,
            ),
            files=files_of(slim),
            unloaded=unloaded_of(self._unloaded, slim, self._goes),
            removed_files=None if self._removal is None else self._removal.totals(),
            other_files=self._other_files,
            started_by_init=self._removal is not None and self._removal.started_by_init,
            saturation=saturation_of_workloads(self._profiled),
        ).write(self.destination / "manifest.json")

    def _write_files(self, libraries: set[str]) -> None:
        rows = []
        if self._removal is not None:
            rows = self._removal.rows(self.stage.target, self.stage.hardware)
        table = pd.DataFrame(rows, columns=FILES.names)
        write_table(self.destination / "files.parquet", FILES, table)
        libraries = libraries | self._unloaded.keys()
        self._other_files = other_files(self.target.layout(), self._profiled, libraries, self._goes)
        self._written_files = True

    def build(self, environment: Path, source: Source | None = None) -> None:
        """Make `environment` the slim environment with the libraries of the last write.

        `source` replaces the stage's fallback.
        """
        options = self.stage.debloat
        delivered = Source.of(options)
        source = source or delivered
        again = environment in self._built
        self.target.build(self.destination, options.share, source, environment, again=again)
        self._built.add(environment)
        self._delivered = source == delivered

    @contextmanager
    def beside_runs(self) -> Iterator[None]:
        """Weigh the original and store the removed files, if a store is used, during the block.

        Runs that nobody times leave processors idle; `weigh` and `deliver` then find the work done.
        Files that are kept later are stored too, which does no harm.
        """
        source, removal = Source.of(self.stage.debloat), self._removal
        with ThreadPoolExecutor(1) as beside:
            tasks: list[Future[Any]] = []
            if removal is not None and source.kind == Fallback.STORE and source.store is not None:
                tree, root, kept = removal.tree, self.target.root, removal.kept
                removed = [path for path in tree.nodes if path not in kept]
                stored = beside.submit(store_removed_files, root, tree, removed, source.store)
                tasks.append(stored)
            tasks.append(beside.submit(self._weigh_original))
            yield
            for task in tasks:
                task.result()

    def _weigh_original(self) -> int:
        if self._original_bytes is None:
            self._original_bytes = compressed_bytes(self.target.layout())
        return self._original_bytes

    def deliver(self, environment: Path) -> None:
        """Build `environment` as the stage asks, unless the last build was just that.

        It has the libraries of the last write and the stage's fallback.
        """
        if not self._delivered:
            self.build(environment)

    def weigh(self, environment: Path) -> None:
        """Write `compressed.json`: compressed sizes of the target and its slim `environment`."""
        CompressedEnvironment(
            target=self.stage.target,
            compression=COMPRESSION,
            before_bytes=self._weigh_original(),
            after_bytes=compressed_bytes(EnvironmentLayout.of_root(environment)),
        ).write(self.destination / "compressed.json")
