"""Files that Python looks for beside a module: its package, its byte code, its metadata."""

import posixpath
import re
from bisect import bisect_left
from collections.abc import Iterator

from trimtab.debloating.files.closure_rules import ClosureInput, Dependency, KeepReason, KeptPath
from trimtab.debloating.files.lookups import only_looks
from trimtab.debloating.files.tree import FileTree, joined
from trimtab.images.node import FileType

_INIT = re.compile(r"__init__\.(?:pyc?|cpython-\w+(?:-[\w-]+)?\.so|abi3\.so)\Z")
_BYTE_CODE = re.compile(r"(?P<module>.+)\.(?:cpython|pypy)-?\d+t?(?:\.opt-\w+)?\.pyc\Z")
# Files that importlib.metadata and pip read; licences are not among them.
_METADATA = (
    *("METADATA", "PKG-INFO", "RECORD", "WHEEL", "INSTALLER", "REQUESTED", "direct_url.json"),
    *("entry_points.txt", "top_level.txt", "namespace_packages.txt", "requires.txt"),
    "installed-files.txt",
)
# Those of them that tell a scanner no package, version or file.
_NOT_FOR_SCANNERS = ("entry_points.txt", "top_level.txt", "namespace_packages.txt")


_CODECS = re.compile(r"/lib(?:32|64)?/python3[\d.]*t?/encodings\Z")
# An interpreter finds its own installation by these; it looks them up and opens neither.
_LANDMARKS = ("os.py", "lib-dynload")
# Modules that Python imports at its start by options (-W, -X dev, -m), or for an error message.
_BY_OPTION = (
    *("warnings", "traceback", "linecache", "tokenize", "token", "textwrap", "contextlib", "re"),
    *("sre_compile", "sre_constants", "sre_parse", "enum", "functools", "operator", "keyword"),
    *("types", "copyreg", "collections", "_collections_abc", "reprlib", "string", "locale"),
    *("runpy", "pkgutil", "inspect", "ast", "dis", "opcode", "heapq", "__future__", "bisect"),
)


def start_of_python(root: ClosureInput, found: KeptPath) -> Iterator[Dependency]:
    """Keep files of a Python installation that its start may need before files can be restored.

    These are the landmarks of the installation, codecs for other locales, and modules for warnings
    and error messages. In a whole root with a fallback, files are restored from the first
    instruction on. Every start uses codecs; of other modules the interpreter has had its own copies
    since Python 3.11.
    """
    seen = root.tree.seen(found.path)
    if not _CODECS.search(seen) or (root.comes_back and root.tree.is_whole):
        return
    library = posixpath.dirname(seen)
    for name in _LANDMARKS:
        yield Dependency(f"{library}/{name}", KeepReason.START)
    for module in _BY_OPTION:
        yield Dependency(f"{library}/{module}.py", KeepReason.START)
    for package in ("encodings", *_BY_OPTION):
        for name in root.tree.names.get(root.tree.inside(f"{library}/{package}") or "", ()):
            if name.endswith(".py"):
                yield Dependency(f"{library}/{package}/{name}", KeepReason.START)


def package_of(root: ClosureInput, found: KeptPath) -> Iterator[Dependency]:
    """Keep a package's `__init__`: without it, the folder would be a namespace package."""
    for name in root.tree.names.get(found.path, ()):
        if _INIT.match(name):
            yield Dependency(root.tree.seen(joined(found.path, name)), KeepReason.PACKAGE)


def source_of(path: str) -> str | None:
    """Return the path of the source of the byte code at `path`; None if it is no byte code."""
    folder, name = posixpath.split(path)
    match = _BYTE_CODE.match(name)
    if match is None or posixpath.basename(folder) != "__pycache__":
        return None
    return joined(posixpath.dirname(folder), f"{match['module']}.py")


def is_compiled(tree: FileTree, source: str) -> bool:
    """Return whether the tree has byte code of a source, for any version."""
    folder, name = posixpath.split(source)
    names = tree.names.get(joined(folder, "__pycache__"), [])
    return any(each.endswith(".pyc") for each in _starting_with(name.removesuffix("py"), names))


def byte_code(root: ClosureInput, found: KeptPath) -> Iterator[Dependency]:
    """Keep the byte code of a source that stays, and its source, without which Python ignores it.

    An import opens the byte code. So where files are restored, a used source keeps its byte code
    only if the byte code was opened too, and byte code that was only looked up needs no source.
    """
    is_source = found.name.endswith(".py")
    if root.comes_back and found.uses and (is_source or only_looks(found.uses)):
        return
    folder, name = posixpath.split(found.path)
    if (source := source_of(found.path)) is not None:
        yield Dependency(root.tree.seen(source), KeepReason.BYTE_CODE)
    elif is_source:
        cache = joined(folder, "__pycache__")
        stem = name.removesuffix("py")
        for each in _starting_with(stem, root.tree.names.get(cache, [])):
            match = _BYTE_CODE.match(each)
            if match and f"{match['module']}." == stem and ".opt-" not in each:
                yield Dependency(root.tree.seen(joined(cache, each)), KeepReason.BYTE_CODE)


def _starting_with(start: str, names: list[str]) -> Iterator[str]:
    """Yield the sorted names that begin with `start`, by bisection."""
    for place in range(bisect_left(names, start), len(names)):
        if not names[place].startswith(start):
            return
        yield names[place]


def distribution_of(root: ClosureInput, found: KeptPath) -> Iterator[Dependency]:
    """Keep the metadata of a distribution of which a file stays.

    Metadata that were read keep nothing else: a search for entry points reads all metadata.
    """
    metadata = root.distributions.metadata_of.get(found.path)
    if metadata is None or found.path == metadata or found.path.startswith(f"{metadata}/"):
        return
    if root.keeps_databases or root.tree.nodes[metadata].kind is FileType.FOLDER:
        yield Dependency(root.tree.seen(metadata), KeepReason.METADATA)
    for name in _METADATA if root.keeps_databases else _NOT_FOR_SCANNERS:
        yield Dependency(root.tree.seen(joined(metadata, name)), KeepReason.METADATA)


def conda_record_of(root: ClosureInput, found: KeptPath) -> Iterator[Dependency]:
    """Keep conda's record of a package of which a file stays, for scanners."""
    if not root.keeps_databases or not found.is_file:
        return
    if (record := root.conda_records.get(found.path)) is not None:
        yield Dependency(root.tree.seen(record), KeepReason.DATABASE)
