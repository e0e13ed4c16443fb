"""How a program behaves where nothing was changed: how it ends, and what of it can be compared."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from trimtab.config.groups.workload import Workload
from trimtab.files import remove_tree
from trimtab.processes.program import Program
from trimtab.profiling.ending import check_first_run, end_as_given
from trimtab.profiling.meters.power_model import NO_POWER_MODEL
from trimtab.profiling.profile import follow_files, trace_program
from trimtab.profiling.runs.comparable import check_steady, remark_on, strongest
from trimtab.profiling.runs.from_workload import program_of
from trimtab.profiling.runs.measured import MeasuredRun
from trimtab.profiling.runs.run import measure_run
from trimtab.records.usage import Usage


@dataclass(frozen=True)
class Original:
    """A workload with what its first two runs told, these runs, and remarks on what they told.

    Both had its code as it is; the second was slower, its files being followed, so that times in
    its output differ.
    """

    workload: Workload
    folder: Path
    program: Program
    plain: MeasuredRun
    followed: MeasuredRun
    remarks: list[str]

    def trace(self, traced_runs: int, left_alone: Iterable[str] = ()) -> Usage:
        """Trace its functions too, and return all that it used; the remarks are among the notes.

        No function of the objects `left_alone`, by their real paths, is traced.
        """
        usage, _ = trace_program(
            self.workload, self.program, NO_POWER_MODEL, self.folder, traced_runs,
            self.plain, self.followed, left_alone,
        )  # fmt: skip
        return usage.model_copy(update={"notes": [*self.remarks, *usage.notes]})


def as_it_runs(workload: Workload, folder: Path, choose: bool) -> Original:
    """Run `workload` twice as it is and find how it has to end, and what of it can be compared.

    Its `ends_with` becomes how the first run ended. With `choose` its output is compared in the
    strictest way by which both are equal. Logs and the record of its files stay in `folder`.

    Raises UserError when a run does not end well, or the second not as the first did; and without
    `choose` when their outputs are not equal as the workload has them compared.
    """
    remove_tree(folder)
    program = program_of(workload, folder / "output")
    run = measure_run(
        program, condition="original", repeat=0, hardware=NO_POWER_MODEL, log_dir=folder
    )
    plain = check_first_run(run, program.command, of_yaml=False)
    program = program.ending_as(plain.exit_code)
    followed = follow_files(program, NO_POWER_MODEL, folder)
    assert plain.output is not None and followed.output is not None  # both ended well
    remarks = []
    if choose:
        output = strongest(plain.output, followed.output, workload.output.path)
        if output.compare != workload.output.compare:
            remarks.append(remark_on(plain.output, output))
    else:
        output = workload.output
        check_steady(program, plain, followed)
    changed = replace(workload, output=output, ends_with=end_as_given(plain.exit_code))
    compared = replace(output, path=program.output.path)
    return Original(changed, folder, replace(program, output=compared), plain, followed, remarks)
