"""One fuzzing target, guided by the coverage of our own code (atheris, libFuzzer).

    python tests/fuzz/harness.py TARGET [libFuzzer's options] [CORPUS ...]
    python tests/fuzz/harness.py TARGET --replay FILE ...     # without atheris
    python tests/fuzz/harness.py TARGET --minimise FILE       # writes FILE.minimised

An input fails its target where anything is raised but an error that people read, where it takes
more than 5 s or 1 GB, or where a file outside the target's own folder is written or opened.
"""

import atexit
import importlib
import os
import resource
import shutil
import sys
import tempfile
import time
from pathlib import Path
from types import ModuleType

HERE = Path(__file__).resolve().parent
PROJECT = HERE.parents[1]
SECONDS, GIGABYTE_KB = 5.0, 1 << 20
_WALL_SECONDS = 60  # where processor time does not pass
_MAY_BE_READ = (str(PROJECT), sys.prefix, sys.base_prefix, "/usr", "/lib", "/etc", "/proc", "/sys",
                "/dev")  # fmt: skip
_CHANGES = {"os.rename": 2, "os.remove": 1, "os.mkdir": 1, "os.rmdir": 1, "os.link": 2,
            "os.symlink": 2,
            "os.truncate": 1, "os.chmod": 1, "os.chown": 1, "os.utime": 1}  # fmt: skip


class FindingError(Exception):
    """An input broke a promise that no exception of the code tells of."""


class Target:
    """The target `name`; its files are in a folder of its own, which is empty before each input."""

    def __init__(self, name: str) -> None:
        sys.path[:0] = [str(PROJECT / "src"), str(HERE)]
        self.name = name
        self.module: ModuleType = importlib.import_module(f"targets.{name}")
        self.allowed = self.module.ERRORS
        self.folder = Path(tempfile.mkdtemp(prefix="trimtab-fuzz-")).resolve()
        atexit.register(shutil.rmtree, self.folder, ignore_errors=True)  # libFuzzer skips it
        tempfile.tempdir = str(self.folder)  # what is temporary belongs there too
        self._inside = False
        sys.addaudithook(self._audit)

    def __call__(self, data: bytes) -> None:
        """Run one input; raises what breaks a promise."""
        for path in self.folder.iterdir():
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        begun_s, peak_kb = time.process_time(), _peak_kb()
        self._inside = True
        try:
            self.module.run(data, self.folder)
        except self.allowed:
            pass
        finally:
            self._inside = False
        taken_s, more_kb = time.process_time() - begun_s, _peak_kb() - peak_kb
        if taken_s > SECONDS:
            raise FindingError(f"{taken_s:.1f} s for one input")
        if more_kb > GIGABYTE_KB:
            raise FindingError(f"{more_kb / GIGABYTE_KB:.1f} GB for one input")

    def _audit(self, event: str, arguments: tuple[object, ...]) -> None:
        if not self._inside:
            return
        if event == "open":
            path, _, flags = arguments
            writes = bool(int(str(flags or 0)) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))
            self._check(path, "opened", () if writes else _MAY_BE_READ)
        elif event in _CHANGES:
            for path in arguments[: _CHANGES[event]]:
                self._check(path, event, ())

    def _check(self, path: object, what: str, also: tuple[str, ...]) -> None:
        if not isinstance(path, str | bytes | os.PathLike):
            return  # a descriptor
        name = os.path.abspath(os.fsdecode(path))
        if not name.startswith((str(self.folder), *also)):
            self._inside = False
            raise FindingError(f"{what} {name!r}, outside its folder")


def _peak_kb() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def failure_of(target: Target, data: bytes) -> str:
    """Return what an input breaks, or an empty text."""
    try:
        target(data)
    except BaseException as error:  # whatever it is, it is the finding
        return f"{type(error).__name__}: {error}"
    return ""


def minimised(target: Target, data: bytes) -> bytes:
    """Return a short input that fails with the same kind of error."""
    kind = failure_of(target, data).partition(":")[0]
    step, until_s = len(data) // 2, time.monotonic() + 60
    while step and time.monotonic() < until_s:
        at = 0
        while at < len(data) and time.monotonic() < until_s:
            shorter = data[:at] + data[at + step :]
            if failure_of(target, shorter).partition(":")[0] == kind:
                data = shorter
            else:
                at += step
        step //= 2
    return data


def main() -> None:
    name, *options = sys.argv[1:]
    if options[:1] in (["--replay"], ["--minimise"]):
        target = Target(name)
        for path in map(Path, options[1:]):
            found = failure_of(target, path.read_bytes())
            print(f"{path}: {found or 'passes'}")
            if options[0] == "--minimise" and found:
                shorter = path.with_name(f"{path.name}.minimised")
                shorter.write_bytes(minimised(target, path.read_bytes()))
                print(f"{shorter}: {shorter.stat().st_size} bytes")
        return
    import atheris

    with atheris.instrument_imports(include=["trimtab"], enable_loader_override=False):
        target = Target(name)
    limits = [f"-timeout={_WALL_SECONDS}", "-rss_limit_mb=2500", "-max_len=16384"]
    atheris.Setup([sys.argv[0], *limits, *options], target)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
