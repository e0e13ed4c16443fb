"""Rule profile_workload: what a workload uses and what its runs cost."""

import argparse
from pathlib import Path

from trimtab.locks import writing_in
from trimtab.supervision import supervised

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--config", type=Path, required=True, help="a ProfileStage, JSON")
parser.add_argument("--changed-files", type=Path, help="those of the environment, as JSON")
parser.add_argument("--output", type=Path, required=True, help="folder of the results")
arguments = parser.parse_args()

with supervised(), writing_in(arguments.output):
    from trimtab.config.stages import ProfileStage, read
    from trimtab.debloating.left_alone import left_alone
    from trimtab.debloating.targets.registry import target_of
    from trimtab.profiling.profile import profile_workload
    from trimtab.progress import runs_to_do
    from trimtab.workflow.read_files import remember_read_files

    stage = read(arguments.config, ProfileStage)
    runs = stage.profiling.repeats + stage.profiling.traced_runs + 1  # one follows its files
    with runs_to_do(f"profile {stage.workload.name}", runs):
        named = {}
        if stage.keep_libraries:
            target = target_of(stage.workload.name, [stage.workload])
            named = left_alone(target, stage.keep_libraries)
        profile_workload(
            stage.workload,
            stage.hardware,
            stage.profiling,
            arguments.output,
            named.values(),
        )
    remember_read_files(stage.workload, arguments.output, arguments.changed_files)
