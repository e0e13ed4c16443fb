"""The parts of this machine that trimtab uses, and how to get missing ones."""

import os
import platform
import re
import shutil
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path

from rich.table import Table
from rich.text import Text

from trimtab.binaries.rewriting.dt_auxiliary import linker_is_sound
from trimtab.cli.output.console import console
from trimtab.images.sif.squashfs import missing_programs
from trimtab.installation import how_to_add
from trimtab.places import IS_CHECKOUT, NATIVE, OPTIONAL_PARTS
from trimtab.profiling.meters.hardware_counters import HardwareCounters
from trimtab.profiling.meters.rapl import POWERCAP
from trimtab.profiling.tracing.cupti import NoGpuError, cuda_major, find_cupti


@dataclass(frozen=True)
class Finding:
    """One part: whether it is present, and how to get it, or what happens without it."""

    part: str
    present: bool
    advice: str


def _has_gpu() -> bool:
    return Path("/proc/driver/nvidia/version").exists()


def _has_cupti() -> bool:
    try:
        return find_cupti(Path(sys.executable), cuda_major()) is not None
    except NoGpuError:
        return False


def _has_counters() -> bool:
    with HardwareCounters() as counters:
        return not counters.missing


def _has_sgx_sdk() -> bool:
    sdk = os.environ.get("SGX_SDK", "/opt/intel/sgxsdk")
    return Path(sdk, "include/sgx_urts.h").exists()


def _gcc() -> bool:
    return shutil.which("gcc") is not None


def _has_spark() -> bool:
    return (OPTIONAL_PARTS / "spark/pyspark").exists() or find_spec("pyspark") is not None


def _by(make: str, otherwise: str) -> str:
    return make if IS_CHECKOUT else otherwise


# How to get parts that make gets in a checkout; `{spark}` is the command that adds that extra.
SPARK, POSTGRESQL, DOCKER = "{spark}", "{postgresql}", "{engine}, and Docker"
JAVA, SQUASHFS = "apt-get install openjdk-17-jre-headless", "apt-get install squashfs-tools-ng"
_EXTRA = re.compile(r"\{(\w+)\}")


def _in_full(advice: str) -> str:
    return _EXTRA.sub(lambda found: how_to_add(found[1]), advice)


# Parts that only make and the tests of a checkout use.
_OF_CHECKOUT = {
    "gcc and make", "NVIDIA's compiler", "Chromium", "Debian's data sets", "Slurm",
    "OpenSSL's headers", "Intel's SGX SDK", "debootstrap", "strace",
}  # fmt: skip


_PARTS: list[tuple[str, Callable[[], bool], str]] = [
    ("x86-64 Linux", lambda: (platform.system(), platform.machine()) == ("Linux", "x86_64"),
     "the tracers work on nothing else"),
    ("gcc and make", lambda: _gcc() and shutil.which("make") is not None,
     "apt-get install gcc make"),
    ("native tracers", lambda: (NATIVE / "libtrimtab-functions.so").exists(),
     _by("make native", "install trimtab again")),
    ("glibc 2.32 or newer", linker_is_sound,
     "slim libraries do not bring the fallback along: `python -S` and native programs need"
     " LD_PRELOAD=ENV/trimtab/libtrimtab-fallback.so"),
    ("hardware counters", _has_counters,
     "virtual machines often have none: the columns of EPOCHS stay empty"),
    ("RAPL energy meter", lambda: any(POWERCAP.glob("intel-rapl:*")),
     "without it energy is modelled from conf/hardware and labelled so"),
    ("NVIDIA GPU", _has_gpu,
     "only CPU code is traced without one; what another GPU needs can still be removed:"
     " trimtab debloat --gpu architecture"),
    ("CUPTI", _has_cupti,
     "kernels are then traced by name before the driver: pip install nvidia-cuda-cupti in the"
     " workload's environment"),
    ("NVIDIA's compiler", lambda: (OPTIONAL_PARTS / "cuda/nvidia").exists(),
     "make deps-cuda: the tests of GPU code need it"),
    ("Chromium", lambda: shutil.which("chromium") is not None,
     "make deps-chromium: the test of the report needs it"),
    ("Apache Spark", _has_spark,
     f"{_by('make deps-spark', SPARK)}: dias_spark, characterizations and tests need it"),
    ("Java", lambda: shutil.which("java") is not None,
     f"{_by('make deps-spark', JAVA)}: Apache Spark runs on it"),
    ("Debian's data sets", lambda: (OPTIONAL_PARTS / "data/.whole").exists(),
     "make deps-data: workloads that learn from them need it, and their tests"),
    ("Slurm", lambda: shutil.which("slurmctld") is not None,
     "make deps-slurm: the tests of policies on a real Slurm need it"),
    ("PostgreSQL's driver", lambda: find_spec("psycopg") is not None,
     f"{_by('make deps-postgresql', POSTGRESQL)}: experiment.tune.database and its test need it"),
    ("Docker's engine", lambda: shutil.which("dockerd") is not None,
     f"{_by('make deps-docker', DOCKER)}: image files are read without"),
    ("squashfs-tools-ng", lambda: not missing_programs(),
     f"{_by('make deps-sif', SQUASHFS)}: images of Apptainer (SIF) are read and written with it"),
    ("OpenSSL's headers", lambda: Path("/usr/include/openssl/evp.h").exists(),
     "make deps-openssl: task programs encrypt what goes into enclaves with it"),
    ("Intel's SGX SDK", _has_sgx_sdk,
     "task programs have enclaves without hardware; with it, SGX_SDK set to its folder, and make"
     " native, also those of kind sgx, which are untested on hardware"),
    ("debootstrap", lambda: shutil.which("debootstrap") is not None,
     "make deps-docker: the images of the benchmarks are built with it"),
    ("root", lambda: os.geteuid() == 0,
     "everything works without; as root programs can be run as another user (--user NAME), and"
     " files are linked that are others'"),
    ("strace", lambda: shutil.which("strace") is not None,
     "apt-get install strace: a second opinion in the tests of the file tracer"),
]  # fmt: skip


def missing(part: str) -> str:
    """Return a message that a part is missing and how to get it; empty if it is present."""
    return next(
        "" if look() else f"{name} is missing: {_in_full(advice)}"
        for name, look, advice in _PARTS
        if name == part
    )


def doctor() -> None:
    """List missing parts of this machine, their consequences, and how to install them."""
    findings = examine()
    table = Table("part", "state", "what to do")
    for finding in findings:
        state = Text("there", "green") if finding.present else Text("missing", "yellow")
        if not (finding.present and console.quiet):
            table.add_row(finding.part, state, finding.advice)
    if table.row_count:
        console.answer(table)
    console.result({"findings": [asdict(finding) for finding in findings]})


def examine() -> list[Finding]:
    """Look for every part and return the findings, by importance."""
    return [
        Finding(part, present, "" if present else _in_full(advice))
        for part, look, advice in _PARTS
        if IS_CHECKOUT or part not in _OF_CHECKOUT
        for present in [look()]
    ]
