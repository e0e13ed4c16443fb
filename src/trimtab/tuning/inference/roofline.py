"""What inference would take on another machine, scaled by the rooflines of both.

Williams et al. 2009; Rocha's thesis, section 7.3.4, simulates edge devices. A batch takes

    calls * time of a call + max(operations / GFLOP/s, bytes / GB/s)

of which the first part is what does not grow with the batch. It is scaled by what a call takes on
both machines, and the second by their arithmetic or their memory, as the program is bound by: that
is told from how its time falls with the number of cores, between how both kernels' do. Where it
cannot be told, as with one core, the estimate lies in the middle, and the interval from the one to
the other. An interval gets wider by how far other models were off that were measured on both.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from trimtab.config.groups.hardware import Hardware, Roofline
from trimtab.errors import UserError
from trimtab.tuning.inference.prediction import BatchTimes

_TOLD_APART = 1.1  # by so much two kernels' gains from more cores have to differ


@dataclass(frozen=True)
class Scaled:
    """The estimated time of a batch on another machine, with the ends of its interval, in s.

    `source` is `scaled`: nothing of it ran on that machine.
    """

    batch_s: float
    low_s: float
    high_s: float
    source: str = "scaled"


def scaled(
    times: BatchTimes,
    host: Hardware,
    device: Hardware,
    size: int,
    cores: int,
    relative_error: float = 0.0,
) -> Scaled:
    """Return the time of a batch on `device` from those that `host` has taken.

    `relative_error` is that of other models, as `left_out_error` tells. A device with fewer or more
    cores than were tried on the host is estimated by the host's times for as many. Raises UserError
    where one of both has no `rooflines`.
    """
    here, there = (at_cores(machine, cores) for machine in (host, device))
    arithmetic = here.gflop_per_s / there.gflop_per_s
    memory = here.gb_per_s / there.gb_per_s
    calls = there.call_us / here.call_us
    share = arithmetic_share(times, host, size)
    low, high = sorted((arithmetic, memory))
    middle = arithmetic**0.5 * memory**0.5
    if share is not None:
        low = high = middle = arithmetic**share * memory ** (1 - share)
    batch_s = times.batch_s(size, cores)
    fixed_s = min(max(times.fixed_s(cores), 0.0), batch_s)
    sample_s = batch_s - fixed_s
    wider = 1 + relative_error
    return Scaled(
        fixed_s * calls + sample_s * middle,
        (fixed_s * calls + sample_s * low) / wider,
        (fixed_s * calls + sample_s * high) * wider,
    )


def arithmetic_share(times: BatchTimes, host: Hardware, size: int) -> float | None:
    """Return from 0, bound by memory, to 1, by arithmetic, what a program is; None: unknown."""
    fewest, most = min(times.cores), max(times.cores)
    one, several = at_cores(host, fewest), at_cores(host, most)
    arithmetic = several.gflop_per_s / one.gflop_per_s
    memory = several.gb_per_s / one.gb_per_s
    if max(arithmetic, memory) < _TOLD_APART * min(arithmetic, memory):
        return None
    gain = times.batch_s(size, fewest) / times.batch_s(size, most)
    return min(1.0, max(0.0, (gain - memory) / (arithmetic - memory)))


def at_cores(machine: Hardware, cores: int) -> Roofline:
    """Return the roofline of so many cores, or of all where there are fewer.

    Raises UserError for a machine without any.
    """
    known = sorted(machine.rooflines, key=lambda roofline: roofline.cores)
    if not known:
        raise UserError(
            f"hardware {machine.name}: no rooflines: run `trimtab probe` on that machine, and add "
            "them to its YAML"
        )
    return next((one for one in known if one.cores >= cores), known[-1])


def left_out_error(estimated_s: Mapping[str, float], measured_s: Mapping[str, float]) -> float:
    """Return the largest relative error of any model, estimated with the others' correction.

    Both are by model, of the same batches on the same machine. Each model's estimate is corrected
    by the geometric mean of what the other ones were off by. Raises ValueError for fewer than two.
    """
    off = {name: math.log(measured_s[name] / estimated_s[name]) for name in estimated_s}
    if len(off) < 2:
        raise ValueError(f"{len(off)} models: expected at least two")
    total = sum(off.values())
    left = [abs(own - (total - own) / (len(off) - 1)) for own in off.values()]
    return math.exp(max(left)) - 1
