"""Run a program once and measure its time, its use of resources and its energy.

The program runs in its own session. Memory is sampled every 50 ms, everything every
`sample_interval_s` and at the end of each epoch. Sampling takes about a twentieth of one core: with
many processes memory is sampled less often, down to once every `sample_interval_s`.
"""

import os
import time
from dataclasses import asdict, replace
from pathlib import Path

import pandas as pd

from trimtab.config.groups.output import OutputComparison
from trimtab.errors import UserError
from trimtab.processes.drive import driver_output
from trimtab.processes.launch import Launched, launched
from trimtab.processes.marks import MOST_EPOCHS, MarkLog
from trimtab.processes.program import Program, ended
from trimtab.processes.run_processes import adopting_orphans
from trimtab.profiling.long_running import LongRun
from trimtab.profiling.meters.gpus import Gpus
from trimtab.profiling.meters.hardware_counters import HardwareCounters
from trimtab.profiling.meters.os_counters import OS_COUNTERS
from trimtab.profiling.meters.power_model import HardwareModel
from trimtab.profiling.runs.compare_outputs import output_digest, save_output
from trimtab.profiling.runs.measured import MeasuredRun, last_lines, with_scores
from trimtab.profiling.sampling.sampler import Sampler
from trimtab.progress import run_done

_WATCH_INTERVAL_S = 0.05
_FIRST_WATCH_S = 0.002
_MOST_OF_A_CORE = 0.05
_STRAGGLERS_S = 2.0
_POLL_S = 0.005
_CLOCK_STEP_S = 0.02


def measure_run(
    program: Program,
    *,
    condition: str,
    repeat: int,
    hardware: HardwareModel,
    sample_interval_s: float = 1.0,
    log_dir: Path,
) -> MeasuredRun:
    """Run `program` once and return its costs; a run that fails or times out is returned too.

    `log_dir` receives `{condition}-{repeat}.stdout`, `.stderr`, the same of a server's driver, and
    a copy of the compared file. The run ends with its first process; others are killed 2 s later. A
    process can measure one run at a time.

    Start-up is the time from the start to the first line that matches `marks.first_iteration`.
    The first epoch begins at the start, each ends at its mark, the last one at the run's end.

    Raises UserError if the command cannot be started, if a run that ended well has not written its
    output or its marks, or if `log_dir` was removed.
    """
    log_dir.mkdir(parents=True, exist_ok=True)
    folder = _folder_at(log_dir)
    stem = log_dir / f"{condition}-{repeat}"
    stdout, stderr = Path(f"{stem}.stdout"), Path(f"{stem}.stderr")
    written_before = _state_of(program.output_file)
    with adopting_orphans(), Gpus(program.environment) as gpus, HardwareCounters() as counters:
        sampler = Sampler(hardware, gpus, counters)
        with launched(program, stdout, stderr) as run:
            try:
                sampler.start(run.pid)
                told = None
                if (condition, repeat) == ("original", 0):  # other runs would repeat the hint
                    is_driven = program.driver is not None
                    told = LongRun(program.command, is_driven=is_driven, logs=(stdout, stderr))
                timed_out = _follow(run, sampler, program.timeout_s, sample_interval_s, told)
                sampler.end()
                left_behind = 0 if timed_out else _await_stragglers(sampler)
            finally:
                sampler.processes.kill()
        wall_s = run.ended_s
        assert wall_s is not None  # `launched` has waited for it
        exit_code = os.waitstatus_to_exitcode(sampler.finish(wall_s))
    if _folder_at(log_dir) != folder:
        raise UserError(
            f"{log_dir}: removed, or another folder in its place, since the program was started;"
            " it has to leave the results alone, or take a --workspace that it does not touch"
        )
    if run.marks.too_many:
        raise UserError(f"marks.epoch: more than {MOST_EPOCHS} lines match {program.marks.epoch!r}")
    run_done()
    ((counts, energy),) = sampler.over([0.0, wall_s])
    measured = MeasuredRun(
        condition=condition,
        repeat=repeat,
        hardware=hardware.name,
        exit_code=exit_code,
        good_exit_codes=program.ends_with,
        server_problem=run.driving.problem if run.driving else None,
        timed_out=timed_out,
        left_behind=left_behind,
        ended_by_us=frozenset(
            sampler.processes.killed | (run.driving.stopped if run.driving else set())
        ),
        wall_s=wall_s,
        start_up_s=_no_later(run.marks.first_iteration_s, wall_s),
        peak_rss_bytes=sampler.memory.peak_bytes,
        peak_gpu_memory_bytes=sampler.gpu_use.peak_memory_bytes,
        gpu_busy_share=sampler.gpu_use.busy_share,
        gpu_energy_j=sampler.gpu_use.energy_j,
        counts={name: counts[name] for name in OS_COUNTERS},
        energy=energy,
        output_digest=None,
        output=None,
        stdout=stdout,
        stderr=stderr,
        epochs=with_scores(
            _epochs(sampler, run.marks.epoch_ends_s, wall_s), run.marks.epoch_scores
        ),
        samples=sampler.frame(),
        counters_missing=counters.missing,
    )
    if measured.failure is not None:
        return measured
    _check_marks(program, measured, run.marks)
    output = driver_output(stem) if program.driver else stdout
    if program.output_file:
        copy = Path(f"{stem}.output{program.output_file.suffix}")
        try:
            _check_written(program.output_file, written_before)
            output = save_output(program.output_file, copy, program.user)
        except UserError as error:
            raise UserError(f"{error}; {_end_of(measured)}") from None
    steady = program.output.compare != OutputComparison.EXIT_CODE
    return replace(
        measured,
        output_digest=output_digest(output) if steady else None,
        output=output,
    )


