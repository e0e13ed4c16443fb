"""The results of a search for its user: workloads for training and serving, as YAML.

Each file overrides the tuned workload: placed in `conf/workload/` under the name it gives, it runs
as any other workload. For a program without a workload file, it holds the command, which runs
without trimtab. Settings without a key in a workload, such as the number of cores, are in its first
lines.
"""

import json
import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from trimtab.config.groups.tuning import Kind, Tuning
from trimtab.config.groups.workload import Workload
from trimtab.errors import TrimtabError
from trimtab.files import atomic_write
from trimtab.profiling.runs.from_workload import command_line
from trimtab.records.parquet.files import write_table
from trimtab.records.tables import INFERENCE
from trimtab.records.tuning.inference import KnownArchitecture
from trimtab.tuning.deployment.module import importing_from, write_module
from trimtab.tuning.inference.alone import row_of
from trimtab.tuning.inference.server import InferenceOutcome
from trimtab.tuning.scoring.best import Row
from trimtab.tuning.trials.settings import SystemSettings

_HEADING = 2  # lines before the result


def write_best(
    path: Path,
    workload: Workload,
    tuning: Tuning,
    best: Row,
    score: Mapping[str, Any],
    found: str,
    *,
    is_described: bool = True,
) -> None:
    """Write `workload` with the best configuration: its parameters and its resources.

    `score` is what it was judged by, `found` says how it was found; `is_described`: the workload
    has a file in `conf/workload/`.
    """
    complete = tuning.completed(json.loads(best["configuration"]))
    own = {
        name.partition(".")[2]: value
        for name, value in complete.items()
        if name.partition(".")[0] in (Kind.MODEL, Kind.TRAINING)
    }
    parameters = {**own, "epochs": best["epochs"]}
    if tuning.data_fraction is not None:
        parameters["data_fraction"] = best["data_fraction"]
    settings = json.loads(best["settings"])
    said = {"system": settings}
    if not_set := json.loads(best["not_set"]):
        said["not_set"] = not_set
    said |= {
        **score,
        tuning.metric: best["accuracy"],  # as the program calls it
        "training_s": best["training_s"],
        "training_j": best["training_j"],
        "energy_source": str(best["energy_source"]),
    }
    document = _over(path, workload, parameters, settings, is_described)
    if settings and is_described:
        document["tuning"] = {
            Kind.SYSTEM.value: {name: {"default": value} for name, value in settings.items()}
        }
    _write(path, found, said, document, workload)


def write_inference(
    path: Path,
    workload: Workload,
    outcome: InferenceOutcome,
    found: str,
    *,
    is_described: bool = True,
) -> None:
    """Write the inference `workload` with the best set-up of an architecture.

    `found` and `is_described` are as for `write_best`. Raises TrimtabError where no set-up was
    measured.
    """
    best = outcome.best
    if best is None:
        raise TrimtabError(f"{path}: no inference of {dict(outcome.architecture)} was measured")
    settings = {name: v for name, v in best.configuration.items() if name != "batch_size"}
    parameters = dict(outcome.architecture)
    if "batch_size" in best.configuration:
        parameters["batch_size"] = best.configuration["batch_size"]
    said: dict[str, Any] = {
        "system": settings,
        **({"not_set": dict(best.not_set)} if best.not_set else {}),
        "inference_s": best.inference_s,
        "inference_j": None if math.isnan(best.inference_j) else best.inference_j,
        "energy": best.energy_source,
        "measured_configurations": outcome.measured,
        "planned_configurations": outcome.planned,
    }
    if best.emulated is not None and best.interval_s is not None:
        error = best.emulated.left_out_error
        said |= {
            "source": "emulated",
            "device": best.emulated.device,
            "inference_s_interval": list(best.interval_s),
            "scale_error": "unmeasured" if error is None else error,
        }
    if best.response_s is not None or best.saturated:
        said |= {"response_s": best.response_s, "saturated_batch_sizes": list(best.saturated)}
    document = _over(path, workload, parameters, settings, is_described)
    _write(path, found, said, document, workload)


def write_measured(path: Path, architectures: Sequence[KnownArchitecture]) -> None:
    """Write the table of all inference measurements of `architectures`."""
    rows = [
        row_of(json.dumps(known.architecture, sort_keys=True), one)
        for known in architectures
        for one in known.measured
    ]
    write_table(path, INFERENCE, pd.DataFrame(rows, columns=INFERENCE.names))


def result_in(path: Path) -> dict[str, Any]:
    """Return the result in a file of `write_best` or `write_inference`."""
    text = path.read_text()
    lines = [line[2:] for line in text.splitlines() if line.startswith("# ")]
    said: dict[str, Any] = yaml.safe_load("\n".join(lines[_HEADING:]))
    return {"parameters": yaml.safe_load(text)["parameters"], **said}


def _over(
    path: Path,
    workload: Workload,
    parameters: Mapping[str, Any],
    settings: Mapping[str, Any],
    is_described: bool,
) -> Row:
    """Return the keys that differ from the tuned workload's file.

    Without such a file, return all keys, and write the module that the program imports.
    """
    document: Row = {"name": f"{workload.name}_tuned", "parameters": dict(parameters)}
    threads = settings.get("threads", settings.get("cores"))
    if threads is not None:
        document["env"] = SystemSettings(threads=int(threads)).environment
        if "threads" in workload.parameters:
            document["parameters"]["threads"] = int(threads)
    if "memory_gib" in settings:
        document["memory_gib"] = settings["memory_gib"]
    if "loader_workers" in settings and "loader_workers" in workload.parameters:
        document["parameters"]["loader_workers"] = settings["loader_workers"]
    if is_described:
        return {"defaults": [workload.name, "_self_"], **document}
    if workload.marks.epoch is None:
        module = write_module(path.parent / "module")
        environment = {**workload.env, **document.get("env", {})}
        document["env"] = {**environment, "PYTHONPATH": importing_from(module, workload.env)}
    if workload.python is not None:
        document["python"] = workload.python
    return {**document, "name": path.stem, "command": list(workload.command)}


def _write(
    path: Path, found: str, said: Mapping[str, Any], document: Row, workload: Workload
) -> None:
    variables = [f"{name}={value}" for name, value in document.get("env", {}).items()]
    tuned = replace(workload, parameters={**workload.parameters, **document["parameters"]})
    words = [*(["env", *variables] if variables else []), *command_line(tuned)]
    how = "To run it: " + " ".join(shlex.join(words).splitlines())
    if "defaults" in document:
        how = f"To run it, copy it to conf/workload/{document['name']}.yaml."
    lines = [
        f"{found}.",
        how,
        *yaml.safe_dump(dict(said), sort_keys=False).splitlines(),
    ]
    comment = "".join(f"# {line}\n" for line in lines)
    with atomic_write(path) as temporary:
        temporary.write_text(comment + yaml.safe_dump(document, sort_keys=False))
