"""Results that no `dvc.lock` records yet: they are kept until one does.

`dvc exp run` begins by making the workspace what the lock says, and deletes what it does not know.
So what a Snakemake run leaves in a checkout with DVC, however it ends, gets second names (hard
links: no space), and DVC's stage begins by giving back what has gone.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from trimtab.files import new_folder_beside, remove_tree, replace_folder

_KEPT = Path(".snakemake/unrecorded")
_RESULTS, _METADATA = Path("results"), Path(".snakemake/metadata")
# As in .dvcignore: DVC neither records nor deletes these.
_NOT_RECORDED = {"env", "failure", "runs", "verification", "searches"}
_IN_ORDER = b"."


def keep_unrecorded() -> None:
    """Keep the results as they are now; does nothing where there is no DVC."""
    if not _has_dvc():
        return
    new = new_folder_beside(_KEPT)
    try:
        for path in _files():
            (new / path).parent.mkdir(parents=True, exist_ok=True)
            with suppress(FileNotFoundError):  # of a run that was killed jobs may be ending still
                if path.is_relative_to(_METADATA):  # Snakemake writes into its own files
                    shutil.copy2(path, new / path)
                else:
                    os.link(path, new / path)
        replace_folder(new, _KEPT)
    except BaseException:
        remove_tree(new)
        raise


def keep_when_killed() -> Callable[[], None]:
    """Have the results kept also where this process is killed; until what is returned is called.

    A process waits for that, which ends when this one does.
    """
    if not _has_dvc():
        return lambda: None
    watched, alive = os.pipe()  # the end that is written to is closed with this process
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
    """Give back every kept file that is not in its place any more."""
    for kept in sorted(path for path in _KEPT.rglob("*") if path.is_file()):
        place = kept.relative_to(_KEPT)
        if not place.exists() or not place.samefile(kept):
            place.parent.mkdir(parents=True, exist_ok=True)
            place.unlink(missing_ok=True)
            shutil.copy2(kept, place)


def forget() -> None:
    """Keep nothing: what there is has been recorded."""
    remove_tree(_KEPT)


def _has_dvc() -> bool:
    return Path(".dvc").is_dir()


def _files() -> Iterator[Path]:
    for top in (_RESULTS, _METADATA):
        for folder, inner, names in os.walk(top):
            inner[:] = [name for name in inner if name not in _NOT_RECORDED]
            yield from (Path(folder, name) for name in names)
