"""Results that no `dvc.lock` records yet: they are kept until one does.

`dvc exp run` begins by making the workspace what the lock says, and deletes what it does not know.
So what a Snakemake run leaves in a checkout with DVC gets second names (hard links: no space), and
DVC's stage begins by giving back what has gone.
"""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from trimtab.files import new_folder_beside, remove_tree, replace_folder

_KEPT = Path(".snakemake/unrecorded")
_RESULTS, _METADATA = Path("results"), Path(".snakemake/metadata")
# As in .dvcignore: DVC neither records nor deletes these.
_NOT_RECORDED = {"env", "failure", "runs", "verification", "searches"}


def keep_unrecorded() -> None:
    """Keep the results as they are now; does nothing in DVC's stage, nor where there is no DVC."""
    if "DVC_STAGE" in os.environ or not Path(".dvc").is_dir():
        return
    new = new_folder_beside(_KEPT)
    try:
        for path in _files():
            (new / path).parent.mkdir(parents=True, exist_ok=True)
            if path.is_relative_to(_METADATA):  # Snakemake writes into its own files
                shutil.copy2(path, new / path)
            else:
                os.link(path, new / path)
        replace_folder(new, _KEPT)
    except BaseException:
        remove_tree(new)
        raise


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


def _files() -> Iterator[Path]:
    for top in (_RESULTS, _METADATA):
        for folder, inner, names in os.walk(top):
            inner[:] = [name for name in inner if name not in _NOT_RECORDED]
            yield from (Path(folder, name) for name in names)
