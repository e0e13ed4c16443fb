"""Whether the slim environment gave the same output, and what the report cannot say."""

from collections.abc import Iterator

from trimtab.evaluation.inputs.measurements import Measurements
from trimtab.evaluation.libraries.sizes import NO_GPU_CODE
from trimtab.evaluation.report.tables import HARDWARE_COLUMN, MODELLED, Column, Row, Table, Value
from trimtab.evaluation.runs.pairs import DEBLOATED, ORIGINAL
from trimtab.evaluation.runs.tables import energy_source

_KNOWN = ("workload", "repeats", "equal", "comparison")
_FEW_PAIRS = 5


def verified(measurements: Measurements) -> bool:
    """Return whether every target passed with each of its workloads' outputs found equal."""
    return all(
        target.verify["passed"] is True
        and all(entry.get("equal") is True for entry in target.verify["workloads"])
        and {entry.get("workload") for entry in target.verify["workloads"]} >= {*target.workloads}
        for target in measurements.targets
    )


def verification_table(measurements: Measurements) -> Table:
    """Return a row for each verified workload of each target, with what verify.json says of it."""
    rows: list[Row] = []
    for target in measurements.targets:
        for entry in target.verify["workloads"]:
            details = [
                f"{key}: {value}"
                for key, value in sorted(entry.items())
                if key not in _KNOWN and isinstance(value, (str, int, float)) and value != ""
            ]
            row: dict[str, Value] = {"target": target.label, "hardware": target.hardware}
            row |= {key: entry.get(key) for key in _KNOWN}
            rows.append(row | {"details": "; ".join(details)})
    return Table(
        "verification",
        "Was the output the same?",
        "Each workload ran again in the slim environment, and what it wrote was compared with what "
        "it writes in the original one.",
        (
            Column("workload", "Workload"),
            Column("target", "Target"),
            HARDWARE_COLUMN,
            Column("repeats", "Runs", 0),
            Column("equal", "Equal"),
            Column("comparison", "Compared by"),
            Column("details", "Details"),
        ),
        tuple(rows),
    )


def caveats(measurements: Measurements) -> list[str]:
    """Return, in plain words, what was not measured, was modelled or went wrong.

    What holds for several targets or workloads is said once, with all their names.
    """
    names: dict[str, list[str]] = {}
    for name, remark in (
        *_of_gpu_code(measurements),
        *_of_targets(measurements),
        *_of_profiles(measurements),
    ):
        names.setdefault(remark, []).append(name)
    said = [f"{', '.join(dict.fromkeys(of))}: {remark}" for remark, of in names.items()]
    if measurements.have_gpu_code:
        return said
    return [
        f"{NO_GPU_CODE} Only CPU code was looked at and removed; the published file sizes contain "
        "GPU code.",
        *said,
    ]


def _of_gpu_code(measurements: Measurements) -> Iterator[tuple[str, str]]:
    if not measurements.have_gpu_code:
        return
    for target in measurements.targets:
        if not target.has_gpu_code:
            yield target.label, "no GPU code in this environment."
            continue
        kept = target.manifest.get("gpu_code_kept_because")
        if kept:
            yield target.label, f"all GPU code was kept: {kept}."
        for workload, usage in measurements.usages(target).items():
            if not usage.get("kernels_traced"):
                reason = usage.get("kernels_not_traced_because") or "no reason was recorded"
                yield target.label, f"the kernels of {workload} were not traced: {reason}."
            of_it = target.runs[target.runs["workload"] == workload]
            if of_it["peak_gpu_memory_bytes"].isna().all():
                yield target.label, f"the GPU memory of {workload} was not measured."


def _of_targets(measurements: Measurements) -> Iterator[tuple[str, str]]:
    for target in measurements.targets:
        runs, name = target.runs, target.label
        failed = int((runs["exit_code"] != 0).sum())
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
            if workload not in target.verify.get("resident_bytes", {}):
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
        libraries = profile.usage["libraries"]
        untraced = sum(not library.get("traced", True) for library in libraries)
        if untraced:
            yield name, f"{untraced} of {len(libraries)} loaded libraries could not be traced."