def _folder_at(path: Path) -> tuple[int, int] | None:
    """Return the device and inode of the folder at `path`, or None where there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _follow(
    run: Launched, sampler: Sampler, timeout_s: float, interval_s: float, told: LongRun | None
) -> bool:
    """Sample until the run's first process has ended; return whether it was killed."""
    next_sample_s, pause_s = interval_s, 0.0
    epochs = 0
    while run.ended_s is None:
        run.news.wait(min(pause_s, max(0.0, timeout_s - run.elapsed_s())))
        run.news.clear()
        if run.ended_s is not None:
            break
        began_s = run.elapsed_s()
        if began_s >= timeout_s:
            sampler.sample(began_s)
            run.give_up()
            sampler.processes.kill()
            return True
        if began_s >= next_sample_s or len(run.marks.epoch_ends_s) > epochs:
            epochs = len(run.marks.epoch_ends_s)
            sampler.sample(began_s)
            if began_s >= next_sample_s:
                next_sample_s = (began_s // interval_s + 1) * interval_s
        else:
            sampler.watch(began_s)
        if told is not None:
            told.look(began_s, sampler.processes.members, run.waits_for)
        spent_s = run.elapsed_s() - began_s
        # More often at first, so that the memory of a short run is sampled. Meters may be slow
        # once, for example while a GPU wakes up; the interval is limited.
        watch_s = min(_WATCH_INTERVAL_S, max(_FIRST_WATCH_S, began_s / 10))
        pause_s = max(watch_s, min(spent_s / _MOST_OF_A_CORE, interval_s))
    return False


def _await_stragglers(sampler: Sampler) -> int:
    """Let processes that outlive the first one end by themselves; return how many were killed."""
    deadline = time.monotonic() + _STRAGGLERS_S
    while time.monotonic() < deadline:
        if all(stat.is_zombie for stat in sampler.processes.living()):
            return 0
        time.sleep(_POLL_S)
    return sampler.processes.kill()


def _no_later(mark_s: float | None, wall_s: float) -> float | None:
    """Return marks with times up to the run's end: later ones were only read later."""
    return None if mark_s is None else min(mark_s, wall_s)


def _epochs(sampler: Sampler, ends_s: list[float], wall_s: float) -> pd.DataFrame:
    """Return one row an epoch; the time after the last mark belongs to the last epoch."""
    boundaries_s = [0.0, *(min(end_s, wall_s) for end_s in ends_s[:-1]), wall_s]
    rows = []
    for epoch, (counts, energy) in enumerate(sampler.over(boundaries_s)):
        start_s, end_s = boundaries_s[epoch : epoch + 2]
        times = {"epoch": epoch, "start_s": start_s, "duration_s": end_s - start_s}
        rows.append({**times, **counts, **asdict(energy)})
    return pd.DataFrame(rows)


def _check_marks(program: Program, run: MeasuredRun, found: MarkLog) -> None:
    """Raise UserError for missing marks, with the run's end as a possible reason."""
    source = program.marks.file or "standard output"
    for key, is_there in (
        ("first_iteration", found.first_iteration_s is not None),
        ("epoch", bool(found.epoch_ends_s)),
    ):
        pattern = getattr(program.marks, key)
        if pattern is not None and not is_there:
            what = f"marks.{key}: no line of {source} matches {pattern!r}; {_end_of(run)}"
            raise UserError("\n".join([what, *last_lines(run.stderr)]))


def _end_of(run: MeasuredRun) -> str:
    """Return the end of a run that has not written its output, and the log to read."""
    how = f"the {run.condition} run {run.repeat} {ended(run.exit_code)}"
    return f"{how}; see {run.stdout} and {run.stderr}"


def _state_of(path: Path | None) -> tuple[int, ...] | None:
    """Return a file's inode, size and time to detect a new version, or None without a file."""
    if path is None or not path.exists():
        return None
    time.sleep(_CLOCK_STEP_S)  # or a write in the same step of the file system's clock is missed
    state = path.stat()
    return state.st_mtime_ns, state.st_ctime_ns, state.st_ino, state.st_size


def _check_written(path: Path, before: tuple[int, ...] | None) -> None:
    if before is not None and _state_of(path) == before:
        raise UserError(
            f"output.path: {path}: the run left this file as it was; name the file that it writes"
        )
