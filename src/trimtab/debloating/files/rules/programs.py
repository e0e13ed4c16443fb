"""What a program or script that stays needs to start."""

import posixpath
import shlex
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import product

from trimtab.binaries.elf.loading import Loading
from trimtab.debloating.files.closure_rules import ClosureInput, Dependency, KeepReason, KeptPath
from trimtab.debloating.files.linker import variants
from trimtab.errors import UserError

_SEARCH_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_LONGEST_LINE = 4096
_MAY_RUN = 0o111
_MOST_LOOK_UPS = 500_000  # for a program's libraries; PyTorch's with CUDA take thousands
_LIB = ("lib", "lib64", "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu")


def interpreter_of_script(root: ClosureInput, found: KeptPath) -> Iterator[Dependency]:
    """Keep the interpreter that the `#!` line of a script names, and what `env` in it finds.

    In a whole root whose files come back, a script that runs did not start needs none.
    """
    if not found.is_file or not (found.runs or found.node.mode & _MAY_RUN):
        return
    if root.comes_back and root.tree.is_whole and not found.runs and found.uses:
        return  # runs only read it; its interpreter comes back
    line = root.tree.text(found.path, _LONGEST_LINE).partition("\n")[0]
    if not line.startswith("#!") or not (words := _words(line[2:])):
        return
    yield Dependency(words[0], KeepReason.SCRIPT, runs=True)
    if posixpath.basename(words[0]) == "env":
        yield from _found_by_env(root, words[1:])


def loaded_by_program(root: ClosureInput, found: KeptPath) -> Iterator[Dependency]:
    """Keep a program's dynamic linker and the libraries that the linker finds, see ld.so(8).

    Any program that stays can start. A library that stays for look-ups only needs no others.
    """
    if not found.is_file or not (found.runs or found.node.mode & _MAY_RUN):
        return
    loading = root.loading(found.path)
    if loading is None or not (found.runs or loading.interpreter):
        return
    if loading.interpreter:
        yield Dependency(loading.interpreter, KeepReason.INTERPRETER, runs=True)
    for library in _libraries(root, found.path, loading):
        yield Dependency(library, KeepReason.LIBRARY, runs=True)


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line.replace("\0", " "))
    except ValueError:  # an unclosed quote
        return line.split()


def _found_by_env(root: ClosureInput, words: list[str]) -> Iterator[Dependency]:
    # -S splits a single argument, which is done already; -u takes a word.
    rest = iter(words)
    for word in rest:
        if word in ("-u", "-C", "--unset", "--chdir"):
            next(rest, None)
        elif not word.startswith("-") and "=" not in word:
            break
    else:
        return
    path = root.environment.get("PATH", _SEARCH_PATH)
    places = [word] if "/" in word else [f"{folder}/{word}" for folder in path.split(":")]
    for place in filter(posixpath.isabs, places):
        end = root.tree.file_at(place)
        if end is not None and root.tree.nodes[end].mode & _MAY_RUN:
            yield Dependency(place, KeepReason.SCRIPT, runs=True)
            return


def _libraries(root: ClosureInput, program: str, loading: Loading) -> Iterator[str]:
    """Yield the paths at which the linker finds the libraries that a program needs.

    The needs of these libraries follow in their own turn, except where the program's DT_RPATH
    applies to them: it does unless they have a DT_RUNPATH. As in the linker, each is looked up
    once, by the first that needs it, breadth-first from the program.
    """
    inherited: tuple[str, ...] = ()
    waiting = deque([(root.tree.seen(program), loading, inherited)])
    done: set[str] = set()
    look_ups = 0
    while waiting:
        place, loading, inherited = waiting.popleft()
        real = root.tree.file_at(place)
        origins = {posixpath.dirname(place), posixpath.dirname(root.tree.seen(real or place))}
        own = () if loading.runpath else _expanded(loading.rpath, origins)
        inherited = tuple(dict.fromkeys((*own, *inherited)))
        folders = [
            *(() if loading.runpath else inherited),
            *_expanded(_of_variable(root), origins),
            *_expanded(loading.runpath, origins),
            *root.linker_folders,
        ]
        look_ups += len(loading.needed) * len(folders)
        if look_ups > _MOST_LOOK_UPS:
            raise UserError(
                f"{program}: it and its libraries name too many others and run paths: expected at"
                f" most {_MOST_LOOK_UPS:,} look-ups; such a file may be there to do harm"
            )
        for name in loading.needed:
            for library in _find(root, name, folders, loading):
                yield library
                end = root.tree.file_at(library)
                needs = root.loading(end) if end is not None else None
                if inherited and end is not None and needs is not None and end not in done:
                    done.add(end)
                    waiting.append((library, needs, inherited))


def _find(root: ClosureInput, name: str, folders: list[str], needing: Loading) -> list[str]:
    """Return the first library of that name for the same machine, with its hwcaps variants."""
    if "/" in name:
        return [name] if posixpath.isabs(name) else []
    for folder in folders:
        found = [
            place
            for place in (f"{folder}/{name}", *variants(root.tree, folder, name))
            if (end := root.tree.file_at(place)) is not None
            and (loading := root.loading(end)) is not None
            and loading.machine == needing.machine
        ]
        if found:
            return found
    return []


def _of_variable(root: ClosureInput) -> list[str]:
    value = root.environment.get("LD_LIBRARY_PATH", "")
    return [folder for folder in value.replace(";", ":").split(":") if folder]


def _expanded(folders: Iterable[str], origins: Iterable[str]) -> list[str]:
    """Return the absolute run paths for each meaning of `$ORIGIN` and `$LIB`."""
    found = []
    for folder in folders:
        for origin, library in product(sorted(origins), _LIB):
            path = folder
            for name, value in (("ORIGIN", origin), ("LIB", library)):
                path = path.replace(f"${{{name}}}", value).replace(f"${name}", value)
            found.append(path)
    return [path for path in dict.fromkeys(found) if posixpath.isabs(path)]
