"""Turn a workload's YAML into a program, in its own environment or in another one."""

import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Any

from trimtab.config.groups.workload import Workload
from trimtab.config.signals import signal_number
from trimtab.errors import UserError
from trimtab.files import remove_tree
from trimtab.processes.as_user import User
from trimtab.processes.program import Driver, Program
from trimtab.processes.root import ENGINES_PATH, RootFileSystem
from trimtab.processes.root_users import user_in
from trimtab.profiling.images.image_workload import in_its_root


@dataclass(frozen=True)
class _CommandPlace:
    """The place where a workload's commands run: here, or in a root."""

    workload: Workload
    interpreter: Path | None
    workdir: Path
    environment: Mapping[str, str]
    root: RootFileSystem | None = None

    def command(self, key: str, words: list[str]) -> tuple[str, ...]:
        """Return the words of a command; raises UserError if the program is not found."""
        if self.interpreter and words[0] == "python":
            words = [str(self.interpreter), *words[1:]]
        name, path = words[0], self.environment["PATH"]
        if self.root is not None:
            found = self.root.which(name, path, self.workdir) is not None
        else:
            place = self.workdir / name if "/" in name else name
            found = shutil.which(place, path=path) is not None
        if not found:
            where = (
                f"in {self.interpreter.parent} or on the PATH"
                if self.interpreter
                else ("on the PATH")
            )
            root = f" in the root {self.root.folder}" if self.root else ""
            raise UserError(
                f"workload {self.workload.name}: {key}: {name} was not found as a program"
                f" {where}{root}"
            )
        return tuple(words)


def program_of(workload: Workload, run_folder: Path) -> Program:
    """Return the program that `workload` describes, with `{output}` in `run_folder`.

    For a root target the program runs in the root, as by `program_in`. `run_folder` is emptied.
    Relative paths start at the current folder. Raises UserError if the interpreter, the working
    directory, the command or the driver's command does not exist.
    """
    if workload.target.kind == "image":
        workload = in_its_root(workload)
    if workload.target.is_root:
        return program_in(
            RootFileSystem(absolute(Path(workload.target.location or ""))), workload, run_folder
        )
    interpreter = absolute(Path(workload.python)) if workload.python else None
    if interpreter and not interpreter.is_file():
        raise UserError(f"workload {workload.name}: python: {interpreter} does not exist")
    workdir = absolute(Path(workload.workdir))
    if not workdir.is_dir():
        raise UserError(f"workload {workload.name}: workdir: {workdir} is not a folder")
    path = os.environ.get("PATH", os.defpath)
    path = f"{interpreter.parent}:{path}" if interpreter else path
    user = None if workload.user is None else User.named(workload.user)
    inherited = dict(os.environ) if user is None else user.environment(os.environ)
    environment = {**inherited, **workload.env, "PATH": path}
    place = _CommandPlace(workload, interpreter, workdir, environment)
    return _program(place, place, run_folder, user)


def program_in(
    root: RootFileSystem,
    workload: Workload,
    run_folder: Path,
    inherited: Mapping[str, str] | None = None,
) -> Program:
    """Return the program that `workload` describes, running in `root`.

    Its paths, PATH and user (root by default) are as programs inside see them; relative paths start
    at the root's top. `{output}` and a server's driver are outside, as with `program_of`. The
    program inherits `inherited`, by default with PATH and its user's HOME. Raises as `program_of`
    does.
    """
    top = PurePath("/")
    root = root.with_network_names()
    interpreter = Path(top, workload.python) if workload.python else None
    if interpreter and not ((found := root.find(interpreter)) and found.is_file()):
        raise UserError(
            f"workload {workload.name}: python: {interpreter} does not exist in the root"
            f" {root.folder}"
        )
    workdir = Path(top, workload.workdir)
    if not ((found := root.find(workdir)) and found.is_dir()):
        raise UserError(
            f"workload {workload.name}: workdir: {workdir} is not a folder in the root"
            f" {root.folder}"
        )
    user = user_in(root, workload.user or "0")
    own = {"PATH": ENGINES_PATH, "HOME": user.home}
    environment = {**own, **(inherited or {}), **workload.env}
    if interpreter:
        environment["PATH"] = f"{interpreter.parent}:{environment['PATH']}"
    inside = _CommandPlace(workload, interpreter, workdir, environment, root)
    outside = _CommandPlace(workload, None, absolute(Path()), {"PATH": os.defpath, **os.environ})
    return _program(inside, outside, run_folder, user)


