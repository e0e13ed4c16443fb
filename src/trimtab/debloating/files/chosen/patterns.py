"""Paths that are named by patterns, as shells and `.gitignore` have them."""

import re

from trimtab.debloating.files.tree import FileTree
from trimtab.errors import UserError
from trimtab.images.node import FileType

_TOKEN = re.compile(r"\*\*/|/\*\*\Z|\*+|\?|\[!?\]?[^\]]*\]|.", re.DOTALL)


def compiled(pattern: str) -> re.Pattern[str]:
    """Return what matches the whole paths that `pattern` means.

    `*`, `?` and `[...]` stand for characters other than `/`; `**` as a whole component for any
    number of components. Raises re.error for a range that is none.
    """
    return re.compile("".join(map(_translated, _TOKEN.findall(pattern))), re.DOTALL)


def _translated(token: str) -> str:
    if token == "**/":
        return "(?:.*/)?"
    if token == "/**":
        return "/.*"
    if token[0] == "*":
        return "[^/]*"
    if token == "?":
        return "[^/]"
    if token[0] == "[" and len(token) > 1:
        negated = token[1] == "!"
        # What `re` may give a meaning in a set, now or later.
        members = re.sub(r"[\\\[&~|]|(?<=-)-", r"\\\g<0>", token[1 + negated : -1])
        return f"(?!/)[{'^' if negated else ''}{members.replace('^', chr(92) + '^')}]"
    return re.escape(token)


def paths_matching(tree: FileTree, pattern: str, key: str = "keep_paths") -> set[str]:
    """Return the paths of `tree`, as programs see them, that `pattern` matches.

    One that is not absolute begins at the top. Of a folder that it matches all that is below
    belongs to it. Raises UserError, which names the `key`, for a pattern that is none, or that
    nothing matches.
    """
    try:
        matches = compiled(pattern.rstrip("/")).fullmatch
    except re.error as error:
        raise UserError(f"{key}: {pattern!r} given, expected a pattern ({error})") from None
    found = set()
    for path, node in tree.nodes.items():
        spellings = [path[1:], *((top + path).rstrip("/") for top in tree.tops)]
        if any(map(matches, spellings)):
            found.add(path)
            if node.kind is FileType.FOLDER:
                found.update(tree.below(path))
    if not found:
        raise UserError(
            f"{key}: {pattern!r} given, expected a path or pattern of the environment, such as"
            f" '{tree.seen('/srv')}/**'; it has nothing of this name"
        )
    return {tree.seen(path) for path in found}
