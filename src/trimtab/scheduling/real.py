"""A cell run for real: the trace's jobs on Apache Spark or on Slurm, beside their simulation."""

import os
from pathlib import Path
from platform import machine, system
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd

from trimtab.config.groups.experiment import Platform
from trimtab.config.groups.policy import PolicyConfig
from trimtab.errors import UserError
from trimtab.execution.queue_file import dispatch_policy
from trimtab.execution.slurm.cluster import SlurmCluster
from trimtab.execution.slurm.run import run_policy
from trimtab.execution.spark.programs import WARM_UP, prepare, warm_up
from trimtab.execution.spark.run import run_trace
from trimtab.execution.sprinting.choose import find_sprinter
from trimtab.files import write_json
from trimtab.policies.build import build_policy
from trimtab.records.tables import SCHEDULED, read_table, write_table
from trimtab.scheduling.schedule import Setting, facts_of
from trimtab.spark.session import spark_session
from trimtab.traces.table import read_trace

_RANKS = {"p50": 0.5, "p95": 0.95, "p99": 0.99}


def run_for_real(
    setting: Setting,
    policy: PolicyConfig,
    platform: Platform,
    scale: float,
    simulated: Path,
    destination: Path,
) -> None:
    """Run the jobs of a trace for real and write `real.parquet` (SCHEDULED) and `real.json`.

    On Slurm a second of the trace lasts `scale` seconds.
    `simulated` are the simulated jobs (SCHEDULED), which each real one is compared with. Raises
    UserError where the platform is missing or cannot run the trace.
    """
    trace = pd.concat(list(read_trace(setting.trace_path)), ignore_index=True)
    load_average = os.getloadavg()[0]
    if platform is Platform.SPARK:
        jobs, sprinter = _on_spark(setting, policy, trace)
        name, scale = f"Spark local[{setting.cluster.engine_slots}]", 1.0
    else:
        jobs, sprinter, name = _on_slurm(setting, policy, trace, scale), "none", "Slurm"
    write_table(destination / "real.parquet", SCHEDULED, jobs)
    drop_ratio = policy.parameters.get("drop_ratio", {})
    write_json(
        destination / "real.json",
        {
            "engine": name,
            "scale": scale,
            "machine": f"{system()} {machine()}, {os.cpu_count()} CPUs",
            "load_average_before": load_average,
            "sprint": sprinter,
            "energy_source": "unknown",
            "per_job": _per_job(jobs, read_table(simulated, SCHEDULED)),
            "classes": {
                str(job_class): _figures(group, drop_ratio.get(str(job_class), 0.0))
                for job_class, group in jobs.groupby("job_class", observed=True)
            },
        },
    )


def _on_spark(
    setting: Setting, policy: PolicyConfig, trace: pd.DataFrame
) -> tuple[pd.DataFrame, str]:
    classes = setting.trace.classes
    without = [name for name, facts in classes.items() if not facts.program]
    if without or not setting.cluster.engine_slots:
        raise UserError(
            f"trace {setting.trace.name} on {setting.cluster.name}: Spark needs engine_slots and a "
            f"program for each class; {', '.join(without) or 'engine_slots'} missing"
        )
    driven = dispatch_policy(policy, {name: facts.priority for name, facts in classes.items()})
    with TemporaryDirectory(prefix="trimtab-spark-") as folder:
        programs = prepare(classes, Path(folder))
        with spark_session(Path(folder) / "log", setting.cluster.engine_slots) as session:
            warm_up(session, programs, WARM_UP)
            sprinter = find_sprinter() if driven.sprints else None
            ran = run_trace(session, trace, programs, driven, sprinter)
    return ran.jobs, ran.sprinter


def _on_slurm(
    setting: Setting, policy: PolicyConfig, trace: pd.DataFrame, scale: float
) -> pd.DataFrame:
    facts = facts_of(setting)
    priorities = tuple(sorted({one.priority for one in facts.job_classes}))
    with SlurmCluster(facts.cluster, priorities) as cluster:
        outcome = run_policy(
            cluster,
            trace,
            facts.job_classes,
            build_policy(policy.kind, policy.parameters, facts),
            scale=scale,
        )
    failed = [job for job, code in outcome.exit_codes.items() if code]
    if failed:
        raise UserError(f"jobs {failed} failed on Slurm")
    return outcome.jobs


def _per_job(real: pd.DataFrame, simulated: pd.DataFrame) -> dict[str, float]:
    """Return by how much each job's response differs from the simulated one's."""
    both = real.set_index("job")["response_s"].to_frame("real").join(
        simulated.set_index("job")["response_s"].rename("simulated"), how="inner"
    )  # fmt: skip
    error_pct = 100 * (both["simulated"] - both["real"]).abs() / both["real"]
    return {
        "jobs": float(len(both)),
        "mean_error_pct": float(error_pct.mean()),
        "median_error_pct": float(error_pct.median()),
    }


def _figures(jobs: pd.DataFrame, drop_ratio: float) -> dict[str, Any]:
    processed_s = float((jobs["execution_s"] + jobs["wasted_s"]).sum())
    return {
        "priority": int(jobs["priority"].iloc[0]),
        "jobs": len(jobs),
        "response_mean_s": float(jobs["response_s"].mean()),
        **{
            f"response_{name}_s": float(jobs["response_s"].quantile(q))
            for name, q in _RANKS.items()
        },
        "waiting_mean_s": float((jobs["response_s"] - jobs["execution_s"]).mean()),
        "execution_mean_s": float(jobs["execution_s"].mean()),
        "waste_share": float(jobs["wasted_s"].sum()) / processed_s if processed_s else 0.0,
        "evictions": int(jobs["evictions"].sum()),
        "migrations": int(jobs["migrations"].sum()),
        "sprint_s": float(jobs["sprint_s"].sum()),
        "dropped_tasks": int(jobs["dropped_tasks"].fillna(0).sum()),
        "energy_j": None,
        "drop_ratio": drop_ratio,
        "accuracy_loss_pct": None,
    }
