"""A slim environment of a few files of every kind, which lost most of them."""

import ctypes
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from trimtab.config.groups.debloat import Fallback
from trimtab.debloating.fallback import FILE_FALLBACK_LIBRARY, Source
from trimtab.debloating.files.file_fallback import add_file_fallback
from trimtab.debloating.files.folder_tree import prefix_tree
from trimtab.records.misses.removed_files import read_missed_files

TEXT = "".join(f"line {number}\n" for number in range(20_000))
REMOVED = (
    "/bin/tool", "/bin/script", "/bin/alias", "/data", "/data/deep", "/data/deep/text.txt",
    "/data/empty", "/data/same", "/data/text.txt", "/data/way", "/lib/libinner.so",
    "/lib/libouter.so", "/old.conf",
)  # fmt: skip
C_TOOL = """
#include <stdio.h>
extern int outer(int);
int main(void) { printf("tool %d\\n", outer(20)); return 0; }
"""


def make_original(top: Path) -> Path:
    """Files, folders, links, hard links, a program that needs two libraries, and a script."""
    for folder in ("bin", "data/deep", "lib", "stays"):
        (top / folder).mkdir(parents=True)
    (top / "data/text.txt").write_text(TEXT)
    (top / "data/text.txt").chmod(0o640)
    os.utime(top / "data/text.txt", ns=(10**18, 10**18 + 123_456_789))
    (top / "data/same").hardlink_to(top / "data/text.txt")
    (top / "data/deep/text.txt").write_text("deep\n")
    (top / "data/empty").write_bytes(b"")
    (top / "data/way").symlink_to("deep")
    (top / "leads").symlink_to("data/way/text.txt")  # it stays
    (top / "stays/kept.txt").write_text("kept\n")
    (top / "old.conf").write_text("value=1\n")
    build(top / "lib/libinner.so", "int inner(int x) { return x + 1; }", "-shared")
    build(top / "lib/libouter.so", "int inner(int); int outer(int x) { return 2 * inner(x); }",
          "-shared", f"-L{top}/lib", "-linner", "-Wl,-rpath,$ORIGIN")  # fmt: skip
    build(top / "bin/tool", C_TOOL, f"-L{top}/lib", "-louter", "-Wl,-rpath,$ORIGIN/../lib",
          f"-Wl,-rpath-link,{top}/lib")  # fmt: skip
    shutil.copy(top / "bin/tool", top / "bin/stayed")
    (top / "bin/script").write_text(f"#!{top}/bin/alias -\necho $0 $1\n")
    (top / "bin/script").chmod(0o755)
    (top / "bin/alias").symlink_to("/bin/sh")
    return top


def build(path: Path, source: str, *options: str) -> None:
    command = ["gcc", "-x", "c", "-", "-O1", "-fPIC", "-o", str(path), *options]
    subprocess.run(command, input=source, text=True, check=True)


def make_slim(
    original: Path,
    slim: Path,
    removed: Iterable[str] = REMOVED,
    source: Source = Source(Fallback.ORIGINAL),  # noqa: B008  it is frozen
) -> Path:
    """A copy of `original` without what is `removed`, and with the fallback."""
    shutil.copytree(original, slim, symlinks=True)
    for path in sorted(removed, reverse=True):
        place = slim / path[1:]
        if place.is_symlink() or not place.is_dir():
            place.unlink()
        else:
            place.rmdir()
    add_file_fallback(slim, original, prefix_tree(original), tuple(removed), source)
    return slim


def run(
    slim: Path,
    *command: str | Path,
    variables: Mapping[str, str] | None = None,
    status: int | None = 0,
    **options: object,
) -> subprocess.CompletedProcess[str]:
    """Run a command with the fallback loaded; its end has to be `status`, if that is given."""
    environment = {
        "PATH": os.environ["PATH"],
        "LD_PRELOAD": str(slim / FILE_FALLBACK_LIBRARY),
        **(variables or {}),
    }
    done = subprocess.run(  # type: ignore[call-overload]
        [str(word) for word in command], env=environment, capture_output=True, text=True,
        timeout=60, check=False, **options,
    )  # fmt: skip
    assert status in (None, done.returncode), done.stdout + done.stderr
    return done  # type: ignore[no-any-return]


def python(slim: Path, code: str, **options: object) -> str:
    """Run Python code with the fallback loaded; what it prints."""
    return run(slim, sys.executable, "-I", "-c", code, cwd=slim, **options).stdout  # type: ignore[arg-type]


def missed(slim: Path) -> list[str]:
    """The paths in the record, each once."""
    return [miss.path for miss in read_missed_files(slim / "trimtab/fallback.jsonl")]


def forbid_writing(top: Path) -> None:
    for folder, _, files in os.walk(top):
        Path(folder).chmod(0o555)
        for name in files:
            path = Path(folder, name)
            if not path.is_symlink():
                path.chmod(path.stat().st_mode & 0o555 | 0o444)


def without_privileges() -> None:
    """Take from a process of root's what lets it write where its folders' modes forbid it."""
    drop_from_bounding_set, override = 24, 1  # PR_CAPBSET_DROP, CAP_DAC_OVERRIDE
    ctypes.CDLL(None).prctl(drop_from_bounding_set, override)
