"""What belongs to a run, and what to the process that measures it."""

import resource
import subprocess

from trimtab.profiling.meters.gpus import Gpus
from trimtab.profiling.meters.hardware_counters import HardwareCounters
from trimtab.profiling.meters.power_model import NO_POWER_MODEL
from trimtab.profiling.sampling.sampler import Sampler

PAGE_BYTES = 4096


def own_peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def test_a_peak_of_our_own_before_the_start_is_none_of_the_run() -> None:
    with Gpus({}) as gpus, HardwareCounters() as counters:
        sampler = Sampler(NO_POWER_MODEL, gpus, counters)
        before = own_peak_bytes()
        held = bytearray(before)
        held[::PAGE_BYTES] = b"1" * len(held[::PAGE_BYTES])
        assert own_peak_bytes() > before
        process = subprocess.Popen(["cat"], stdin=subprocess.PIPE, start_new_session=True)
        process.returncode = 0  # the sampler waits for it
        sampler.start(process.pid)
        sampler.watch(0.1)
        assert process.stdin
        process.stdin.close()
        sampler.end()
        assert sampler.finish(0.2) == 0
    assert 0 < sampler.memory.peak_bytes < before // 4
