"""The debloating of workloads and targets: methods, verification and caveats."""

from collections.abc import Iterator, Mapping
from typing import Any

from trimtab.evaluation.inputs.measurements import DebloatedTarget, Measurements
from trimtab.evaluation.libraries.size_columns import NO_GPU_CODE
from trimtab.evaluation.report.blocks import Prose, Untitled, prose
from trimtab.evaluation.report.first_page import ends_of, risk_of
from trimtab.evaluation.report.section import TargetSection
from trimtab.evaluation.report.tables import (
    HARDWARE_COLUMN,
    MODELLED,
    Column,
    Row,
    Table,
    energy_source,
)
from trimtab.evaluation.runs.pairs import DEBLOATED, ORIGINAL

_FEW_PAIRS = 5
_NOISE = "times and energy are less sure than they look"


class Debloated(TargetSection):
    """The profiling runs, and the targets made from them."""

    order = 10

    def done(self) -> Iterator[Prose]:
        """Yield a description of the runs."""
        yield prose("debloated.html.j2", measurements=self.measurements)

    def caveats(self) -> Iterator[tuple[str, str]]:
        """Yield remarks on missing, modelled or failed measurements."""
        if not self.measurements.have_gpu_code:
            yield (
                "",
                f"{NO_GPU_CODE} Only CPU code was looked at and removed; the published file sizes "
                "contain GPU code.",
            )
        yield from _of_gpu_code(self.measurements)
        yield from _of_targets(self.measurements)
        yield from _of_profiles(self.measurements)


class Verification(TargetSection):
    """The equality of outputs; a failure is at the top of the page."""

    order = 20

    @property
    def passed(self) -> bool:
        """Whether every target passed with equal outputs of all its workloads."""
        return all(map(_passed, self.measurements.targets))

    def make_tables(self) -> Iterator[Table]:
        """A row for each verified workload of each target, from verify.json."""
        yield Table(
            "verification",
            "Was the output the same?",
            "Each workload ran again in the slim environment, which restores removed code on "
            "demand, and its output was compared with the original environment's. The risk is "
            "the probability that the next run asks for removed code. Its estimate (Good and "
            "Turing) is the share of slim runs that asked for code that no other run asked for. "
            "Its bound (95 %, Clopper and Pearson) counts the runs since the environment was "
            "last built.",
            (
                Column("workload", "Workload"),
                Column("target", "Target"),
                HARDWARE_COLUMN,
                Column("repeats", "Runs", 0),
                Column("equal", "Equal"),
                Column("comparison", "Compared by"),
                Column("slim_runs", "Slim runs", 0),
                Column("clean_runs", "of them asked for nothing removed", 0),
                Column("risk_percent", "Risk, %", 1),
                Column("risk_bound_percent", "at most, %", 1),
                Column("details", "Details"),
            ),
            tuple(row for target in self.measurements.targets for row in _rows(target)),
        )

    def top(self) -> Iterator[Prose]:
        """Yield the verdict."""
        yield prose(
            "verdict.html.j2",
            passed=self.passed,
            targets=self.measurements.targets,
            ends=ends_of(self.measurements.targets),
            risk=risk_of(self.measurements.targets),
        )

    def done(self) -> Iterator[Untitled]:
        """Yield the comparisons."""
        yield Untitled(self.tables[0])

    def metrics(self) -> Mapping[str, Any]:
        """Return 1 if every output was equal, else 0."""
        return {"verified": int(self.passed)}


def _passed(target: DebloatedTarget) -> bool:
    verified = {entry.workload for entry in target.verdict.workloads if entry.equal}
    return target.verdict.passed and verified >= {*target.workloads}


def _rows(target: DebloatedTarget) -> Iterator[Row]:
    for entry in target.verdict.workloads:
        yield {
            "target": target.label,
            "hardware": target.hardware,
            **vars(entry),
            "risk_percent": _percent(entry.risk.estimate if entry.risk else None),
            "risk_bound_percent": _percent(entry.risk.bound if entry.risk else None),
            "details": "; ".join(
                [f"equal_runs: {entry.equal_runs}", *([entry.ended] * bool(entry.ended))]
            ),
        }


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


def _of_gpu_code(measurements: Measurements) -> Iterator[tuple[str, str]]:
    if not measurements.have_gpu_code:
        return
    for target in measurements.targets:
        if not target.has_gpu_code:
            yield target.label, "no GPU code in this environment."
            continue
        kept = target.manifest.gpu_code_kept_because
        if kept:
            yield target.label, f"all GPU code was kept: {kept}."
        for workload, usage in measurements.usages(target).items():
            if not usage.kernels_traced:
                reason = usage.kernels_not_traced_because or "no reason was recorded"
                yield target.label, f"the kernels of {workload} were not traced: {reason}."
            of_it = target.runs[target.runs["workload"] == workload]
            if of_it["peak_gpu_memory_bytes"].isna().all():
                yield target.label, f"the GPU memory of {workload} was not measured."


def _of_targets(measurements: Measurements) -> Iterator[tuple[str, str]]:
    for target in measurements.targets:
        runs, name = target.runs, target.label
        if (machine := target.verdict.machine) and machine.busy:
            yield name, f"the machine was busy while it was measured: {machine.busy}; {_NOISE}."
        failed = int((~runs["ended_well"]).sum())
        if failed:
            yield name, f"{failed} of {len(runs)} runs failed; their pairs are left out."
        for workload in target.workloads:
            of_it = runs[runs["workload"] == workload]
            pairs = of_it[of_it["condition"] == DEBLOATED]["repeat"].nunique()
            if pairs < _FEW_PAIRS:
                yield (
                    name,
                    f"{pairs} interleaved pairs of {workload}; with fewer than {_FEW_PAIRS} the "
                    "spread says little.",
                )
            if of_it["start_up_s"].isna().all():
                yield name, f"the start-up of {workload} was not measured."
            if workload not in target.verdict.resident_bytes:
                yield name, f"resident pages of {workload} were not measured."
        left = target.libraries[~target.libraries["debloated"]]
        for reason, count in left["reason"].fillna("").value_counts().items():
            yield (
                name,
                f"{count} of {len(target.libraries)} libraries were left as they were: "
                f"{reason or 'no reason was recorded'}.",
            )


def _of_profiles(measurements: Measurements) -> Iterator[tuple[str, str]]:
    for profile in measurements.profiles:
        name, runs = profile.label, profile.runs[profile.runs["condition"] == ORIGINAL]
        methods = ", ".join(sorted(set(runs["energy_method"].dropna())))
        if runs["energy_j"].isna().all():
            yield name, f"energy was not measured ({methods or 'method not recorded'})."
        elif energy_source(runs["energy_source"]) == MODELLED:
            yield name, f"energy is modelled, not measured ({methods or 'method not recorded'})."
        if profile.epochs["cycles"].isna().all():
            yield name, "the machine gave no hardware counters."
        if not measurements.inputs.facts(profile.workload).data_set:
            yield name, "which data set it read was not stated."
        libraries = profile.usage.libraries
        untraced = sum(not library.traced for library in libraries)
        if untraced:
            yield name, f"{untraced} of {len(libraries)} loaded libraries could not be traced."
