import os
from pathlib import Path

from trimtab.config import dump, stages
from trimtab.config.sources import sources_of


def code(*patterns):
    """The files matching `patterns` and the modules that they import, tracked by content."""
    root = Path(workflow.basedir)
    named = [
        path for pattern in patterns for path in root.glob(pattern) if path.is_file()
    ]
    return [os.path.relpath(path) for path in sources_of(named, root / "src")]


def programs(wildcards):
    """The files that a workload's command names, and the modules of ours that they import."""
    workload = CONFIG.workload(wildcards.workload)
    named = [Path(workload.workdir, word) for word in workload.command]
    files = [path for path in named if path.is_file()]
    return [
        os.path.relpath(path)
        for path in sources_of(files, Path(workflow.basedir, "src"))
    ]


def profiles(file):
    """A file of the stage `profile`, for every cell of the experiment."""
    return expand(
        f"results/profile/{{workload}}/{{hardware}}/{file}",
        workload=EXPERIMENT.workloads,
        hardware=EXPERIMENT.hardware,
    )


def targets(file):
    """A file of the stage `debloat`, for every cell of the experiment."""
    return expand(
        f"results/debloat/{{target}}/{{hardware}}/{file}",
        target=EXPERIMENT.targets,
        hardware=EXPERIMENT.hardware,
    )
