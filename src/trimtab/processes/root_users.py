"""The users of a root, by its own `/etc/passwd` and `/etc/group`."""

from pathlib import PurePath

from trimtab.errors import UserError
from trimtab.processes.as_user import User
from trimtab.processes.root import RootFileSystem
from trimtab.untrusted import UntrustedFileError, read_untrusted

_MOST_BYTES = 1 << 22
_LARGEST_NUMBER = (1 << 32) - 2  # the next number means no user


def user_in(root: RootFileSystem, text: str) -> User:
    """Return the user that `text`, NAME, UID, NAME:GROUP or UID:GID, names in `root`.

    As in container engines: a number without an entry has group 0; unless `text` has a group,
    groups that list the user are added. Raises UserError for an unknown name.
    """
    name, colon, group = text.partition(":")
    passwd = _entries(root, "/etc/passwd", 7)
    entry = _of(passwd, name)
    number = entry[2] if entry else name
    own_group, home, known = (entry[3], entry[5], entry[0]) if entry else ("0", "/", "")
    groups = _entries(root, "/etc/group", 4)
    if colon:
        found = _of(groups, group)
        own_group = found[2] if found else group
    others = [each[2] for each in groups if known in each[3].split(",")] if known else []
    numbers = [number, own_group, *([] if colon else others)]
    if not all(map(_is_number, numbers)):
        raise UserError(
            f"user: {text}: there is no such user or group in {root.folder}/etc/passwd and"
            " /etc/group; give numbers, UID:GID"
        )
    uid, gid, *more = map(int, numbers)
    return User(known or name, uid, gid, tuple(dict.fromkeys(more)), home or "/")


def _of(entries: list[list[str]], name: str) -> list[str] | None:
    """Return the entry with a name, or otherwise a number."""
    for place in (0, 2):
        for entry in entries:
            if entry[place] == name:
                return entry
    return None


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= 10 and int(text) <= _LARGEST_NUMBER


def _entries(root: RootFileSystem, path: str, words: int) -> list[list[str]]:
    found = root.find(PurePath(path))
    if found is None:
        return []
    try:
        text = read_untrusted(found, _MOST_BYTES).decode(errors="surrogateescape")
    except UntrustedFileError as error:
        raise UserError(f"{path} of {root.folder}: {error}") from None
    entries = [line.split(":") for line in text.splitlines()]
    return [entry for entry in entries if len(entry) >= words]
