"""Files that name their environment name the copy: scripts, import paths, URLs."""

import json
import os
import re
import stat
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from urllib.parse import quote

from trimtab.debloating.copies.directory_handle import DirectoryHandle

_SCRIPT_BYTES = 1 << 20
_FIRST_LINE_BYTES = 127  # as much of a script as Linux before 5.1 reads
# The characters before and after a path; any other, also a non-ASCII byte, may be part of a longer
# component. So may an escaped space and a character after a backslash.
_BEFORE = rb"(?:^|(?<=[\n\r\t\"'`=:;,(\[{<>|&!])|(?<=(?<!\\) ))"
_AFTER = rb"(?=$|[/\s\"'`=:;,)\]}<>|&]|\\[nrt\"'])"
_IN_URL = rb"(?:(?<=file://)|(?<=file://localhost))"
_AFTER_IN_URL = rb"(?=$|[/\s\"'`;,)\]}<>|&#?]|\\[nrt\"'])"
_A_WORD = rb"(?<=[= ])%b(?=$|[\r\n;])"  # of a shell's script, unquoted

Spelling = Callable[[bytes], bytes]


def rename_in(
    copy: DirectoryHandle, patterns: Iterable[str], olds: Collection[Path], new: Path
) -> None:
    """Replace `olds` by `new` in the files of `copy` that match a pattern.

    `olds` are paths of one environment that still exists. Scripts (`#!ENV/bin/python`, or
    `VIRTUAL_ENV=ENV` in `activate`), texts, JSON and URLs each have their own spelling.
    """
    texts, documents = Renaming(olds, new), Renaming(olds, new, in_json=True)
    for pattern in patterns:
        for path in copy.matching(pattern):
            with copy.folder(path.parent) as folder:
                status = folder.status(path.name)
                if stat.S_ISREG(status.st_mode) and status.st_size <= _SCRIPT_BYTES:
                    before = folder.read(path.name)
                    after = (documents if path.suffix == ".json" else texts)(before)
                    if after != before:  # a new file: the old one may be shared
                        mode = stat.S_IMODE(status.st_mode)
                        folder.write(path.name, _startable(after, bytes(new)), mode)


def names_any(path: Path, olds: Collection[Path]) -> bool:
    """Return whether `rename_in` would change the file `path`, as it names one of `olds`."""
    status = path.lstat()
    if not stat.S_ISREG(status.st_mode) or status.st_size > _SCRIPT_BYTES:
        return False
    before = path.read_bytes()
    return Renaming(olds, Path("/"), in_json=path.suffix == ".json")(before) != before


class Renaming:
    """Replaces `olds` in a text by `new`: whole paths, and paths below them.

    A folder beside it with a longer name, such as `env (old)`, is another folder.
    """

    def __init__(self, olds: Collection[Path], new: Path, *, in_json: bool = False) -> None:
        self._found: list[tuple[re.Pattern[bytes], bytes]] = []
        longest = sorted(map(bytes, olds), key=len, reverse=True)
        first, second = (_in_json, _in_ascii) if in_json else (_plain, _in_shell)
        spellings: list[tuple[Spelling, ...]] = [(first,), (second,)]
        if [first(old) for old in longest] == [second(old) for old in longest]:
            spellings = [(first, second)]  # may differ for the names beside it
        for alike in [(_in_url,), *spellings]:
            spelling = alike[0]
            paths = [re.escape(spelling(old)) + _no_longer(old, alike) for old in longest]
            any_path = b"(?:" + b"|".join(paths) + b")"
            patterns: list[tuple[bytes, Spelling]]
            if spelling is _in_url:
                patterns = [(_IN_URL + any_path + _AFTER_IN_URL, spelling)]
            else:
                patterns = [(_BEFORE + any_path + _AFTER, spelling)]
            if spelling is _plain:
                patterns.insert(0, (_A_WORD % any_path, _in_shell))
            self._found += [(re.compile(each), how(bytes(new))) for each, how in patterns]

    def __call__(self, text: bytes) -> bytes:
        """Return `text` renamed; data with a zero byte is not text and stays."""
        if b"\0" in text:
            return text
        for pattern, new in self._found:
            text = pattern.sub(lambda _, new=new: new, text)  # type: ignore[misc]
        return text


def _no_longer(old: bytes, spellings: Iterable[Spelling]) -> bytes:
    """Return a pattern that rejects folders beside `old` whose names begin with its name."""
    parent, name = os.path.split(old)
    try:
        beside = os.listdir(parent)
    except OSError:
        return b""
    longer = [each[len(name) :] for each in beside if each.startswith(name) and each != name]
    if not longer:
        return b""
    spelled = {spelling(rest) for spelling in spellings for rest in longer}
    rests = b"|".join(map(re.escape, sorted(spelled)))
    return b"(?!(?:" + rests + b")" + _AFTER + b")"


def _plain(path: bytes) -> bytes:
    return path


def _in_url(path: bytes) -> bytes:
    return quote(path).encode()


def _in_json(path: bytes) -> bytes:
    return os.fsencode(json.dumps(os.fsdecode(path), ensure_ascii=False)[1:-1])


def _in_ascii(path: bytes) -> bytes:
    return json.dumps(os.fsdecode(path))[1:-1].encode()


def _in_shell(path: bytes) -> bytes:
    """Return the path with a backslash before each character that is special in a shell."""
    return re.sub(rb"[^\w@%+=:,./\x80-\xff-]", rb"\\\g<0>", path)


def _startable(script: bytes, environment: bytes) -> bytes:
    """Let a shell start the interpreter if its path is too long or has a space for Linux."""
    line, _, rest = script.partition(b"\n")
    python = re.match(rb"#!(" + re.escape(environment) + rb"/bin/python[\w.]*)(.*)", line)
    if not python or (b" " not in environment and len(line) <= _FIRST_LINE_BYTES):
        return script
    start = b"'''exec' \"" + python[1] + b'"' + python[2] + b' "$0" "$@"\n'
    return b"#!/bin/sh\n" + start + b"' '''\n" + rest
