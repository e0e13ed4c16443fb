"""Find the removed files that a run in the slim environment looked for."""

from collections.abc import Container

from trimtab.debloating.files.tree import FileTree
from trimtab.profiling.tracing.files import FileTrace


def missed_files(trace: FileTrace, tree: FileTree, removed: Container[str]) -> list[str]:
    """Return the `removed` paths that a followed run looked for and did not find.

    `tree` is the original's, as programs of the slim environment see it. The profiled runs looked
    for none of them, as all files that they looked for stay.
    """
    missed = set()
    for use in trace.files:
        if "missing" in use.uses:
            walk = tree.walk(use.path)
            missed |= {path.removeprefix("/") for path in (*walk.passed, walk.end) if path}
    return sorted(path for path in missed if path in removed)
