"""One cell of an experiment: a trace on a cluster under a policy, simulated."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

from trimtab.config.groups.policy import PolicyConfig
from trimtab.config.groups.trace import JobClassConfig
from trimtab.errors import UserError
from trimtab.policies.base import Policy
from trimtab.policies.heats.errors import prediction_errors
from trimtab.policies.heats.policy import Heats
from trimtab.policies.heats.training import HeatsParameters, train
from trimtab.policies.registry import build_policy
from trimtab.records.figures import ClassFigures, JobFigures, PredictionErrors
from trimtab.records.summary import CellFigures, Protection, Summary
from trimtab.scheduling.deflator import loss_pct
from trimtab.scheduling.load import CellLoad, warn_if_unstable
from trimtab.scheduling.protection import enclaves_in_use
from trimtab.scheduling.setting import Setting, facts_of
from trimtab.secure_tasks.cost import Bound
from trimtab.simulation.result import Result
from trimtab.simulation.simulate import simulate

_SAMPLES = 200
_PREDICTED = 100_000  # jobs, enough for means
FiguresT = TypeVar("FiguresT", bound=JobFigures)
_HALF_WIDTH = "_half_width_99"
_CONFIDENCE = 0.99


def simulate_cell(
    setting: Setting,
    policy: PolicyConfig,
    *,
    replications: int,
    is_baseline: bool,
    destination: Path,
) -> None:
    """Simulate a cell and write its tables and `summary.json` to the folder `destination`.

    The tables are of the first replication. The summary has means over all replications, with
    half-widths of 99 % confidence intervals. With a secure class, it also has the cell without
    protection, and at the least and the highest cost of protection. Warns before the simulation of
    a cell whose queue grows without bound. Raises UserError as simulate does, and where no job
    finished.
    """
    cluster, trace = setting.stage.cluster, setting.stage.trace
    load = warn_if_unstable(setting, policy)
    results, built = _replicated(setting, policy, replications, destination)
    if not results[0].classes:
        raise UserError(
            f"trace {trace.name} on {cluster.name} under {policy.name}: no job "
            "found a place; expected nodes that have room for some"
        )
    figures = _figures(results, built, trace.classes)
    Summary(
        cluster=cluster.name,
        trace=trace.name,
        policy=policy.name,
        policy_label=policy.label or policy.name,
        baseline=is_baseline,
        simulator=results[0].simulator,
        seed=trace.seed,
        offered_load=results[0].offered_load,
        load=_finite(load),
        unstable_because="" if load is None else load.unstable_because,
        classes=figures.classes,
        all=figures.all,
        energy_source="modelled",
        service_source=setting.facts.service_source,
        protection=_protection(setting, policy, replications),
        predictions=_predictions(setting, policy, built, destination / "jobs.parquet"),
    ).write(destination / "summary.json")


def _finite(load: CellLoad | None) -> float | None:
    return load.total if load is not None and math.isfinite(load.total) else None


def _predictions(
    setting: Setting, config: PolicyConfig, policy: Policy, jobs: Path
) -> list[PredictionErrors]:
    """Return the errors of HEATS' predictions, as first trained, on the first jobs of a cell."""
    if type(policy) is not Heats:
        return []
    facts = facts_of(setting)
    model = train(facts, HeatsParameters(**config.parameters))
    with pq.ParquetFile(jobs) as file:
        finished: pd.DataFrame = next(file.iter_batches(_PREDICTED)).to_pandas()
    return list(prediction_errors(model, facts, finished))


def _protection(setting: Setting, policy: PolicyConfig, replications: int) -> Protection | None:
    classes = setting.stage.trace.classes
    secure = [name for name, facts in classes.items() if facts.secure is not None]
    if not secure or setting.bound is None:
        return None

    def at(bound: Bound | None) -> CellFigures:
        results, built = _replicated(replace(setting, bound=bound), policy, replications, None)
        return _figures(results, built, classes)

    facts = facts_of(setting)
    enclaves = enclaves_in_use(facts.cluster, facts.job_classes)
    return Protection(secure, enclaves, at(None), at(Bound.LOW), at(Bound.HIGH))


def _replicated(
    setting: Setting, policy: PolicyConfig, replications: int, destination: Path | None
) -> tuple[list[Result], Policy]:
    """Return the results and the policy; write the first one's tables to `destination`."""
    facts, arrivals = facts_of(setting), setting.facts.arrivals
    bins = len(next(iter(arrivals.classes.values())))
    span_s = max(arrivals.bin_s * bins, 1e-9)
    results: list[Result] = []
    for replication in range(replications):
        keeps = replication == 0 and destination is not None
        seeded = replace(facts, seed=facts.seed + replication)
        built = build_policy(policy.kind, policy.parameters, seeded)
        result = simulate(
            facts.cluster,
            facts.job_classes,
            setting.frames(replication),
            built,
            seed=setting.stage.trace.seed + replication,
            folder=destination if replication == 0 else None,
            keep_jobs=keeps,
            keep_allocations=keeps,
            sample_s=span_s / _SAMPLES if keeps else None,
        )
        results.append(result)
    return results, built


def _figures(
    results: Sequence[Result], policy: Policy, classes: Mapping[str, JobClassConfig]
) -> CellFigures:
    total = mean_figures([result.total for result in results])
    by_class = _class_figures(results, policy, classes)
    return CellFigures(by_class, replace(total, replications=len(results)))


def _class_figures(
    results: Sequence[Result], policy: Policy, classes: Mapping[str, JobClassConfig]
) -> dict[str, ClassFigures]:
    return {
        name: replace(
            mean_figures([result.classes[name] for result in results if name in result.classes]),
            drop_ratio=policy.drop_ratio.get(name, 0.0),
            accuracy_loss_pct=_loss_pct(classes.get(name), policy.drop_ratio.get(name, 0.0)),
        )
        for name in results[0].classes
    }


def _loss_pct(facts: JobClassConfig | None, drop_ratio: float) -> float | None:
    if drop_ratio == 0:
        return 0.0
    if facts is None or not facts.accuracy_loss:
        return None
    return loss_pct([(ratio, loss) for ratio, loss in facts.accuracy_loss], drop_ratio)


def mean_figures(replications: Sequence[FiguresT]) -> FiguresT:
    """Return the mean of every figure, with confidence half-widths of some.

    A figure that is equal in all replications keeps its type: a count stays whole.
    """
    kind = type(replications[0])
    means: dict[str, Any] = {}
    for name in (field.name for field in fields(kind)):
        values = {getattr(figures, name) for figures in replications}
        if name.endswith(_HALF_WIDTH):
            known = _known(replications, name.removesuffix(_HALF_WIDTH))
            means[name] = half_width(known, confidence=_CONFIDENCE) if len(known) > 1 else None
        else:
            mean = values.pop() if len(values) == 1 else float(_known(replications, name).mean())
            means[name] = mean
    return kind(**means)


def _known(replications: Sequence[JobFigures], name: str) -> NDArray[np.float64]:
    values = [getattr(figures, name) for figures in replications]
    return np.array([value for value in values if value is not None], dtype=float)


def half_width(means: ArrayLike, *, confidence: float) -> float:
    """Return half the width of the confidence interval of the mean of independent `means`.

    By Student's t; `means` are two or more, of replications or of batches of one long series.
    """
    values = np.asarray(means, float)
    quantile = stdtrit(len(values) - 1, (1 + confidence) / 2)
    return float(quantile * values.std(ddof=1) / np.sqrt(len(values)))
