"""How much longer inference takes on another machine, by the rooflines of both.

Williams et al. 2009; Rocha's thesis, section 7.3.4, simulates edge devices. Arithmetic, memory or
library calls bound a program. Micro-kernels measure what both machines reach of each (`rooflines`
of a hardware YAML). The bound of a program is unknown, so the scale is the geometric mean of the
factors of arithmetic and memory. Its interval spans all three factors. Models timed on both
machines (`models`) correct the scale; the interval is then the largest error of any left-out model.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from trimtab.config.groups.hardware import Hardware, Roofline
from trimtab.errors import UserError


@dataclass(frozen=True)
class Scale:
    """The factor by which a batch takes longer on another machine, with its interval.

    `left_out_error` is the largest relative error of any model timed on both machines, scaled by
    the other models. It is None, unmeasured, for fewer than two models.
    """

    slower: float
    low: float
    high: float
    left_out_error: float | None = None

    def times(self, factor: float) -> "Scale":
        """Return the scale of a machine that takes `factor` times as long as this one."""
        ends = (self.slower * factor, self.low * factor, self.high * factor)
        return Scale(*ends, self.left_out_error)


def scale(host: Hardware, device: Hardware, cores: int) -> Scale:
    """Return the factor by which `device` takes longer than `host`, each with `cores` cores.

    Raises UserError where one of them has no `rooflines`.
    """
    bounds = _bounds(host, device, cores)
    slower = _middle(bounds)
    off = _off(host, device)
    if len(off) < 2:
        return Scale(slower, min(bounds), max(bounds))
    slower *= math.exp(_mean([_mean(list(map(math.log, of))) for of in off.values()]))
    error = left_out_error(off)
    return Scale(slower, slower / (1 + error), slower * (1 + error), error)


def left_out_error(off: Mapping[str, Sequence[float]]) -> float:
    """Return the largest relative error of any model, corrected by the others.

    `off` has the ratios of measured to estimated times, by model. Each model is left out once; the
    geometric mean of the others' ratios corrects its estimates. Raises ValueError for fewer than
    two.
    """
    if len(off) < 2:
        raise ValueError(f"{len(off)} models: expected at least two")
    logs = {name: list(map(math.log, of)) for name, of in off.items()}
    means = {name: _mean(of) for name, of in logs.items()}
    left = [
        abs(own - _mean([mean for other, mean in means.items() if other != name]))
        for name, of in logs.items()
        for own in of
    ]
    return math.exp(max(left)) - 1


def at_cores(machine: Hardware, cores: int) -> Roofline:
    """Return the roofline of `cores` cores, or of all where there are fewer.

    Raises UserError for a machine without rooflines.
    """
    known = sorted(machine.rooflines, key=lambda roofline: roofline.cores)
    if not known:
        raise UserError(
            f"hardware {machine.name}: no rooflines: run `trimtab advanced probe` on that machine, "
            "and add them to its YAML"
        )
    return next((one for one in known if one.cores >= cores), known[-1])


def _bounds(host: Hardware, device: Hardware, cores: int) -> tuple[float, float, float]:
    """Return the factors of arithmetic, of memory and of calls."""
    here, there = (at_cores(machine, cores) for machine in (host, device))
    return (
        here.gflop_per_s / there.gflop_per_s,
        here.gb_per_s / there.gb_per_s,
        there.call_us / here.call_us,
    )


def _middle(bounds: tuple[float, float, float]) -> float:
    arithmetic, memory, _ = bounds
    return math.sqrt(arithmetic * memory)


def _off(host: Hardware, device: Hardware) -> dict[str, list[float]]:
    """Return, by model, the ratios of measured to scaled batch times on the device."""
    here = {(one.workload, one.batch_size, one.cores): one.batch_s for one in host.models}
    off = defaultdict(list)
    for one in device.models:
        host_s = here.get((one.workload, one.batch_size, one.cores))
        if host_s is not None:
            estimated_s = host_s * _middle(_bounds(host, device, one.cores))
            off[one.workload].append(one.batch_s / estimated_s)
    return dict(off)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
