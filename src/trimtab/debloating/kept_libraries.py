"""The libraries that the user names to be left unchanged."""

import os
from collections.abc import Iterable
from pathlib import Path

from trimtab.debloating.files.chosen.patterns import paths_matching
from trimtab.debloating.targets.base import Target
from trimtab.images.node import FileType


def left_alone(target: Target, patterns: Iterable[str]) -> dict[str, str]:
    """Return the files that the patterns `keep_libraries` match, by their paths in the target.

    The values are the real paths by which programs know them. Raises UserError for an invalid
    pattern or one without a match.
    """
    given = list(patterns)
    if not given:
        return {}
    tree = target.tree()
    matching = {path for each in given for path in paths_matching(tree, each, "keep_libraries")}
    found = {}
    for seen in matching:
        path = tree.inside(seen) or seen
        if (file := tree.file_at(seen)) is not None:
            found[file.removeprefix("/")] = tree.seen(file)
        elif tree.nodes[path].kind is FileType.LINK and not tree.is_whole:
            # Some installers link a package's files into their cache.
            outside = Path(os.path.realpath(f"{target.root}{path}"))
            if outside.is_file():
                found[path.removeprefix("/")] = str(outside)
    return found
