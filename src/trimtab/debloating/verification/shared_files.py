"""Check that files shared by the slim environment and the original are unchanged."""

from pathlib import Path

from trimtab.debloating.verification.library_origins import and_more, file_of
from trimtab.errors import UserError
from trimtab.records.built_environment import BuiltEnvironment


def check_linked(record: Path, original: Path, slim: Path) -> None:
    """Raise UserError if a shared file was written to since `record` was made.

    A file that was replaced in one environment is no longer shared, and unchanged in the other.
    """
    if not record.exists():
        return  # nothing is shared
    changed = []
    for name, then in BuiltEnvironment.read(record).linked.items():
        paths = original / name, slim / name
        if not all(path.is_file() for path in paths) or file_of(paths[0]) != file_of(paths[1]):
            continue
        now = paths[0].stat()
        if (now.st_size, now.st_mtime_ns) != (then.size_bytes, then.modified_ns):
            changed.append(name)
    if changed:
        raise UserError(
            f"{original / changed[0]}{and_more(len(changed) - 1)}: written to since the slim"
            " environment was built, and one file with it there (share: auto); install what it"
            " belongs to anew, and debloat again; with share: copy nothing is in common"
        )
