"""The files of an environment that are removed: all outside the closure of the used files."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from posixpath import basename as name_of
from typing import Any, Self

from trimtab.config.groups.debloat import Debloat, Fallback, PackageDatabase
from trimtab.config.groups.workload import Workload
from trimtab.config.stages import DebloatStage, load
from trimtab.debloating.files.chosen.groups import executed_in, groups_of, paths_of_groups
from trimtab.debloating.files.chosen.patterns import paths_matching
from trimtab.debloating.files.closure import Kept, kept_paths
from trimtab.debloating.files.closure_rules import KeepReason
from trimtab.debloating.files.lookups import all_are_heard
from trimtab.debloating.files.removed_files import CountedFile, FileSelection, selection
from trimtab.debloating.files.tree import FileTree
from trimtab.debloating.images.byte_code import is_interpreter
from trimtab.errors import UserError
from trimtab.files import read_limited
from trimtab.images.node import FileType
from trimtab.records.manifest import RemovedFiles
from trimtab.records.parquet.files import read_table
from trimtab.records.tables import FILES
from trimtab.records.usage import Usage
from trimtab.records.values import escaped, unescaped

_ORDER = list(KeepReason)
_TYPES = {FileType.FILE: "file", FileType.FOLDER: "folder", FileType.LINK: "link"}  # else: other
REPLACED = "byte code is in its place"  # why a used source is removed
_MOST_BYTES = 1 << 24  # of a stage.json
# Search paths for programs and libraries: folders separated by colons.
_SEARCHED = ("PATH", "LD_LIBRARY_PATH")


@dataclass(frozen=True)
class Removal:
    """The kept and removed paths of the tree of an environment.

    `executed` are its programs that ran. With `started_by_init` the file fallback library does not
    intercept all their system calls: trimtab-init has to start all programs.
    """

    tree: FileTree
    kept: Kept
    executed: frozenset[str]
    started_by_init: bool = False

    @classmethod
    def of(
        cls,
        tree: FileTree,
        usages: Sequence[Usage],
        also: Iterable[str],
        workloads: Sequence[Workload],
        options: Debloat,
        *,
        compiles: bool = False,
    ) -> Self:
        """Return what must stay so that all of `usages`, of `workloads`, run as before.

        `also` are further paths that stay, as programs see them, as do those that `options` name.
        With `compiles`, if exactly one Python ran, it compiles modules without byte code. Raises
        UserError if a usage has no run or does not list all files, and for a pattern without a
        match.
        """
        for usage in usages:
            if not usage.command:
                raise UserError(
                    "remove: files: no program was traced, so that it is not known which files it"
                    " uses; give the program, or take remove: code (--remove code)"
                )
            if not usage.files_complete:
                raise UserError(
                    f"remove: files: usage.json of workload {usage.workload} lists"
                    f" {len(usage.files):,} files that were used, and not all; profile it again, on"
                    " less data where these are files of data, or take"
                    " remove: libraries (--remove libraries)"
                )
        executed = executed_in(tree, usages)
        chosen = set(also)
        for pattern in options.keep_paths:
            chosen |= paths_matching(tree, pattern)
        if options.keep:
            chosen.update(paths_of_groups(tree, set(options.keep), executed))
        comes_back = options.fallback != Fallback.NONE
        heard = not tree.is_whole or (
            not any(usage.own_calls for usage in usages) and all_are_heard(tree, executed)
        )
        kept = kept_paths(
            tree,
            [usage.files for usage in usages],
            chosen,
            _searched(workloads),
            comes_back=comes_back and heard,
            databases=options.package_database == PackageDatabase.KEEP,
            compiles=compiles and len(set(filter(is_interpreter, map(name_of, executed)))) == 1,
        )
        return cls(tree, kept, executed, started_by_init=comes_back and not heard)

    @cached_property
    def selection(self) -> FileSelection:
        """The regular files, each with its package, kind and size."""
        return selection(self.tree, self.kept)

    def goes(self, name: str) -> bool:
        """Return whether the path `name` is removed; false if it does not exist."""
        return f"/{name}" in self.tree.nodes and f"/{name}" not in self.kept

    def totals(self) -> RemovedFiles:
        """Return the numbers and bytes of the kept and removed files, each counted once."""
        chosen = self.selection
        return RemovedFiles(
            kept_files=chosen.kept_files,
            kept_bytes=chosen.kept_bytes,
            removed_files=chosen.removed_files,
            removed_bytes=chosen.removed_bytes,
        )

    def rows(self, target: str, hardware: str) -> list[dict[str, Any]]:
        """Return a row of FILES for each path but the top, sorted by path."""
        chosen = self.selection
        files = {file.path: file for file in (*chosen.kept, *chosen.removed)}
        groups = groups_of(files.values(), self.executed)
        return [
            {
                "target": target,
                "hardware": hardware,
                "path": escaped(path.removeprefix("/")),
                "type": _TYPES.get(node.kind, "other"),
                **_of_file(files.get(path)),
                "group": groups.get(path, ""),
                "kept": path in self.kept,
                "reason": min(self.kept.reasons[path], key=_ORDER.index)
                if path in self.kept
                else REPLACED * (path in self.kept.replaced),
            }
            for path, node in sorted(self.tree.nodes.items())
            if path != "/"
        ]


def packages_that_stay(debloated: Path) -> set[str]:
    """Return the packages, such as `dpkg:libc6`, that keep a file by files.parquet there.

    The byte code of a module counts too.
    """
    table = read_table(debloated / "files.parquet", FILES)
    is_there = table["kept"] | (table["reason"] == REPLACED)
    stays = table[is_there & (table["type"] == _TYPES[FileType.FILE])]
    return set(map(unescaped, stays["package"])) - {""}


def options_of(debloated: Path) -> Debloat:
    """Return the options in stage.json in the folder `debloated`."""
    path = debloated / "stage.json"
    return load(read_limited(path, _MOST_BYTES), DebloatStage, str(path)).debloat


def removed_paths(debloated: Path) -> set[str]:
    """Return the removed paths of files.parquet in the folder `debloated`."""
    table = read_table(debloated / "files.parquet", FILES)
    return set(map(unescaped, table["path"][~table["kept"]]))


def replaced_paths(debloated: Path) -> set[str]:
    """Return the removed sources of files.parquet there that byte code replaces.

    They are paths in the environment; each run looks them up.
    """
    if not (debloated / "files.parquet").exists():
        return set()
    table = read_table(debloated / "files.parquet", FILES)
    return set(map(unescaped, table["path"][table["reason"] == REPLACED]))


def _of_file(file: CountedFile | None) -> dict[str, Any]:
    if file is None:
        return {"package": "", "kind": "", "size_bytes": 0, "counts": False}
    return {
        "package": escaped(file.package),
        "kind": file.kind.value,
        "size_bytes": file.size_bytes,
        "counts": file.counts,
    }


def _searched(workloads: Sequence[Workload]) -> dict[str, str]:
    """Return the search paths that the workloads set for programs and libraries."""
    given = {name: [workload.env.get(name, "") for workload in workloads] for name in _SEARCHED}
    return {name: ":".join(filter(None, places)) for name, places in given.items() if any(places)}
