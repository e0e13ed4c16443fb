"""A cell run for real: the trace's jobs on Apache Spark or on Slurm, beside their simulation."""

import os
from pathlib import Path
from platform import machine, system
from tempfile import TemporaryDirectory

import pandas as pd

from trimtab.config.groups.experiment import Platform
from trimtab.config.groups.policy import PolicyConfig
from trimtab.errors import UserError
from trimtab.execution.dispatch_policy import dispatch_policy
from trimtab.execution.slurm.cluster import SlurmCluster
from trimtab.execution.slurm.run import run_policy
from trimtab.execution.spark.rounds import WARM_UP
from trimtab.execution.spark.run import run_trace
from trimtab.execution.sprinting.choose import find_sprinter
from trimtab.policies.base import Policy
from trimtab.policies.facts import Facts
from trimtab.policies.registry import build_policy
from trimtab.records.summary import RealRun
from trimtab.records.tables import SCHEDULED, read_table, write_table
from trimtab.scheduling.real_figures import class_figures, job_errors
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

    On Slurm a second of the trace lasts `scale` seconds. `simulated` are the simulated jobs
    (SCHEDULED), which each real one is compared with. Raises UserError where the platform is
    missing or cannot run the trace.
    """
    trace = pd.concat(list(read_trace(setting.trace_path)), ignore_index=True)
    facts = facts_of(setting)
    built = build_policy(policy.kind, policy.parameters, facts)
    load_average = os.getloadavg()[0]
    if platform is Platform.SPARK:
        jobs, sprinter = _on_spark(setting, built, policy, trace)
        name, scale = f"Spark local[{setting.cluster.engine_slots}]", 1.0
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
    classes = setting.trace.classes
    without = [name for name, facts in classes.items() if not facts.program]
    if without or not setting.cluster.engine_slots:
        raise UserError(
            f"trace {setting.trace.name} on {setting.cluster.name}: Spark needs engine_slots and a "
            f"program for each class; {', '.join(without) or 'engine_slots'} missing"
        )
    priorities = {name: facts.priority for name, facts in classes.items()}
    driven = dispatch_policy(policy, config, priorities)
    with TemporaryDirectory(prefix="trimtab-spark-") as folder:
        programs = prepare(classes, Path(folder))
        with spark_session(Path(folder) / "log", setting.cluster.engine_slots) as session:
            warm_up(session, programs.values(), WARM_UP)
            sprinter = find_sprinter() if driven.sprints else None
            ran = run_trace(session, trace, programs, driven, sprinter)
    return ran.jobs, ran.sprinter


def _on_slurm(facts: Facts, policy: Policy, trace: pd.DataFrame, scale: float) -> pd.DataFrame:
    priorities = tuple(sorted({job_class.priority for job_class in facts.job_classes}))
    with SlurmCluster(facts.cluster, priorities) as cluster:
        outcome = run_policy(cluster, trace, facts.job_classes, policy, scale=scale)
    failed = [job for job, code in outcome.exit_codes.items() if code]
    if failed:
        raise UserError(f"jobs {failed} failed on Slurm")
    return outcome.jobs
