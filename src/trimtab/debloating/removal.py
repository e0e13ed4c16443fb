"""Which files of an environment go: those outside the closure of what the traced runs used."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from trimtab.config.groups.workload import Workload
from trimtab.debloating.files.closure import Kept, kept_paths
from trimtab.debloating.files.keeping import Reason
from trimtab.debloating.files.removed_files import CountedFile, Selection, selection
from trimtab.debloating.files.tree import Tree
from trimtab.errors import UserError
from trimtab.records.manifest import RemovedFiles
from trimtab.records.tables import FILES, read_table
from trimtab.records.usage import Usage
from trimtab.records.values import escaped, unescaped

_ORDER = list(Reason)
# Where programs and libraries are looked for: folders between colons.
_SEARCHED = ("PATH", "LD_LIBRARY_PATH")


@dataclass(frozen=True)
class Removal:
    """What stays and what goes of the tree of an environment."""

    tree: Tree
    kept: Kept

    @classmethod
    def of(
        cls,
        tree: Tree,
        usages: Sequence[Usage],
        also: Iterable[str],
        workloads: Sequence[Workload],
        *,
        comes_back: bool,
    ) -> Self:
        """Return what stays so that all of `usages`, of `workloads`, run as they did.

        `also` are further paths, as programs see them, that stay; `comes_back` says whether what
        goes comes back to who asks for it. Raises UserError where a usage is of no run, or does not
        list all files.
        """
        for usage in usages:
            if not usage.command:
                raise UserError(
                    "files: remove: no program was traced, so that it is not known which files it"
                    " uses; give the program, or take files: keep"
                )
            if not usage.files_complete:
                raise UserError(
                    f"files: remove: usage.json of workload {usage.workload} lists"
                    f" {len(usage.files):,} files that were used, and not all; profile it again, on"
                    " less data where these are files of data, or take files: keep"
                )
        files, searched = [usage.files for usage in usages], _searched(workloads)
        return cls(tree, kept_paths(tree, files, also, searched, comes_back=comes_back))

    @cached_property
    def selection(self) -> Selection:
        """Its regular files, each with its package, kind and size."""
        return selection(self.tree, self.kept)

    def goes(self, name: str) -> bool:
        """Return whether the path `name` of the environment goes; what is not there does not."""
        return f"/{name}" in self.tree.nodes and f"/{name}" not in self.kept

    def totals(self) -> RemovedFiles:
        """Return the numbers and bytes of the files that stay and go, each once."""
        chosen = self.selection
        return RemovedFiles(
            kept_files=chosen.kept_files,
            kept_bytes=chosen.kept_bytes,
            removed_files=chosen.removed_files,
            removed_bytes=chosen.removed_bytes,
        )

    def rows(self, target: str, hardware: str) -> list[dict[str, Any]]:
        """Return a row of FILES for each path but the top, by path."""
        chosen = self.selection
        files = {file.path: file for file in (*chosen.kept, *chosen.removed)}
        return [
            {
                "target": target,
                "hardware": hardware,
                "path": escaped(path.removeprefix("/")),
                "type": node.kind.value,
                **_of_file(files.get(path)),
                "kept": path in self.kept,
                "reason": min(self.kept.reasons[path], key=_ORDER.index)
                if path in self.kept
                else "",
            }
            for path, node in sorted(self.tree.nodes.items())
            if path != "/"
        ]


def removed_paths(debloated: Path) -> set[str]:
    """Return what goes by files.parquet in the folder `debloated`: paths in the environment."""
    table = read_table(debloated / "files.parquet", FILES)
    return set(map(unescaped, table["path"][~table["kept"]]))


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
    """Return where any of the workloads looks for programs and libraries, as it was told."""
    given = {name: [workload.env.get(name, "") for workload in workloads] for name in _SEARCHED}
    return {name: ":".join(filter(None, places)) for name, places in given.items() if any(places)}
