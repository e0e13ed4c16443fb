"""The files that an image's health check needs: engines run it, so no profiled run saw it.

Format: `Healthcheck` of a config, in Docker's image specification (v1.2).
"""

import posixpath
import re
from collections.abc import Iterator

from trimtab.debloating.files.tree import FileTree
from trimtab.debloating.images.unserved import starts_unserved
from trimtab.images.archives.image import RunConfig
from trimtab.processes.root import ENGINES_PATH
from trimtab.profiling.images.health_checks import words_of

# A shell ends words at these characters; a path may follow `=`.
_WORD = re.compile(r"[^\s\x00-\x1f;&|<>(){}`$\"'=]+")
# Limits far above any real health check.
_MOST_WORDS, _MOST_FOLDERS = 1000, 100


def named_by_health_check(tree: FileTree, run: RunConfig) -> set[str]:
    """Return the files of an image's file system `tree` that its health check names.

    They are absolute paths, as programs see them: the shell, and for each word of the command or
    shell script the existing paths in PATH and from the working folder.
    """
    words = dict.fromkeys(word for text in words_of(run) for word in _WORD.findall(text))
    search = run.variables.get("PATH", ENGINES_PATH).split(":")[:_MOST_FOLDERS]
    return {
        path
        for word in list(words)[:_MOST_WORDS]
        for path in _places(word, search, run.working_folder)
        if tree.file_at(path) is not None
    }


def is_unserved(tree: FileTree, run: RunConfig) -> bool:
    """Return whether the health check is a program of `tree` that loads no fallback library."""
    for word in words_of(run)[:1]:
        places = [""] if "/" in word else run.variables.get("PATH", ENGINES_PATH).split(":")
        for place in places[:_MOST_FOLDERS]:
            path = posixpath.join("/", run.working_folder, place, word)
            if tree.file_at(path) is not None:
                return starts_unserved(tree, path)
    return False


def _places(word: str, search: list[str], working_folder: str) -> Iterator[str]:
    """Yield the paths that a word may mean: from the working folder; without a slash, by PATH."""
    for folder in ["", *([] if "/" in word else search)]:
        yield posixpath.join("/", working_folder, folder, word)
