"""Marks folders as workspaces, whose content trimtab may replace and remove."""

from pathlib import Path

from trimtab.cli.documents import TracedProgram
from trimtab.errors import TrimtabError, UserError
from trimtab.files import atomic_write

MARK = "workspace.txt"
_TEXT = (
    "A workspace of trimtab, which replaces and removes what is in this folder.\n"
    "Keep nothing else here.\n"
)
_OF_FILE_SYSTEMS = "lost+found"


def claim(folder: Path) -> None:
    """Make `folder` a workspace; it is created if missing.

    Raises UserError where it holds files of others: common names such as `runs` or `env` would be
    overwritten. Hidden files are ignored.
    """
    if (folder / MARK).is_file():
        return
    folder.mkdir(parents=True, exist_ok=True)
    others = sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))
    for name in others:
        if name != _OF_FILE_SYSTEMS and not _was_traced_in(folder):
            raise UserError(
                f"{folder}: no workspace of trimtab, but a folder with other files, as {name};"
                " trimtab replaces and removes what is in its workspace: name a new folder with"
                " --workspace"
            )
    with atomic_write(folder / MARK) as temporary:
        temporary.write_text(_TEXT)


def _was_traced_in(folder: Path) -> bool:
    """Whether it is a workspace of an earlier trimtab, without a mark."""
    try:
        TracedProgram.read(folder / "workload.json")
    except (TrimtabError, OSError):
        return False
    return True
