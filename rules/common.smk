from pathlib import Path

from trimtab.config import stages
from trimtab.errors import UserError
from trimtab.workflow.configured import configured, write_manifest


def given(stage):
    """The parameter of a rule: what `stage` returns for a job's wildcards, in a file."""

    def in_a_file(wildcards):
        try:
            return configured(stage(wildcards))
        except UserError as error:
            raise WorkflowError(escape_control_characters(str(error)))

    return in_a_file


def round_times(wildcards):
    """The measured times of rounds, where the trace's jobs are programs on a real engine."""
    if any(facts.program for facts in STAGES["schedule"].classes(wildcards)):
        return rules.profile_engine.output.rounds
    return []


def image_of(wildcards):
    """The archive of a workload's image, which a recipe of this project may make."""
    target = CONFIG.option("workload", wildcards.workload).target
    location = Path(target.location or "")
    is_ours = location.parent == IMAGES or location.is_file()
    return [str(location)] if target.kind == "image" and is_ours else []
