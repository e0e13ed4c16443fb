"""What `trimtab debloat` of one program takes: wall time, and disk beside the original environment.

It is run twice: once for the time, and once while somebody looks at the disk. `--python` and what
stands behind `--` are the program, by default the training of LeNet5.
"""

import argparse
import subprocess
import tempfile
import threading
import time
from pathlib import Path

from common import save

from trimtab.disk_use import disk_use
from trimtab.records.built_environment import BuiltEnvironment
from trimtab.records.misses.settling import Settling

PROJECT = Path(__file__).resolve().parents[1]
LENET5 = ["python", str(PROJECT / "src/trimtab/workloads/lenet5.py"), "--phase", "train"]
LENET5 += ["--epochs", "4", "--batch-size", "16", "--output", "metrics.json"]
_LOOK_EVERY_S = 1.0


def debloat(folder: Path, python: Path, command: list[str]) -> float:
    """Debloat the program into `folder`/workspace and return the wall time."""
    words = [python.with_name("trimtab"), "debloat", "--workspace", folder / "workspace"]
    output = ["--output", "metrics.json"] if command == LENET5 else []
    begun = time.perf_counter()
    subprocess.run([*words, "--python", python, *output, "--", *command], cwd=folder, check=True)
    return time.perf_counter() - begun


class Watch(threading.Thread):
    """Looks again and again at how much of a disk `folder` takes beside the files of `original`."""

    def __init__(self, folder: Path, original: Path) -> None:
        super().__init__()
        self.folder, self.original = folder, disk_use([original]).keys()
        self.peak_bytes = 0
        self.ended = threading.Event()

    def extra_bytes(self) -> int:
        """The bytes on disk now."""
        try:
            now = disk_use([self.folder])
        except FileNotFoundError:
            return 0  # a folder went while it was looked at: the next look tells
        return sum(now[file] for file in now.keys() - self.original)

    def run(self) -> None:
        """Look until it has ended."""
        while not self.ended.wait(_LOOK_EVERY_S):
            self.peak_bytes = max(self.peak_bytes, self.extra_bytes())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", type=Path, default=PROJECT / ".venv/bin/python")
    parser.add_argument("--name", default="LeNet5 training", help="the program in words")
    parser.add_argument("--folder", type=Path, help="for the workspaces; same disk as ENV at best")
    parser.add_argument("command", nargs="*", default=LENET5, metavar="-- COMMAND")
    given = parser.parse_args()
    # Through a link that is the whole environment, but not through the interpreter's.
    python = given.python.parent.resolve() / given.python.name
    with tempfile.TemporaryDirectory(dir=given.folder) as name:
        folder = Path(name)
        (folder / "timed").mkdir()
        wall_s = debloat(folder / "timed", python, given.command)
        (folder / "watched").mkdir()
        watch = Watch(folder / "watched", python.parents[1])
        watch.start()
        try:
            debloat(folder / "watched", python, given.command)
        finally:
            watch.ended.set()
            watch.join()
        workspace = folder / "watched/workspace"
        built = BuiltEnvironment.read(workspace / "environment.json")
        figures = {
            "program": given.name,
            "wall_s": wall_s,
            "builds": Settling.read(workspace / "settling.json").builds,
            "original_bytes": built.before_bytes,
            "slim_bytes": built.after_bytes,
            "shared_bytes": built.shared_bytes,
            "extra_peak_bytes": watch.peak_bytes,
            "extra_after_bytes": watch.extra_bytes(),
        }
    print(figures)
    save("debloat", figures)


if __name__ == "__main__":
    main()
