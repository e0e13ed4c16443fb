"""What other ways of choosing files make of the same image, and whether that starts.

`opened` is what Cimplifier does (Rastogi et al., 2017): system calls are followed by strace inside
the container, and the files stay that were opened or executed, with the links on the way. `traced`
are all files that our own traced runs used in any way, without the rules of the closure; `files`
are those of the closure where nothing comes back, with libraries as they were. Nothing brings
anything back in these three.
"""

import re
import shutil
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from cases import Case
from commands import CommandError, docker, run
from running import Runs

from trimtab.debloating.files.closure import kept_paths
from trimtab.debloating.files.folder_tree import root_tree
from trimtab.debloating.files.tree import FileTree, parents
from trimtab.debloating.images.view_tree import view_tree
from trimtab.images.archives.opening import open_image
from trimtab.images.compression import Compression
from trimtab.images.merging import merged_view
from trimtab.images.weighing import weigh
from trimtab.images.writing.image import write_image
from trimtab.records.usage import Usage

_TOOL = "/strace"  # where the container has strace and its libraries
_OPENED = re.compile(r"^\d+ +(?:openat?2?|creat)\(.*\) = \d+<(/[^>]*)>")
_NAMED = re.compile(r'^\d+ +(?:execve|openat?2?)\((?:AT_FDCWD<[^>]*>, )?"(/[^"]*)".*\) = \d')


def side_by_side(
    address: str,
    case: Case,
    image: str,
    expected: dict[bool, str],
    folder: Path,
) -> dict[str, Any]:
    """Return sizes and runs of each way; in `folder` is what `trimtab image slim` left."""
    archive = folder / "original.tar"
    docker(address, "save", "--output", str(archive), image)
    original = open_image(archive)
    view = merged_view(original)
    tree = view_tree(original, view)
    used = Usage.read(folder / "ws/usage.json").files
    [root] = (folder / "cache/trimtab/images").glob("*/root")
    closed = kept_paths(root_tree(root), [used], [case.volume] if case.volume else [])
    chosen: dict[str, set[str]] = {
        "opened": _with_ways(tree, _opened(address, case, image, folder)),
        "traced": _with_ways(tree, (str(use.path) for use in used)),
        "files": set(closed) - {"/"},
    }
    found = {}
    runs = Runs(address, case)
    for method, paths in chosen.items():
        name, slim = f"{image.rpartition(':')[0]}:{method}", folder / f"{method}.tar"
        write_image(original, view, slim, name=name, compression=Compression.GZIP, kept=paths)
        docker(address, "load", "--input", str(slim))
        weight = weigh(open_image(slim), Compression.ZSTD)
        found[method] = {
            "layer_bytes": weight.uncompressed_bytes,
            "compressed_bytes": weight.compressed_bytes,
            "traced": runs.verdict(name, expected[False]),
        }
        if True in expected:
            found[method]["held_out"] = runs.verdict(name, expected[True], True)
        docker(address, "rmi", name)
        slim.unlink()
    archive.unlink()
    return found


def _with_ways(tree: FileTree, seen: Iterable[str]) -> set[str]:
    """Return what paths lead to, with the links on the way and the folders above."""
    kept = {"/"}
    for path in seen:
        walk = tree.walk(path)
        if walk.end is not None:
            for passed in (*walk.passed, walk.end):
                kept |= {passed, *parents(passed)}
    return kept - {"/"}


def _opened(address: str, case: Case, image: str, folder: Path) -> set[str]:
    """Return the paths that strace, inside a container, sees opened and executed."""
    tool, log = folder / "strace", folder / "log"
    tool.mkdir()
    log.mkdir(mode=0o777)
    log.chmod(0o777)
    strace = shutil.which("strace")
    if strace is None:
        raise CommandError(127, "strace: not installed")
    for line in run(["ldd", strace]).splitlines():
        if match := re.search(r"(/\S+) \(0x", line):
            shutil.copy(match[1], tool)
    shutil.copy(strace, tool / "strace")
    linker = f"{_TOOL}/ld-linux-x86-64.so.2"
    traced = [linker, "--library-path", _TOOL, f"{_TOOL}/strace", "-f", "-y", "-s", "4096"]
    traced += ["-e", "trace=execve,open,openat,openat2,creat", "-o", "/log/strace", *case.command]
    volumes = ("--volume", f"{tool}:{_TOOL}:ro", "--volume", f"{log}:/log")
    Runs(address, replace(case, command=tuple(traced))).output(image, False, *volumes)
    paths = set()
    for line in (log / "strace").read_text(errors="surrogateescape").splitlines():
        for pattern in (_OPENED, _NAMED):
            if match := pattern.match(line):
                paths.add(match[1])
    return paths
