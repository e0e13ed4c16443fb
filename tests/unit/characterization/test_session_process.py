"""What we take beside Spark is bounded, however long a reading of the meters takes."""

import subprocess
import sys
import time
from multiprocessing import Pipe
from pathlib import Path
from typing import Any, cast

from space import SPACE

from trimtab.characterization.infrastructure import RunMeter
from trimtab.characterization.session_process import SparkProcess


class SlowMeter:
    """Takes 20 ms of processor time a reading; the run ends at the third."""

    def __init__(self, run: Any) -> None:
        self._run, self.began_s = run, list[float]()

    def sample(self) -> None:
        self.began_s.append(time.monotonic())
        until_s = time.process_time() + 0.02
        while time.process_time() < until_s:
            pass
        if len(self.began_s) == 3:
            self._run.send({"quality": 1.0})


def test_slow_readings_are_few(tmp_path: Path) -> None:
    here, there = Pipe()
    with here, there, subprocess.Popen([sys.executable, "-c", ""]) as process:
        spark = SparkProcess(here, process, tmp_path / "log", 0.0)
        meter = SlowMeter(there)
        answer = spark.ask(SPACE.defaults()[0], cast(RunMeter, meter), 0.01, 600.0)
    assert answer == {"quality": 1.0}
    first, second, third = meter.began_s
    assert min(second - first, third - second) >= 40 * 0.02
