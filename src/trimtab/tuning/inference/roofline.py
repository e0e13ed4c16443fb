"""How much longer inference takes on another machine, by the rooflines of both.

Williams et al. 2009; Rocha's thesis, section 7.3.4, simulates edge devices. What bounds a program
is arithmetic, memory, or the calls of its library, and all that is known of both machines is what
micro-kernels reach of each (`rooflines` of a hardware YAML). Of a program whose bound is unknown
the scale is the geometric mean of arithmetic's and memory's, and its interval goes from the least
to the most of all three. Where models were timed on both machines (`models`), the scale is
corrected by them, and the interval is as wide as it was off for any model that was left out.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from trimtab.config.groups.hardware import Hardware, Roofline
from trimtab.errors import UserError


@dataclass(frozen=True)
class Scale:
    """By what factor a batch takes longer on another machine, with the ends of its interval.

    `left_out_error` is the largest relative error of any model that was timed on both machines,
    scaled as the others say. It is None where fewer than two were: the error is then unmeasured.
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
    """Return by what factor `device` takes longer than `host`, each with so many cores.

    Raises UserError where one of both has no `rooflines`.
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
    """Return the largest relative error of any model, estimated with the others' correction.

    `off` are by model the measured times over the estimated ones. Each model is left out once and
    its estimates are corrected by the geometric mean of what the others were off by. Raises
    ValueError for fewer than two.
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
    """Return the roofline of so many cores, or of all where there are fewer.

    Raises UserError for a machine without any.
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
    """Return, by model, how many times as long as scaled its batches took on the device."""
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
