"""The folder of `trimtab tune --deploy`: all that runs the best configuration elsewhere."""

import os
import shlex
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from trimtab.config.groups.workload import Workload
from trimtab.errors import UserError
from trimtab.files import atomic_write, write_json
from trimtab.profiling.runs.from_workload import command_line
from trimtab.tuning.deployment.card import card_of
from trimtab.tuning.deployment.module import write_module
from trimtab.tuning.deployment.program_files import ProgramFiles
from trimtab.tuning.deployment.requirements import requirements_of

_HEAD = """\
#!/bin/sh
# Trains as the best trial did; more options can follow. Start it where the program finds its data.
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
for environment in "$here/slim/env" "$here/env"; do
    if [ -d "$environment/bin" ]; then PATH="$environment/bin:$PATH"; break; fi
done
"""
SCRIPT, MODULES = "run.sh", "program"


def check_deployable(folder: Path) -> None:
    """Raise UserError where `folder` holds files of others."""
    if folder.exists() and (
        not folder.is_dir() or (any(folder.iterdir()) and not _is_ours(folder))
    ):
        raise UserError(f"--deploy {folder}: has other files; name a new folder")


def deploy(
    folder: Path, workload: Workload, document: Mapping[str, Any], result: Mapping[str, Any]
) -> None:
    """Write the deployment of `document`, a best.yaml of the tuned `workload`, into `folder`.

    `result` is what best.yaml says in its comment. Raises UserError as `check_deployable`, and
    TrimtabError where the program's interpreter cannot list its packages.
    """
    check_deployable(folder)
    files = _files_of(workload)
    folder.mkdir(parents=True, exist_ok=True)
    write_module(folder)
    files.copy(folder / MODULES)
    parameters = {**workload.parameters, **document["parameters"]}
    write_json(folder / "parameters.json", parameters)
    requirements = None
    if workload.python is not None and files.sources:
        requirements = requirements_of(files.sources, Path(workload.python))
        _write(folder / "requirements.txt", "".join(f"{line}\n" for line in requirements))
    environment = {**workload.env, **document.get("env", {})}
    environment.pop("PYTHONPATH", None)
    words = _words(workload, parameters, files)
    cores = result.get("system", {}).get("cores")
    exports = "".join(
        f"export {name}={shlex.quote(value)}\n" for name, value in environment.items()
    )
    if any("{output}" in word for word in workload.command):
        exports += 'mkdir -p "$here/output"\n'
    searched = ":".join(f'"$here"/{shlex.quote(place)}' for place in _places(files))
    exports = f'export PYTHONPATH="$here":{searched}"${{PYTHONPATH:+:$PYTHONPATH}}"\n{exports}'
    _write(folder / SCRIPT, f'{_HEAD}{exports}exec {_bound_to(cores)}{words} "$@"\n', mode=0o755)
    _write(folder / "README.md", card_of(workload, parameters, result, requirements))


def short_command(
    folder: Path, workload: Workload, document: Mapping[str, Any], epochs: int
) -> list[str]:
    """Return the command of the deployment in `folder` as words, with only `epochs` epochs."""
    files = _files_of(workload)
    parameters = {**workload.parameters, **document["parameters"], "epochs": epochs}
    modules = folder.resolve() / MODULES
    return [
        str(modules / files.named[word].relative_to(files.root)) if word in files.named else word
        for word in command_line(replace(workload, parameters=parameters))
    ]


def module_folders(folder: Path, workload: Workload) -> list[Path]:
    """Return the folders from which the deployment in `folder` imports modules."""
    return [folder.resolve() / place for place in ("", *_places(_files_of(workload)))]


def _places(files: ProgramFiles) -> list[str]:
    paths = [path.relative_to(files.root) for path in files.paths]
    return list(dict.fromkeys([MODULES, *(str(Path(MODULES) / path) for path in paths)]))


def _files_of(workload: Workload) -> ProgramFiles:
    python = None if workload.python is None else Path(workload.python)
    searched = workload.env.get("PYTHONPATH", os.environ.get("PYTHONPATH", ""))
    folders = [one for one in searched.split(os.pathsep) if one]
    return ProgramFiles.of(workload.command, Path(workload.workdir), python, folders)


def _words(workload: Workload, parameters: Mapping[str, Any], files: ProgramFiles) -> str:
    """Return the command as a shell's words: copied files are in the deployment."""
    words = []
    for number, word in enumerate(command_line(replace(workload, parameters=dict(parameters)))):
        if word in files.named:
            place = files.named[word].relative_to(files.root)
            words.append(f'"$here"/{MODULES}/{shlex.quote(str(place))}')
        elif number == 0 and workload.python is not None:
            name = Path(word).name
            words.append("python3" if name.startswith("python") else shlex.quote(name))
        else:
            words.append(shlex.quote(word).replace("{output}", "'\"$here\"/output'"))
    return " ".join(words)


def _bound_to(cores: Any) -> str:
    """Return the shell's words that bind the program to a number of CPUs, where it has taskset."""
    if cores is None:
        return ""
    last = int(cores) - 1
    return f"$(command -v taskset >/dev/null && echo taskset -c 0-{last}) "


def _is_ours(folder: Path) -> bool:
    return (folder / SCRIPT).is_file() and (folder / "trimtab_trial.py").is_file()


def _write(path: Path, text: str, mode: int = 0o644) -> None:
    with atomic_write(path) as temporary:
        temporary.write_text(text)
        temporary.chmod(mode)
