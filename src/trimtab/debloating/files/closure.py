"""Which paths of a tree a slim copy keeps: the closure of the used ones under all rules.

Rules only add paths that exist in the original, and depend only on the original and on one path
that stays. So more profiled runs keep more paths, a missing path stays missing, and the closure of
a closure is itself.
"""

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from trimtab.debloating.files.closure_rules import (
    ClosureInput,
    Dependency,
    KeepReason,
    KeptPath,
    Rule,
)
from trimtab.debloating.files.lookups import may_be_stood_for, only_looks, only_reads
from trimtab.debloating.files.rules.listing import listed
from trimtab.debloating.files.rules.programs import interpreter_of_script, loaded_by_program
from trimtab.debloating.files.rules.python_packages import (
    byte_code,
    conda_record_of,
    distribution_of,
    is_compiled,
    package_of,
    source_of,
    start_of_python,
)
from trimtab.debloating.files.rules.regions import (
    certificates_for,
    locale_of,
    terminals_for,
    time_zone,
)
from trimtab.debloating.files.rules.system import (
    identity,
    linker_configuration,
    loaded_by_c_library,
    mount_points,
    package_databases,
    users,
)
from trimtab.debloating.files.tree import FileTree, parents
from trimtab.images.node import FileType

_RUN = frozenset({"execute", "map_execute"})
# For these reasons, a module with byte code needs its source only for look-ups.
_OF_MODULES = frozenset({KeepReason.PACKAGE, KeepReason.BYTE_CODE, KeepReason.START})
# For these the path's folders and links stay even if the target is missing: programs looked there.
# Rules only guess.
_LEAD_TO_NOTHING = frozenset({KeepReason.USED, KeepReason.ASKED, KeepReason.LINK})


class PathUse(Protocol):
    """A path that a traced run used: a FileUse of a trace, or a UsedFile of usage.json."""

    @property
    def path(self) -> str:
        """The absolute path, its links unresolved."""

    @property
    def real_path(self) -> str | None:
        """The path with its links resolved."""

    @property
    def uses(self) -> Collection[str]:
        """How the path was used."""


@dataclass
class Kept:
    """The paths that stay, each with its reasons and, for each reason, the path that first gave it.

    That path is "" where the reason came from outside. `replaced` are used sources of Python
    modules that are removed, as byte code replaces them.
    """

    reasons: dict[str, dict[KeepReason, str]] = field(default_factory=dict)
    replaced: set[str] = field(default_factory=set)

    def __contains__(self, path: object) -> bool:
        return path in self.reasons

    def __iter__(self) -> Iterator[str]:
        return iter(self.reasons)


def _link(root: ClosureInput, found: KeptPath) -> Iterator[Dependency]:
    """Keep the target of a link, and all links on the way."""
    if found.node.kind is FileType.LINK:
        yield Dependency(root.tree.seen(found.path), KeepReason.LINK, found.runs)


_RULES: tuple[Rule, ...] = (
    _link,
    listed,
    interpreter_of_script,
    loaded_by_program,
    linker_configuration,
    loaded_by_c_library,
    users,
    identity,
    mount_points,
    locale_of,
    terminals_for,
    certificates_for,
    time_zone,
    package_databases,
    start_of_python,
    package_of,
    distribution_of,
    conda_record_of,
    byte_code,
)


def kept_paths(
    tree: FileTree,
    traces: Iterable[Iterable[PathUse]],
    also: Iterable[str] = (),
    environment: Mapping[str, str] | None = None,
    *,
    comes_back: bool = False,
    databases: bool = True,
    compiles: bool = False,
) -> Kept:
    """Return the paths of `tree` that must stay so that all of `traces` run as before.

    `also` are further absolute paths, as programs see them, that stay as if they were run: an
    image's entrypoint, working folder and volumes. `environment` has an image's PATH and
    LD_LIBRARY_PATH. Paths outside the tree are ignored. With `comes_back` removed files are
    restored for every program that asks for them. With `databases` the package data that scanners
    read stays with the packages' files. With `compiles` modules without byte code are compiled.
    Raises OSError for an unreadable file.
    """
    root = ClosureInput(tree, environment or {}, comes_back, databases, compiles)
    closure = _Closure(root)
    closure.walk(Dependency(tree.seen("/"), KeepReason.PARENT), "")
    for uses in traces:
        for use in uses:
            closure.used(use)
    for path in also:
        closure.walk(Dependency(path, KeepReason.ASKED, runs=True), "")
    closure.close()
    return closure.kept


