"""Keep the files that a program saw when it listed a folder."""

import re
from collections.abc import Iterator

from trimtab.debloating.files.closure_rules import ClosureInput, Dependency, KeepReason, KeptPath
from trimtab.debloating.files.lookups import may_be_stood_for
from trimtab.debloating.files.tree import FileTree, joined
from trimtab.images.node import FileType

_PYTHON = re.compile(r"/lib(?:32|64)?/python3[\d.]*t?(?:/|\Z)")
_MODULE = re.compile(r"\.(?:pyc?|cpython-\w+(?:-[\w-]+)?\.so|abi3\.so)\Z")
_OF_MODULES = re.compile(r"\.(?:dist-info|egg-info)\Z")
_FOR_BUILDING = re.compile(r"\.(?:so|pyi|pxd|pyx|c|cc|cpp|h|hpp|cuh|pth|egg-link)\Z")


def is_of_import(tree: FileTree, folder: str) -> bool:
    """Whether Python's import system lists a folder: it has modules of an installation.

    It also lists a user's own folders, but another program may have listed these.
    """
    return _PYTHON.search(tree.seen(folder)) is not None and any(
        _MODULE.search(name) or _OF_MODULES.search(name) for name in tree.names.get(folder, ())
    )


def listed(root: ClosureInput, found: KeptPath) -> Iterator[Dependency]:
    """Keep the content of a listed folder, but not the content of its subfolders.

    Files with a stand-in are listed in any case. In folders of Python's import system, modules that
    nobody imported are not kept, as no import asks for them. Nor are subfolders, as an empty one
    would pass for a package; data files are.
    """
    if "list" not in found.uses:
        return
    import_system = is_of_import(root.tree, found.path)
    for name in root.tree.names.get(found.path, ()):
        path = joined(found.path, name)
        if may_be_stood_for(root, root.tree.nodes[path]):
            continue
        if import_system and (
            root.tree.nodes[path].kind is FileType.FOLDER
            or _MODULE.search(name)
            or _FOR_BUILDING.search(name)
        ):
            continue
        yield Dependency(root.tree.seen(path), KeepReason.LISTED)
