"""The files of a new project."""

import shlex
from collections.abc import Collection
from dataclasses import MISSING, Field, fields, is_dataclass, replace
from typing import Any

import yaml

from trimtab.binaries.gpu.architecture import parse_architecture
from trimtab.cli.config_options.run_counts import RunCounts
from trimtab.cli.project.names import HARDWARE
from trimtab.config.groups.debloat import Debloat
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
_SHOWN = ("description", "workdir", "output", "compare", "timeout_s")


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


def experiment(
    name: str, command: list[str], options: Debloat, counts: RunCounts, gpus: list[str]
) -> str:
    """Return the experiment that debloats the project's workload, with what differs from defaults.

    Raises UserError for an invalid compute capability among `gpus`.
    """
    said: dict[str, Any] = {
        "experiment": {
            "name": name,
            "title": _literal(shlex.join(command)),
            "hardware": [HARDWARE],
            "targets": {name: [name]},
        },
        "hardware": {"gpus": [_capability(gpu) for gpu in gpus]} if gpus else {},
        "debloat": {key: value for key, value in _said(options).items() if key != "name"},
        **_said(counts),
    }
    return f"# @package _global_\n{_yaml({key: part for key, part in said.items() if part})}"


def workload_file(name: str, workload: Workload) -> str:
    """Return the workload's file, with the keys that people change, and what is no default."""
    head = "# The program. Relative paths start at the project's folder.\n"
    return head + _yaml(_said(replace(workload, name=name), _SHOWN))


def dvc() -> str:
    """Return dvc.yaml: trimtab's own stage, run on this project."""
    stage = yaml.safe_load((PARTS / "dvc.yaml").read_text())
    stage["stages"]["pipeline"]["deps"] = ["Snakefile", "conf"]
    head = "# One stage around the workflow: DVC keeps what came out.\n"
    return head + yaml.safe_dump(stage, sort_keys=False)


def _said(part: Any, shown: Collection[str] = ()) -> dict[str, Any]:
    """Return the keys of an object of the configuration that are no defaults, or always `shown`."""
    return {
        spec.name: _plain(value, shown)
        for spec in fields(part)
        if (value := getattr(part, spec.name)) != _default_of(spec) or spec.name in shown
    }


def _default_of(spec: "Field[Any]") -> Any:
    return spec.default if spec.default_factory is MISSING else spec.default_factory()


def _plain(value: Any, shown: Collection[str]) -> Any:
    if is_dataclass(value):
        return _said(value, shown)
    if isinstance(value, list):
        return [_plain(each, shown) for each in value]
    if isinstance(value, dict):
        return {key: _plain(each, shown) for key, each in value.items()}
    return _literal(value) if isinstance(value, str) else value


def _capability(gpu: str) -> str:
    """Return a GPU architecture, such as sm_90, as a compute capability, such as 9.0."""
    return ".".join(map(str, divmod(parse_architecture(gpu).number, 10)))


def _literal(text: str) -> str:
    """Return a text escaped for OmegaConf."""
    return text.replace("${", "\\${")


def _yaml(said: Any) -> str:
    return yaml.safe_dump(said, sort_keys=False, allow_unicode=True, default_flow_style=None)
