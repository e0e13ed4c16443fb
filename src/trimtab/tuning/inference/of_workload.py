"""The inference tuning server of a workload, and how it measures."""

import hashlib
import math
import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from trimtab.config.groups.objective import Objective
from trimtab.config.groups.tuning import Kind, Tuning
from trimtab.config.groups.workload import Workload
from trimtab.errors import UserError
from trimtab.profiling.meters.machine import machine_meters
from trimtab.profiling.meters.power_model import HardwareModel
from trimtab.records.tuning.inference import Emulated, MeasuredInference
from trimtab.tuning.batching import QUANTILES
from trimtab.tuning.inference.choice import Setting, Wanted, scenario_of
from trimtab.tuning.inference.effort import MeasurementCost
from trimtab.tuning.inference.emulation import Device, Emulation, InferenceConfiguration
from trimtab.tuning.inference.known import KnownInference
from trimtab.tuning.inference.plan import InferencePlan
from trimtab.tuning.inference.server import InferenceServer
from trimtab.tuning.inference.serving import Served, served
from trimtab.tuning.narrowed import within_cores
from trimtab.tuning.scoring.score import Failure, metrics_of
from trimtab.tuning.trials.events import TrialEnded

_TAKEN = ("batch_size", "cores", "memory_gib", "frequency_mhz")


def inference_cpus(cpus: int, tuning: Tuning) -> int:
    """Return the number of CPUs for measuring inference: as it asks for, up to half of `cpus`.

    On a machine with one CPU, training and inference take turns.
    """
    cores = tuning.inference.get("cores")
    asked = 1 if cores is None else max(cores.choices or [cores.high or 1])
    return max(1, min(int(asked), cpus // 2))


def server_of(
    tuning: Tuning,
    workload: Workload,
    plan: InferencePlan,
    objective: Objective,
    hardware: HardwareModel,
    *,
    known: KnownInference,
    folder: Path,
    seed: int,
    device: Device | None = None,
) -> InferenceServer:
    """Return the inference server for `tuning`, with `workload` as its program.

    It measures configurations that are not `known` on this machine, whose power model is
    `hardware`, or on the emulated `device`. It minimises energy where the objective's scores name
    inference energy and not inference time. Raises UserError for `inference` parameters that cannot
    be measured, and for too many cores: here (`inference_cpus`) or on the device.
    """
    for name in tuning.inference:
        if name not in _TAKEN:
            expected = ", ".join(_TAKEN)
            raise UserError(f"tuning.inference.{name}: is not measured; expected of {expected}")
    names = metrics_of(objective)
    by_energy = Wanted.ENERGY in names and Wanted.TIME not in names
    cpus = inference_cpus(len(os.sched_getaffinity(0)), tuning)
    if device is not None:
        cpus = min(cpus, device.hardware.cores)
    effort = MeasurementCost()
    return InferenceServer(
        tuning=within_cores(tuning, Kind.INFERENCE, cpus),
        architecture=[name for name in tuning.model if name in workload.parameters],
        plan=plan,
        wanted=Wanted.ENERGY if by_energy else Wanted.TIME,
        scenario=scenario_of(tuning.scenario),
        known=known,
        measure=partial(measured, workload, hardware, effort, device=device),
        effort=effort,
        folder=folder,
        cpus=cpus,
        seed=seed,
    )


def measured(
    workload: Workload,
    hardware: HardwareModel,
    effort: MeasurementCost,
    architecture: Mapping[str, Any],
    configuration: Mapping[str, Setting],
    cpus: Sequence[int],
    folder: Path,
    *,
    device: Device | None = None,
) -> MeasuredInference:
    """Measure the inference of an architecture under a configuration, on some of `cpus`.

    `cores` defaults to all of them, `batch_size` to the workload's own. With a `device`, times and
    energies are those of the emulated device. `effort` receives the cost of measuring on this
    machine, and can stop it early.
    """
    own = {"batch_size": workload.parameters.get("batch_size", 1), "cores": len(cpus)}
    asked = InferenceConfiguration(**{**own, **configuration})
    meters = machine_meters(hardware)
    before = meters.read()

    def ended(how: TrialEnded) -> None:
        of = {"wall_s": how.wall_s, "cpu_s": how.cpu_s, "resident_byte_s": 0.0}
        share = meters.share(before, meters.read(), **of, cores_usable=asked.cores)
        effort.add(how.wall_s, share.energy_j)

    watched = partial(served, workload, architecture, stopped=effort.stopped, on_end=ended)
    if device is None:
        emulated = None
        found = watched(asked, hardware, folder, cpus=cpus)
    else:
        emulation = device.emulation(asked)
        emulated = _record(device, emulation)
        found = watched(
            emulation.configuration, emulation.power, folder,
            cpus=cpus, cpu_share=emulation.cpu_share, is_this_machine=False,
        )  # fmt: skip
        if isinstance(found, Served):
            found = found.times(emulation.factor)
    if isinstance(found, Failure):
        return MeasuredInference(dict(configuration), failure=found.reason)
    return MeasuredInference(
        configuration=dict(configuration),
        inference_s=found.inference_s,
        inference_j=found.inference_j if math.isfinite(found.inference_j) else None,
        energy_source=found.energy_kind,
        batch_s=np.quantile(found.batch_s, QUANTILES).tolist(),  # the choice reads no more
        peak_rss_bytes=found.peak_rss_bytes,
        not_set=dict(found.not_set),
        emulated=emulated,
    )


def machine_of(host: str, device: Device | None) -> str:
    """Return the key of costs measured on a host, given the host's key.

    A device whose YAML was changed has another key.
    """
    if device is None:
        return host
    said = hashlib.sha256(f"{device.hardware}\n{device.host.models}".encode()).hexdigest()
    return f"{device.hardware.name}_{said[:16]}_on_{host}"


def _record(device: Device, emulation: Emulation) -> Emulated:
    scale = emulation.scale
    return Emulated(
        device.hardware.name, emulation.cpu_share, scale.slower, scale.low, scale.high,
        scale.left_out_error,
    )  # fmt: skip
