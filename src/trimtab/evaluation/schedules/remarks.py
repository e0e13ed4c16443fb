"""What of the schedules a reader wants first, and what they cannot say."""

from collections.abc import Iterator, Mapping

from trimtab.evaluation.inputs.schedules import CellGroup, Schedules, outcomes, relative_pct
from trimtab.evaluation.report.key_figures import KeyFigure, change
from trimtab.evaluation.report.tables import MODELLED, Table, shown
from trimtab.evaluation.schedules.agreement import ERRORS, MEAN_OF_ERRORS


def schedule_key_figures(
    schedules: Schedules, tables: Mapping[str, Table]
) -> dict[str, list[KeyFigure]]:
    """Return, by setting, the best policies against the baseline, and how far the ways agree."""
    found = {
        setting.label: cards
        for setting in schedules.settings
        if (cards := [*_least_energy(setting), *_shortest(setting)])
    }
    errors = [
        KeyFigure(
            f"{label.removesuffix(', %')}, {row['quantity']}",
            f"{shown(row[key], 1)}\N{NO-BREAK SPACE}%",
            "mean of the errors without their sign",
        )
        for row in tables["agreement"].rows
        if row.get("job_class") == MEAN_OF_ERRORS
        for key, label in ERRORS.items()
        if row.get(key) is not None
    ]
    return found | ({"How far apart the ways are": errors} if errors else {})


def _least_energy(setting: CellGroup) -> Iterator[KeyFigure]:
    baseline = setting.baseline
    energies = [
        (cell.total_energy_j, cell)
        for cell in setting.cells
        if cell is not baseline and cell.total_energy_j is not None
    ]
    if baseline is None or not energies or not baseline.total_energy_j:
        return
    energy_j, cell = min(energies, key=lambda pair: pair[0])
    yield KeyFigure(
        f"Least energy ({cell.summary.energy_source}): {cell.label}",
        change(relative_pct(baseline.total_energy_j, energy_j)),
        f"{baseline.total_energy_j / 1e3:,.1f} → {energy_j / 1e3:,.1f} kJ, "
        f"against {baseline.label}",
    )


def _shortest(setting: CellGroup) -> Iterator[KeyFigure]:
    """Yield the policy that is best for the lowest class, and what it does to the highest."""
    highest, lowest = setting.classes[0], setting.classes[-1]
    compared = [
        outcome
        for outcome in outcomes(setting)
        if not outcome.is_real and outcome.difference_pct("response_mean_s") is not None
    ]
    of_lowest = [outcome for outcome in compared if outcome.job_class == lowest]
    if not of_lowest:
        return
    best = min(of_lowest, key=lambda outcome: outcome.numbers.response_mean_s or 0.0).cell
    for outcome in compared:
        if outcome.cell is best and outcome.job_class in (highest, lowest) and outcome.baseline:
            before, after = (n.response_mean_s for n in (outcome.baseline, outcome.numbers))
            yield KeyFigure(
                f"Mean response of {outcome.job_class}: {best.label}",
                change(outcome.difference_pct("response_mean_s")),
                f"{shown(before, 2)} → {shown(after, 2)} s, against {setting.cells[0].label}",
            )


def schedule_caveats(schedules: Schedules) -> list[str]:
    """Return, in plain words, what of the schedules was modelled, not possible or left out."""
    said: dict[str, list[str]] = {}
    for setting in schedules.settings:
        for name, remark in _of_setting(setting):
            said.setdefault(remark, []).append(name)
    for trace in schedules.traces:
        for reason, rows in trace.skipped.items():
            remark = f"{rows:,} rows of the recorded trace were left out: {reason.rstrip('.')}."
            said.setdefault(remark, []).append(trace.trace)
    return [f"{', '.join(dict.fromkeys(names))}: {remark}" for remark, names in said.items()]


def _of_setting(setting: CellGroup) -> Iterator[tuple[str, str]]:
    if setting.baseline is None:
        yield setting.label, "no policy is the baseline, so there are no differences."
    for cell in setting.cells:
        if cell.summary.energy_source == MODELLED:
            yield setting.label, "energy of the schedules is modelled, not measured."
        if cell.totals.replications == 1:
            yield setting.label, "simulated once: there are no confidence intervals."
        if cell.formula and cell.formula.not_possible_because:
            reason = cell.formula.not_possible_because.rstrip(".")
            yield f"{setting.label}, {cell.label}", f"no formula: {reason}."
        if cell.real and cell.real.scale != 1:
            yield (
                setting.label,
                f"the jobs of the real runs were scaled by {cell.real.scale:g}; their times are "
                "printed in seconds of the trace.",
            )
        if cell.real and cell.real.sprint:
            yield setting.label, f"sprinting in the real runs: {cell.real.sprint.rstrip('.')}."
