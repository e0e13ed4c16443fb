"""The behaviour of an unchanged program: its end, and the comparable parts of its output."""

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
    """A workload with the findings of its first two runs, these runs, and remarks.

    Both ran unchanged code. The second was slower, as its files were followed, so times in its
    output differ.
    """

    workload: Workload
    folder: Path
    program: Program
    plain: MeasuredRun
    followed: MeasuredRun
    remarks: list[str]

    def trace(self, traced_runs: int, left_alone: Iterable[str] = ()) -> Usage:
        """Trace its functions too, and return its whole use; the remarks are among the notes.

        Functions of the objects `left_alone`, by their real paths, are not traced.
        """
        usage, _ = trace_program(
            self.workload, self.program, NO_POWER_MODEL, self.folder, traced_runs,
            self.plain, self.followed, left_alone,
        )  # fmt: skip
        return usage.model_copy(update={"notes": [*self.remarks, *usage.notes]})


def as_it_runs(workload: Workload, folder: Path, choose: bool) -> Original:
    """Run `workload` twice unchanged to find its end and a comparison of its output.

    `ends_with` becomes the end of the first run. With `choose`, the comparison is the strictest by
    which both outputs are equal. Logs and the record of its files stay in `folder`.

    Raises UserError if a run does not end well, or the two end differently. Without `choose` also
    if their outputs differ by the workload's own comparison.
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
