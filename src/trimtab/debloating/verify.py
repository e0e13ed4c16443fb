"""Prove the slim environment: the same output, and what it costs beside the original."""

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd

from trimtab.config.groups.workload import Workload
from trimtab.debloating.crash import find_crash
from trimtab.debloating.fallback import fallback_environment
from trimtab.errors import TrimtabError, UserError
from trimtab.profiling.meters.power_model import HardwareModel
from trimtab.profiling.runs.compare import compare_outputs
from trimtab.profiling.runs.from_workload import absolute, program_of
from trimtab.profiling.runs.interleave import measure_interleaved
from trimtab.profiling.runs.measured import MeasuredRun, runs_table
from trimtab.profiling.runs.program import Program
from trimtab.profiling.runs.resident import resident_library_bytes
from trimtab.records.manifest import Manifest
from trimtab.records.removed_calls import RemovedCall, read_removed_calls
from trimtab.records.tables import RUNS, write_table
from trimtab.records.verdict import ResidentBytes, Verdict, VerifiedWorkload


class VerificationError(TrimtabError):
    """A workload does not do in the slim environment what it does in the original."""


def verify_environment(
    target: str,
    workloads: Sequence[Workload],
    hardware: HardwareModel,
    environment: Path,
    manifest: Path,
    repeats: int,
    destination: Path,
) -> None:
    """Run every workload in both environments in turn; write verify.json, verify_runs.parquet.

    All outputs in the slim environment have to equal the first one in the original, and no removed
    function may have been called there. Otherwise `destination`/failure keeps the runs' output and
    logs, verify.json names the functions, or where the program died, and VerificationError is
    raised. Raises UserError when the
    workload's output changes from run to run in the original environment already.
    """
    debloated = Manifest.read(manifest)
    slim, original = absolute(environment), Path(debloated.environment.location)
    destination.mkdir(parents=True, exist_ok=True)
    failure_folder = destination / "failure"
    shutil.rmtree(failure_folder, ignore_errors=True)
    (destination / "verify.json").unlink(missing_ok=True)
    runs_folder = destination / "verification"
    shutil.rmtree(runs_folder, ignore_errors=True)
    verdict = Verdict(target=target, hardware=hardware.name, passed=True)
    frames = []
    for workload in workloads:
        folder = runs_folder / workload.name
        record = folder / "removed_calls.jsonl"
        programs = {
            "original": program_of(workload, folder / "original"),
            "debloated": _strict_program(workload, folder / "debloated", slim, record),
        }
        runs = measure_interleaved(programs, repeats, hardware=hardware, log_dir=folder / "logs")
        equal_runs = _equal(programs["original"], runs)
        calls = read_removed_calls(record)
        problem = _problem(workload, programs["original"], runs, calls)
        verdict.workloads.append(
            VerifiedWorkload(
                workload=workload.name,
                repeats=repeats,
                equal=equal_runs == repeats,
                equal_runs=equal_runs,
                comparison=workload.output.compare,
            )
        )
        verdict.removed_calls.extend(calls)
        if problem:
            _fail(verdict, problem, workload, destination, slim, original)
        frames.append(runs_table(workload.name, runs))
        verdict.resident_bytes[workload.name] = ResidentBytes(
            original=resident_library_bytes(
                programs["original"], {original / name for name in debloated.files}
            ),
            debloated=resident_library_bytes(
                programs["debloated"], {slim / name for name in debloated.files}
            ),
        )
    write_table(destination / "verify_runs.parquet", RUNS, pd.concat(frames, ignore_index=True))
    verdict.write(destination / "verify.json")


def _strict_program(workload: Workload, run_folder: Path, slim: Path, record: Path) -> Program:
    """Return the workload in the slim environment; removed functions it calls go to `record`."""
    program = program_of(workload, run_folder, slim / "bin" / Path(workload.python).name)
    return replace(program, environment=fallback_environment(program.environment, "strict", record))


def _outputs(runs: list[MeasuredRun], condition: str) -> list[Path]:
    return [run.output for run in runs if run.condition == condition and run.output]


def _equal(program: Program, runs: list[MeasuredRun]) -> int:
    """How many outputs of the slim environment equal the original's first."""
    reference = _outputs(runs, "original")[:1]
    return sum(
        compare_outputs(reference[0], output, program.output) is None
        for output in _outputs(runs, "debloated")
        if reference
    )


def _problem(
    workload: Workload, program: Program, runs: list[MeasuredRun], calls: list[RemovedCall]
) -> str | None:
    for run in runs:
        if run.failure and run.condition == "original":
            raise UserError(f"workload {workload.name}: {run.failure}")
    reference, *others = _outputs(runs, "original")
    for output in others:
        difference = compare_outputs(reference, output, program.output)
        if difference:
            raise UserError(
                f"workload {workload.name}: its output differs from run to run in the original"
                f" environment, {difference}; fix its seed, or compare with"
                " output.compare: numeric_file and a tolerance"
            )
    problems = [run.failure for run in runs if run.failure]
    for output in _outputs(runs, "debloated"):
        difference = compare_outputs(reference, output, program.output)
        if difference:
            problems.append(f"another output, {difference}")
            break
    if calls:
        first = calls[0]
        more = f", then {len(calls) - 1} more functions" if len(calls) > 1 else ""
        problems.append(
            f"removed code was called: {first.name or f'the function at {first.address:#x}'} in"
            f" {first.library}{more}; profile more runs or a workload that does this too, or let"
            " `trimtab learn` add it"
        )
    return "; ".join(problems) or None


def _fail(
    verdict: Verdict,
    problem: str,
    workload: Workload,
    destination: Path,
    slim: Path,
    original: Path,
) -> None:
    """Keep the evidence, look where the program dies, and raise."""
    evidence = destination / "failure"
    shutil.move(destination / "verification", evidence)
    folder = evidence / workload.name
    again = _strict_program(workload, folder / "diagnosis", slim, folder / "diagnosis.jsonl")
    crash = find_crash(again, evidence, slim, original)
    problem = problem.replace(str(destination / "verification"), str(evidence))
    failure = {"failed_workload": workload.name, "problem": problem, "crash": crash}
    verdict = verdict.model_copy(update={"passed": False, **failure})
    verdict.write(evidence / "verify.json")
    where = f"; {crash}" if crash else ""
    raise VerificationError(
        f"target {verdict.target}, workload {workload.name}: {problem}{where};"
        f" everything needed to look is in {evidence}"
    )
