"""Reports this process' actions: commands it starts, files it writes.

Python's audit events report both from everywhere in trimtab.
"""

import os
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from trimtab.files import is_partial

_listening: list[Callable[[str], None]] = []
_hooked: list[bool] = []


@contextmanager
def told_to(tell: Callable[[str], None]) -> Iterator[None]:
    """Call `tell` in the block for each started command and completed file."""
    if not _hooked:  # a hook cannot be removed
        sys.addaudithook(_on_event)
        _hooked.append(True)
    _listening.append(tell)
    try:
        yield
    finally:
        _listening.remove(tell)


def _on_event(event: str, given: tuple[Any, ...]) -> None:
    if not _listening or event not in ("subprocess.Popen", "os.rename"):
        return
    if event == "subprocess.Popen":
        _, command, folder, environment = given
        words = [command] if isinstance(command, str | bytes | os.PathLike) else command
        typed = [*_set_in(environment), shlex.join(map(os.fsdecode, words))]
        where = "" if folder is None else f"  (in {os.fsdecode(folder)})"
        _listening[-1](f"started {' '.join(typed)}{where}")
        return
    before, after = (Path(os.fsdecode(path)) for path in given[:2])
    if is_partial(before) and not any(map(is_partial, (after, *after.parents))):
        _listening[-1](f"wrote {after}")


def _set_in(environment: Mapping[Any, Any] | None) -> list[str]:
    """Return a command's variables that differ from this process', in shell syntax."""
    every = {os.fsdecode(name): os.fsdecode(value) for name, value in (environment or {}).items()}
    return [
        f"{name}={_as_typed(name, value)}"
        for name, value in sorted(every.items())
        if value != os.environ.get(name)
    ]


def _as_typed(name: str, value: str) -> str:
    ours = os.environ.get(name)
    if ours and value.endswith(ours):  # such as PATH with a folder prepended
        return f'{shlex.quote(value.removesuffix(ours))}"${name}"'
    return shlex.quote(value)
