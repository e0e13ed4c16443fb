"""The snapshots of an environment: images of programs, and the guards of all in one file."""

import hashlib
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from trimtab.debloating.snapshots.saving import Saved
from trimtab.files import atomic_write, remove_tree
from trimtab.native import native_path
from trimtab.processes.program import Program

FOLDER = Path("trimtab/snapshots")
_GUARDS, _RESTORER = "guards", "restore"
_HOOK = "lib/python3*/site-packages/00_trimtab_fallback.pth"
_CALL = ".start("
_HAS_SNAPSHOTS = 4  # native/file_fallback/python_start.c
_NAME_LETTERS = 32
_OWN, _PROGRAM = 0o600, 0o755  # images and guards have the variables of a user


def can_have_snapshots(environment: Path) -> bool:
    """Return whether Python looks for snapshots when it starts in the slim `environment`."""
    return any(_CALL in hook.read_text() for hook in environment.glob(_HOOK))


def snapshot_name(program: Program) -> str:
    """Return the name of a program's snapshot, by its command and the variables that it sets."""
    variables = (f"{each}={program.environment[each]}" for each in sorted(program.own_variables))
    words = "\0".join((*program.command, "", *variables))
    return hashlib.sha256(os.fsencode(words)).hexdigest()[:_NAME_LETTERS]


def install_snapshots(environment: Path, name: str, all_saved: Sequence[Saved]) -> None:
    """Put the snapshots of one program into the environment, in place of those of this name.

    Their images are called `name` and a number.
    """
    remove_snapshot(environment, name)
    folder = environment / FOLDER
    _copy(native_path("trimtab-restore"), folder / _RESTORER, _PROGRAM)
    for saved in all_saved:
        _copy(saved.image, folder / saved.image.name, _OWN)
    guards = {saved.image.name: saved.guards for saved in all_saved}
    _write_guards(environment, {**guards_in(environment), **guards})
    use_snapshots(environment, True)


def remove_snapshot(environment: Path, name: str) -> None:
    """Remove the snapshots of this name, if there are any; others stay."""
    own = f"{name}-"
    others = {
        image: text for image, text in guards_in(environment).items() if not image.startswith(own)
    }
    if not others:
        remove_snapshots(environment)
        return
    _write_guards(environment, others)
    for image in (environment / FOLDER).glob(f"{own}*"):
        image.unlink()
    use_snapshots(environment, True)


def remove_snapshots(environment: Path) -> None:
    """Remove all snapshots of the slim `environment`."""
    use_snapshots(environment, False)
    remove_tree(environment / FOLDER)


def use_snapshots(environment: Path, are_used: bool) -> None:
    """Have starts of the environment look for snapshots, or not: a digit of its .pth line."""
    for hook in environment.glob(_HOOK):
        text = hook.read_text()
        begin, call, rest = text.rpartition(_CALL)
        if not call or not rest[0].isdigit():
            continue
        how = int(rest[0]) & ~_HAS_SNAPSHOTS | (_HAS_SNAPSHOTS if are_used else 0)
        if how != int(rest[0]):
            with hook.open("r+b") as file:  # in place: the folder's time is in the archive
                os.pwrite(file.fileno(), str(how).encode(), len((begin + call).encode()))


def _copy(source: Path, destination: Path, mode: int) -> None:
    with atomic_write(destination, mode) as temporary:
        shutil.copyfile(source, temporary)


def guards_in(environment: Path) -> dict[str, bytes]:
    """Return the guards of each snapshot: texts that end with a zero byte, from `=NAME` on."""
    path, found, name = environment / FOLDER / _GUARDS, dict[str, bytes](), ""
    for text in path.read_bytes().split(b"\0")[:-1] if path.is_file() else ():
        if text.startswith(b"="):
            name = os.fsdecode(text[1:])
        found[name] = found.get(name, b"") + text + b"\0"
    return found


def _write_guards(environment: Path, guards: Mapping[str, bytes]) -> None:
    with atomic_write(environment / FOLDER / _GUARDS, _OWN) as temporary:
        temporary.write_bytes(b"".join(guards.values()))
