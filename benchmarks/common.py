"""What every benchmark shares: the machine in words, medians with their spread, results files."""

import json
import os
import platform
import statistics
import subprocess
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from trimtab.files import write_json

RESULTS = Path(__file__).parent / "results"


def machine() -> str:
    """The processor, cores and memory of this machine."""
    cpu = next(
        line.split(":", 1)[1].strip()
        for line in Path("/proc/cpuinfo").read_text().splitlines()
        if line.startswith("model name")
    )
    memory_gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{cpu}, {os.cpu_count()} cores, {memory_gib:.0f} GiB, {platform.platform()}"


def save(name: str, figures: dict[str, object]) -> None:
    """Write one benchmark's figures beside the machine and the date."""
    now = f"{datetime.now(UTC):%Y-%m-%d}"
    write_json(RESULTS / f"{name}.json", {"machine": machine(), "date": now, **figures})


def load(name: str) -> dict[str, object] | None:
    """Return the figures of an earlier run of the benchmark `name`, if there was one."""
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() else None


def spread(values: Sequence[float]) -> dict[str, object]:
    """The median of `values`, their ends, and themselves."""
    return {
        "median": statistics.median(values),
        "low": min(values),
        "high": max(values),
        "values": list(values),
    }


def wall_s(command: Sequence[str], environment: Mapping[str, str], workdir: Path) -> float:
    """Run `command`, which has to succeed, and return its wall time."""
    begun = time.perf_counter()
    subprocess.run(
        command, env=dict(environment), cwd=workdir, check=True, stdout=subprocess.DEVNULL
    )
    return time.perf_counter() - begun