def _program(
    place: _CommandPlace, drivers: _CommandPlace, run_folder: Path, user: User | None
) -> Program:
    """Return a workload's program, which runs at `place`, with its server's driver at `drivers`."""
    workload = place.workload
    remove_tree(run_folder)
    run_folder.mkdir(parents=True)
    output = str(run_folder.resolve())

    def placed(text: str | None) -> str | None:
        return None if text is None else text.replace("{output}", output)

    def words_of(words: list[str]) -> list[str]:
        return [word.replace("{output}", output) for word in words]

    driver = None
    if workload.server.drive:
        words = words_of(_with_parameters(workload, workload.server.drive))
        driver = Driver(
            command=drivers.command("server.drive", words),
            environment=drivers.environment,
            ready=workload.server.ready,
            address=workload.server.address,
            stop=_signal(workload.server.stop),
            workdir=drivers.workdir,
        )
    program = Program(
        command=place.command("command", words_of(command_line(workload))),
        workdir=place.workdir,
        environment=place.environment,
        timeout_s=workload.timeout_s,
        output=replace(workload.output, path=placed(workload.output.path)),
        marks=replace(workload.marks, file=placed(workload.marks.file)),
        ends_with=workload.good_exit_codes,
        own_variables=frozenset(workload.env),
        driver=driver,
        user=user,
        root=place.root,
    )
    return program.with_access_to(run_folder)


def moved(program: Program, root: Path, slim: Path) -> Program:
    """Return `program` with paths in the folder `root` replaced by paths in its copy `slim`.

    Replaced are its working directory, words of its command, and colon-separated parts of its
    variables, if they are the path of a file or folder in `root`. A server's driver stays.
    """
    roots = (absolute(root), root.resolve())

    def in_slim(text: str) -> str:
        path = Path(os.path.abspath(program.workdir / text))
        if not text or not os.path.lexists(path):
            return text
        for spelling in (path, path.parent.resolve() / path.name):
            for folder in roots:
                if spelling.is_relative_to(folder):
                    return str(absolute(slim) / spelling.relative_to(folder))
        return text

    return replace(
        program,
        command=tuple(in_slim(word) for word in program.command),
        workdir=Path(in_slim(str(program.workdir))),
        environment={
            name: ":".join(in_slim(part) for part in value.split(":"))
            for name, value in program.environment.items()
        },
    )


def command_line(workload: Workload) -> list[str]:
    """Return the words of the command with the parameters, but with `{output}` unreplaced.

    A parameter replaces its name in braces; others are appended as options, `batch_size: 16` as
    `--batch-size 16`, true as the bare option, false and None not at all.
    """
    words, placed = _with_parameters(workload, workload.command), workload.placed_parameters
    for name, parameter in workload.parameters.items():
        if name not in placed and parameter is not None and parameter is not False:
            words.append(f"--{name.replace('_', '-')}")
            words += [] if parameter is True else [_word(parameter)]
    return words


def _with_parameters(workload: Workload, words: list[str]) -> list[str]:
    given = {name: _word(workload.parameters[name]) for name in workload.placed_parameters}

    def value(placeholder: re.Match[str]) -> str:
        return given.get(placeholder[1], placeholder[0])

    return [re.sub(r"\{(\w+)\}", value, word) for word in words]


def _word(parameter: Any) -> str:
    return str(parameter).lower() if isinstance(parameter, bool) else str(parameter)


def _signal(name: str) -> int:
    number = signal_number(name)
    assert number is not None  # by the configuration's check
    return number


def absolute(path: Path) -> Path:
    """Return `path` made absolute, links kept: a venv's `python` is a link."""
    return Path(os.path.abspath(path.expanduser()))
