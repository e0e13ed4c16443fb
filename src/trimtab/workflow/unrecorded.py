"""Keeps results until a `dvc.lock` records them.

`dvc exp run` begins by resetting the workspace to the lock, and deletes unknown files. So, in a
checkout with DVC, the results of a Snakemake run get hard links, however it ends. DVC's stage
begins by restoring deleted ones.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from trimtab.files import new_folder_beside, remove_tree, replace_folder
from trimtab.workflow.damaged import remove_damaged_environments

_KEPT = Path(".snakemake/unrecorded")
_RESULTS, _METADATA = Path("results"), Path(".snakemake/metadata")
# As in .dvcignore: DVC neither records nor deletes them.
_NOT_RECORDED = {"env", "failure", "runs", "verification", "searches"}
_IN_ORDER = b"."


def keep_unrecorded() -> None:
    """Keep the present results; does nothing without DVC."""
    if not _has_dvc():
        return
    new = new_folder_beside(_KEPT)
    try:
        for path in _files():
            (new / path).parent.mkdir(parents=True, exist_ok=True)
            with suppress(FileNotFoundError):  # jobs of a killed run may still be ending
                if path.is_relative_to(_METADATA):  # Snakemake modifies its own files in place
                    shutil.copy2(path, new / path)
                else:
                    os.link(path, new / path)
        replace_folder(new, _KEPT)
    except BaseException:
        remove_tree(new)
        raise


def keep_when_killed() -> Callable[[], None]:
    """Keep the results also if this process is killed, until the returned function is called.

    A second process waits for the end of this one.
    """
    if not _has_dvc():
        return lambda: None
    watched, alive = os.pipe()  # the write end is closed with this process
    program = f"from {__name__} import _keep_after; _keep_after({watched})"
    process = subprocess.Popen(
        [sys.executable, "-c", program], pass_fds=[watched], start_new_session=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    os.close(watched)

    def no_more() -> None:
        with suppress(BrokenPipeError):
            os.write(alive, _IN_ORDER)
        os.close(alive)
        process.wait()

    return no_more


def _keep_after(watched: int) -> None:
    if os.read(watched, 1) != _IN_ORDER:
        keep_unrecorded()


def put_back() -> None:
    """Restore every kept file that is missing or replaced; remove environments DVC has damaged."""
    remove_damaged_environments()
    for kept in sorted(path for path in _KEPT.rglob("*") if path.is_file()):
        place = kept.relative_to(_KEPT)
        if not place.exists() or not place.samefile(kept):
            place.parent.mkdir(parents=True, exist_ok=True)
            place.unlink(missing_ok=True)
            shutil.copy2(kept, place)


def forget() -> None:
    """Drop all kept files: the results are recorded."""
    remove_tree(_KEPT)


def _has_dvc() -> bool:
    return Path(".dvc").is_dir()


def _files() -> Iterator[Path]:
    for top in (_RESULTS, _METADATA):
        for folder, inner, names in os.walk(top):
            inner[:] = [name for name in inner if name not in _NOT_RECORDED]
            yield from (Path(folder, name) for name in names)
