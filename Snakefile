import gc
import shlex
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.logging import logger
from snakemake.utils import min_version

min_version("9.0")

from trimtab.checkout import run_alone
from trimtab.config import ConfigError, Configurations
from trimtab.config.parameters import overrides_of, read_overrides
from trimtab.errors import escape_control_characters
from trimtab.places import MODULES
from trimtab.progress import CHANNEL
from trimtab.processes.supervision import STARTER
from trimtab.workflow.rerun_reasons import explain_reasons
from trimtab.workflow.registry import find_stages, options_of
from trimtab.workflow.unrecorded import keep_unrecorded, keep_when_killed

# What was imported stays: no collection has to look through it again.
gc.freeze()
run_alone(workflow)

# Where this file and what comes with it lie, and the modules of trimtab: in a checkout, or in an
# environment, for a project that takes this workflow as a module of its own.
PARTS = Path(workflow.snakefile).parent
SOURCES = PARTS / "src" if (PARTS / "src").is_dir() else MODULES

try:
    read_overrides(Path("params.yaml"))  # raises for what Snakemake would trip over
except ConfigError as error:
    raise WorkflowError(escape_control_characters(str(error)))


configfile: "params.yaml"


try:
    OVERRIDES = overrides_of(config, "--config")
    CONFIG = Configurations(Path(workflow.basedir, "conf"), OVERRIDES, PARTS / "conf")
    CONFIG.check_paths(Path.cwd())
except ConfigError as error:
    raise WorkflowError(escape_control_characters(str(error)))
for note in CONFIG.notes if workflow.is_main_process else ():  # jobs would say it again
    logger.warning(escape_control_characters(note))
EXPERIMENT = CONFIG.root.experiment
STAGES = find_stages(CONFIG)

# The threads of jobs that measure on this machine: Snakemake lowers them to --cores, so that nothing
# runs beside.
EVERY_CORE = 1024

# Jobs run the Python that Snakemake runs in, also when its environment is not activated, and end
# when this Snakemake does. Rules say `exec`: a shell between would wait through SIGINT. How far
# they are is told where Snakemake tells what it does, not in their logs.
PATH = f"{shlex.quote(str(Path(sys.executable).parent))}:$PATH"
shell.prefix(f"export {STARTER}=$PPID PATH={PATH} {CHANNEL}=3; exec 3>&2; ")


report: "rules/captions/workflow.rst"


wildcard_constraints:
    **{name: r"[a-z0-9_]+" for stage in STAGES.values() for name in stage.cells},
    seed=r"[0-9]+",
    machine=r"[0-9]+",
    image="python|pytorch|pytorch_larger",  # another archive in build/images is somebody's own


include: "rules/code.smk"
include: "rules/resources.smk"
include: "rules/common.smk"
include: "rules/images.smk"


for name, stage in STAGES.items():

    include: f"rules/{name}.smk"

    if stage.target:

        rule:
            name:
                stage.target
            input:
                stage.targets(),
            localrule: True


include: "rules/evaluate.smk"


explain_reasons(workflow, OF_THE_PROJECT)


localrules:
    all,
    evaluate,


rule all:
    default_target: True
    input:
        rules.evaluate_experiment.output.report,
        rules.headlines.output.metrics,
        rules.resolved_config.output.config,


rule evaluate:
    input:
        rules.evaluate_experiment.output.report,


KEEPING = []  # what ends the wait for this process to be killed


onstart:
    if workflow.is_main_process:
        KEEPING.append(keep_when_killed())
    if not workflow.non_local_exec:
        # For its limit of new jobs per second, Snakemake looks at all inputs of all waiting jobs.
        # It does so the more often, the more jobs have ended: up to a core beside what is measured.
        workflow.scheduler.job_rate_limiter = None


onsuccess:
    for no_more in KEEPING:
        no_more()
    if workflow.is_main_process and any(workflow.dag.finished_jobs):
        keep_unrecorded()
    if Path(rules.evaluate_experiment.output.report).is_file():
        print(f"Report: {Path(rules.evaluate_experiment.output.report).resolve()}")


onerror:
    for no_more in KEEPING:
        no_more()
    if workflow.is_main_process:
        keep_unrecorded()
