"""The files of a new project."""

import shlex
from typing import Any

import yaml

from trimtab.config.groups.workload import Workload
from trimtab.places import PARTS

_SNAKEFILE = """\
# trimtab's own workflow, with what conf/ and params.yaml here say. Rules of your own follow.
import os

from trimtab.places import SNAKEFILE


configfile: "params.yaml"


module trimtab_workflow:
    snakefile:
        str(SNAKEFILE)
    config:
        config


use rule * from trimtab_workflow


onsuccess:
    report = f"results/evaluate/{trimtab_workflow.EXPERIMENT.name}/report.html"
    if os.path.exists(report):
        print(f"report: {report}")
"""
_PROFILE = """\
# Read by every `snakemake` that starts in this folder.
show-failed-logs: true
rerun-incomplete: true
keep-going: true
max-checksum-file-size: 100GB
"""
_GITIGNORE = """\
.snakemake/
.venv/
__pycache__/
/logs/
/results/
"""
_DVCIGNORE = """\
__pycache__/
*.pyc
# Slim environments belong to their machine, which makes them again.
results/debloat/*/*/env
results/debloat/*/*/failure
# Logs and records of single runs.
results/profile/*/*/runs
results/debloat/*/*/verification
.trimtab.lock
.trimtab-*.partial
"""


def shared() -> dict[str, str]:
    """Return the files that are equal for all programs, by path.

    The profile for Slurm is trimtab's own, as a Snakefile that imports its rules keeps their names.
    """
    on_slurm = "profiles/slurm/config.yaml"
    return {
        "Snakefile": _SNAKEFILE,
        "profiles/default/config.yaml": _PROFILE,
        on_slurm: (PARTS / on_slurm).read_text(),
        ".gitignore": _GITIGNORE,
        ".dvcignore": _DVCIGNORE,
    }


def parameters(name: str) -> str:
    """Return params.yaml, which chooses the project's experiment."""
    return (
        "# Overrides of conf/, as Hydra takes them; e.g. verify.repeats=10.\n"
        f"overrides: [experiment={name}]\n"
    )


def experiment(name: str, command: list[str]) -> str:
    """Return the experiment that debloats the project's workload."""
    said = {
        "name": name,
        "title": _literal(shlex.join(command)),
        "hardware": ["this_machine"],
        "targets": {name: [name]},
    }
    return f"# @package _global_\n{_yaml({'experiment': said})}"


def workload_file(name: str, workload: Workload) -> str:
    """Return the workload's file, with the keys that people change."""
    output = {"compare": str(workload.output.compare)}
    if workload.output.path is not None:
        output["path"] = _literal(workload.output.path)
    said: dict[str, Any] = {
        "name": name,
        "description": "",
        "command": [_literal(word) for word in workload.command],
        "workdir": _literal(workload.workdir),
        "output": output,
        "timeout_s": workload.timeout_s,
    }
    if workload.ends_with is not None:
        said["ends_with"] = workload.ends_with
    if (server := workload.server).drive:
        found = {"ready": server.ready, "address": server.address}
        how = {key: _literal(text) for key, text in found.items() if text is not None}
        drive = [_literal(word) for word in server.drive]
        said["server"] = {"drive": drive, **how, "stop": server.stop}
    if workload.python is not None:
        said["python"] = _literal(workload.python)
    else:
        location = _literal(workload.target.location or "")
        said["target"] = {"kind": workload.target.kind, "location": location}
    head = "# The program. Relative paths start at the project's folder.\n"
    return head + _yaml(said)


def dvc() -> str:
    """Return dvc.yaml: trimtab's own stage, run on this project."""
    stage = yaml.safe_load((PARTS / "dvc.yaml").read_text())
    stage["stages"]["pipeline"]["deps"] = ["Snakefile", "conf"]
    head = "# One stage around the workflow: DVC keeps what came out.\n"
    return head + yaml.safe_dump(stage, sort_keys=False)


def _literal(text: str) -> str:
    """Return a text escaped for OmegaConf."""
    return text.replace("${", "\\${")


def _yaml(said: Any) -> str:
    return yaml.safe_dump(said, sort_keys=False, allow_unicode=True, default_flow_style=None)
