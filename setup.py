"""Puts into the wheel what lies outside of src: workflow, configuration and built native code."""

import os
import shutil
import subprocess
from pathlib import Path

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py
from setuptools.dist import Distribution

PROJECT = Path(__file__).resolve().parent
PARTS = ("Snakefile", "rules", "scripts", "conf", "profiles/slurm", "dvc.yaml")


class BuildWithParts(build_py):
    """Builds the modules, and beside them `parts`, as trimtab.places looks for it."""

    def run(self) -> None:
        """Build into an empty folder: what another version left there is none of this one."""
        if self.editable_mode:
            super().run()
            return
        shutil.rmtree(self.build_lib, ignore_errors=True)
        super().run()
        parts = Path(self.build_lib, "trimtab", "parts")
        parts.mkdir(parents=True)
        hidden = shutil.ignore_patterns(".*", "__pycache__")
        for part in PARTS:
            if (PROJECT / part).is_dir():
                shutil.copytree(PROJECT / part, parts / part, ignore=hidden)
            else:
                shutil.copy2(PROJECT / part, parts / part)
        jobs = f"-j{os.cpu_count() or 1}"
        subprocess.run(["make", "--no-print-directory", "-C", PROJECT / "native", jobs], check=True)
        shutil.copytree(PROJECT / "build" / "native", parts / "native", ignore=hidden)


class PlatformWheel(bdist_wheel):
    """Tags the wheel for this platform and for every Python 3: nothing in it loads libpython."""

    def get_tag(self) -> tuple[str, str, str]:
        """Return Python, ABI and platform."""
        return "py3", "none", super().get_tag()[2]


class WithNativeCode(Distribution):
    """Has setuptools take it for a platform's own."""

    def has_ext_modules(self) -> bool:
        """Whether there is native code."""
        return True


setup(
    cmdclass={"build_py": BuildWithParts, "bdist_wheel": PlatformWheel},
    distclass=WithNativeCode,
    options={"build": {"build_base": "build/setuptools"}},
)
