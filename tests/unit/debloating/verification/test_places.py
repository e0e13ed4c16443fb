"""Programs that tell where their environment is have the same output in both."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from trimtab.config.groups.output import Output, OutputComparison
from trimtab.debloating.verification.places import as_in_original
from trimtab.processes.program import Program
from trimtab.profiling.meters.power_model import NO_POWER_MODEL
from trimtab.profiling.runs.measured import MeasuredRun
from trimtab.profiling.runs.run import measure_run


def printing(folder: Path, text: str) -> tuple[Program, MeasuredRun]:
    program = Program(("printf", "%s", text), folder, dict(os.environ), 60.0)
    run = measure_run(
        program, condition="debloated", repeat=0, hardware=NO_POWER_MODEL, log_dir=folder / "logs"
    )
    return program, run


@pytest.mark.parametrize(
    ("written", "told"),
    [
        (
            "{here}/ws/env/lib/a.py:5: DeprecationWarning",
            "{here}/env/lib/a.py:5: DeprecationWarning",
        ),
        ("ws/env/lib/a.py and 'ws/env'", "env/lib/a.py and 'env'"),
        ("file://{here}/ws/env/x {here}/ws/env.", "file://{here}/env/x {here}/env."),
        ("{here}/ws/environment/a ws/env-2/a my.ws/env/a other/ws/env", None),
        ("/elsewhere{here}/ws/env nothing", None),
        ("loss 0.5", None),
    ],
)
def test_only_the_environments_own_place_is_another(
    tmp_path: Path, written: str, told: str | None
) -> None:
    program, run = printing(tmp_path, written.format(here=tmp_path))
    again = as_in_original(run, program, tmp_path / "ws/env", tmp_path / "env")
    assert run.output is not None and again.output is not None
    assert run.output.read_text() == written.format(here=tmp_path)  # what was written stays
    assert again.output.read_text() == (told or written).format(here=tmp_path)
    assert (again.output_digest == run.output_digest) == (told is None)


def test_a_command_judges_what_was_written(tmp_path: Path) -> None:
    program, run = printing(tmp_path, f"{tmp_path}/ws/env")
    judged = Output(compare=OutputComparison.COMMAND, command=["true"])
    again = as_in_original(run, replace(program, output=judged), tmp_path / "ws/env", tmp_path)
    assert again.output == run.output
