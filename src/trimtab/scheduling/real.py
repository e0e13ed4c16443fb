"""A cell run for real: the trace's jobs on Apache Spark or Slurm, compared with simulation."""

import math
import os
from pathlib import Path
from platform import machine, system
from tempfile import TemporaryDirectory

import pandas as pd

from trimtab.config.groups.experiment import Platform
from trimtab.config.groups.policy import PolicyConfig
from trimtab.errors import UserError
from trimtab.execution.dispatch_policy import check_drives
from trimtab.execution.slurm.cluster import SlurmCluster
from trimtab.execution.slurm.run import run_policy
from trimtab.execution.spark.rounds import WARM_UP
from trimtab.execution.spark.run import run_trace
from trimtab.policies.base import Policy
from trimtab.policies.facts import PolicyInputs
from trimtab.policies.registry import build_policy
from trimtab.records.figures import ClassFigures
from trimtab.records.parquet.files import read_table, write_table
from trimtab.records.summary import JobErrors, RealRun
from trimtab.records.tables import SCHEDULED
from trimtab.scheduling.setting import Setting, facts_of
from trimtab.spark.program import warm_up
from trimtab.spark.programs.prepare import prepare
from trimtab.spark.session import spark_session
from trimtab.traces.table import read_trace


def run_for_real(
    setting: Setting,
    policy: PolicyConfig,
    platform: Platform,
    scale: float,
    simulated: Path,
    destination: Path,
) -> None:
    """Run the jobs of a trace for real and write `real.parquet` (SCHEDULED) and `real.json`.

    On Slurm a second of the trace lasts `scale` seconds. Each real job is compared with its
    counterpart in `simulated` (SCHEDULED). Raises UserError where the platform is missing or cannot
    run the trace.
    """
    trace = pd.concat(list(read_trace(setting.trace_path)), ignore_index=True)
    facts = facts_of(setting)
    built = build_policy(policy.kind, policy.parameters, facts)
    load_average = os.getloadavg()[0]
    if platform is Platform.SPARK:
        jobs, sprinter = _on_spark(setting, built, policy, trace)
        name, scale = f"Spark local[{setting.stage.cluster.engine_slots}]", 1.0
    else:
        jobs, sprinter, name = _on_slurm(facts, built, trace, scale), "none", "Slurm"
    write_table(destination / "real.parquet", SCHEDULED, jobs)
    RealRun(
        platform=name,
        scale=scale,
        machine=f"{system()} {machine()}, {os.cpu_count()} CPUs",
        load_average_before=load_average,
        sprint=sprinter,
        energy_source="unknown",
        per_job=job_errors(jobs, read_table(simulated, SCHEDULED)),
        classes={
            str(name): class_figures(of_class, built.drop_ratio.get(str(name), 0.0))
            for name, of_class in jobs.groupby("job_class", observed=True)
        },
    ).write(destination / "real.json")


def _on_spark(
    setting: Setting, policy: Policy, config: PolicyConfig, trace: pd.DataFrame
) -> tuple[pd.DataFrame, str]:
    cluster, classes = setting.stage.cluster, setting.stage.trace.classes
    without = [name for name, facts in classes.items() if not facts.program]
    if without or not cluster.engine_slots:
        raise UserError(
            f"trace {setting.stage.trace.name} on {cluster.name}: Spark needs engine_slots and a "
            f"program for each class; {', '.join(without) or 'engine_slots'} missing"
        )
    secure = [name for name, facts in classes.items() if facts.secure is not None]
    if secure:
        raise UserError(
            f"trace {setting.stage.trace.name}: classes: {', '.join(secure)} are secure, and Spark "
            "here has no enclaves to run them in; expected none, or a run that is only simulated"
        )
    priorities = {name: facts.priority for name, facts in classes.items()}
    check_drives(policy, config, priorities)
    with TemporaryDirectory(prefix="trimtab-spark-") as folder:
        programs = prepare(classes, Path(folder))
        with spark_session(Path(folder) / "log", cluster.engine_slots) as session:
            warm_up(session, programs.values(), WARM_UP)
            ran = run_trace(session, trace, programs, policy)
    return ran.jobs, ran.sprinter


def _on_slurm(
    facts: PolicyInputs, policy: Policy, trace: pd.DataFrame, scale: float
) -> pd.DataFrame:
    with SlurmCluster(facts.cluster) as cluster:
        outcome = run_policy(cluster, trace, facts.job_classes, policy, scale=scale)
    failed = [job for job, code in outcome.exit_codes.items() if code]
    if failed:
        raise UserError(f"jobs {failed} failed on Slurm")
    return outcome.jobs


def class_figures(jobs: pd.DataFrame, drop_ratio: float) -> ClassFigures:
    """Return the figures of the jobs of one class, without energy, which is unknown."""
    processed_s = float((jobs["execution_s"] + jobs["wasted_s"]).sum())
    response_s = jobs["response_s"]
    return ClassFigures(
        priority=int(jobs["priority"].iloc[0]),
        jobs=len(jobs),
        response_mean_s=float(response_s.mean()),
        response_p50_s=float(response_s.quantile(0.5)),
        response_p95_s=float(response_s.quantile(0.95)),
        response_p99_s=float(response_s.quantile(0.99)),
        waiting_mean_s=float((response_s - jobs["execution_s"]).mean()),
        execution_mean_s=float(jobs["execution_s"].mean()),
        set_up_mean_s=_known(jobs["set_up_s"].mean()),
        waste_share=float(jobs["wasted_s"].sum()) / processed_s if processed_s else 0.0,
        evictions=int(jobs["evictions"].sum()),
        migrations=int(jobs["migrations"].sum()),
        sprint_s=float(jobs["sprint_s"].sum()),
        dropped_tasks=int(jobs["dropped_tasks"].fillna(0).sum()),
        energy_j=None,
        drop_ratio=drop_ratio,
    )


def job_errors(real: pd.DataFrame, simulated: pd.DataFrame) -> JobErrors:
    """Return the mean and median error of simulated response times, over common jobs."""
    both = real.set_index("job")["response_s"].to_frame("real").join(
        simulated.set_index("job")["response_s"].rename("simulated"), how="inner"
    )  # fmt: skip
    error_pct = 100 * (both["simulated"] - both["real"]).abs() / both["real"]
    return JobErrors(len(both), _known(error_pct.mean()), _known(error_pct.median()))


def _known(number: float) -> float | None:
    return float(number) if math.isfinite(number) else None
