"""Paths given by patterns, with the syntax of shells and `.gitignore`."""

import re

from trimtab.debloating.files.tree import FileTree
from trimtab.errors import UserError
from trimtab.images.node import FileType

_TOKEN = re.compile(r"\*\*/|/\*\*\Z|\*+|\?|\[!?\]?[^\]]*\]|.", re.DOTALL)


def compiled(pattern: str) -> re.Pattern[str]:
    """Return a regular expression for the whole paths that `pattern` means.

    `*`, `?` and `[...]` stand for characters other than `/`; `**` as a whole component for any
    number of components. Raises re.error for an invalid range.
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
        # Characters that `re` interprets in a set, now or in later versions.
        members = re.sub(r"[\\\[&~|]|(?<=-)-", r"\\\g<0>", token[1 + negated : -1])
        return f"(?!/)[{'^' if negated else ''}{members.replace('^', chr(92) + '^')}]"
    return re.escape(token)


def paths_matching(tree: FileTree, pattern: str, key: str = "keep_paths") -> set[str]:
    """Return the paths of `tree`, as programs see them, that `pattern` matches.

    A relative pattern begins at the top. A matched folder includes all that is below it. Raises
    UserError, which names the `key`, for an invalid pattern or one without a match.
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
        folders = (path for path, node in tree.nodes.items() if node.kind is FileType.FOLDER)
        example = tree.seen(min((path for path in folders if path != "/"), default=""))
        raise UserError(
            f"{key}: {pattern!r} given, expected a path or pattern of the environment, such as"
            f" '{example}/**'; it has nothing of this name"
        )
    return {tree.seen(path) for path in found}
