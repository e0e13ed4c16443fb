"""Rule profile_workload: what a workload uses and what its runs cost."""

import argparse
from importlib import import_module
from pathlib import Path

from trimtab.locks import folder_lock
from trimtab.processes.supervision import supervised

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--config", type=Path, required=True, help="a ProfileStage, JSON")
parser.add_argument("--changed-files", type=Path, help="those of the environment, as JSON")
parser.add_argument("--output", type=Path, required=True, help="folder of the results")
arguments = parser.parse_args()

with supervised(), folder_lock(arguments.output):
    from trimtab.config.stages import ProfileStage, read
    from trimtab.profiling.profile import profile_workload
    from trimtab.progress import runs_to_do
    from trimtab.workflow.read_files import remember_read_files

    stage = read(arguments.config, ProfileStage)
    runs = stage.profiling.repeats + stage.profiling.traced_runs + 1  # one follows its files
    with runs_to_do(f"profile {stage.workload.name}", runs):
        named = {}
        if stage.keep_libraries:
            # Not by `import`: the rule is run again where what its script imports changes.
            of_target = import_module("trimtab.debloating.targets.registry").target_of
            target = of_target(stage.workload.name, [stage.workload])
            left_alone = import_module("trimtab.debloating.kept_libraries").left_alone
            named = left_alone(target, stage.keep_libraries)
        profile_workload(
            stage.workload,
            stage.hardware,
            stage.profiling,
            arguments.output,
            named.values(),
        )
    remember_read_files(stage.workload, arguments.output, arguments.changed_files)