class _Closure:
    """The paths that stay so far, and those that no rule has seen yet."""

    def __init__(self, root: ClosureInput) -> None:
        self.root = root
        self.kept = Kept()
        self._uses: dict[str, set[str]] = {}
        self._run: set[str] = set()
        self._waiting: deque[str] = deque()

    def used(self, use: PathUse) -> None:
        """Keep a path that a traced run used; for a missing path, keep its existing folders."""
        if set(use.uses) == {"missing"}:
            walk = self.root.tree.walk(use.path)
            for path in walk.passed if walk.end is None else parents(walk.end):
                self._ask(path, KeepReason.USED, "", runs=False)
            return
        runs = not _RUN.isdisjoint(use.uses)
        looked_at = only_looks(use.uses) or self._is_replaced(use)
        for path in {use.path, use.real_path or use.path}:
            end = self.walk(Dependency(path, KeepReason.USED, runs), "", looked_at)
            if end is not None:
                self._uses.setdefault(end, set()).update(use.uses)

    def _is_replaced(self, use: PathUse) -> bool:
        """Return whether the use is of a source that byte code replaces; note that it may go.

        A source whose byte code was read may go too. In a target that is not a whole root, Python
        starts before files can be restored.
        """
        root, tree = self.root, self.root.tree
        if not (root.comes_back and tree.is_whole) or only_looks(use.uses):
            return False
        end = tree.file_at(use.real_path or use.path)
        if end is None or not only_reads(use.uses):
            return False
        compiles = root.compiles and end.endswith(".py") and not is_compiled(tree, end)
        source = end if compiles else source_of(end)
        node = None if source is None else tree.nodes.get(source)
        if source is None or node is None or not may_be_stood_for(root, node):
            return False
        self.kept.replaced.add(source)
        self._waiting.append(source)  # rules see it, and keep what its byte code needs
        return source == end

    def walk(self, wanted: Dependency, because: str, looked_at: bool = False) -> str | None:
        """Keep a path's target and all links and folders on the way; return the target.

        A file that is only looked up may be removed if the fallback answers look-ups; the way to it
        stays.
        """
        walk = self.root.tree.walk(wanted.path)
        is_there = walk.end is not None or walk.leaves
        if not is_there and wanted.reason not in _LEAD_TO_NOTHING:
            return None
        for passed in walk.passed:
            if passed != because:
                self._ask(passed, wanted.reason, because, runs=False)
        end = walk.end
        looked_at |= wanted.reason in _OF_MODULES and end in self.kept.replaced
        if end and looked_at and may_be_stood_for(self.root, self.root.tree.nodes[end]):
            end = next(parents(end))
        if end is not None:
            self._ask(end, wanted.reason, because, runs=wanted.runs)
        return end

    def _ask(self, path: str, reason: KeepReason, because: str, *, runs: bool) -> None:
        reasons = self.kept.reasons.setdefault(path, {})
        if not reasons or (runs and path not in self._run):
            self._waiting.append(path)
        reasons.setdefault(reason, because)
        if runs:
            self._run.add(path)
        below = path
        for parent in parents(path):
            reasons = self.kept.reasons.setdefault(parent, {})
            if not reasons:
                self._waiting.append(parent)
            if KeepReason.PARENT in reasons:
                break
            reasons[KeepReason.PARENT] = below
            below = parent

    def close(self) -> None:
        """Apply every rule to every path that stays, until no rule adds a path."""
        while self._waiting:
            path = self._waiting.popleft()
            uses = frozenset(self._uses.get(path, ()))
            found = KeptPath(path, self.root.tree.nodes[path], uses, path in self._run)
            for rule in _RULES:
                for wanted in rule(self.root, found):
                    by_link = wanted.reason is KeepReason.LINK and not wanted.runs
                    self.walk(wanted, path, looked_at=by_link)
        self.kept.replaced -= self.kept.reasons.keys()
