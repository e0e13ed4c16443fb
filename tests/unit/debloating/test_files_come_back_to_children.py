"""Programs that a program starts find what was removed, whatever they are and wherever it is."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from machine_root import root_of_programs
from returning import build, make_original, make_slim, missed, python, run

from trimtab.config.groups.debloat import Fallback
from trimtab.debloating.fallback import FILE_FALLBACK_LIBRARY, Source
from trimtab.debloating.files.file_fallback import add_file_fallback
from trimtab.debloating.files.folder_tree import prefix_tree, root_tree
from trimtab.debloating.targets.python_prefix import PythonPrefix
from trimtab.records.used import ByteCodeRead

INSIDE = """
perl -e 'print 5 x 3, "\n"'; kept a b; lost 'c d'; cd /usr/bin
./lost x; env -i /usr/bin/lost y; echo $LD_PRELOAD
"""
POOL = """
import multiprocessing, sys
def read(number): return open(sys.argv[2]).read()
if __name__ == "__main__":
    multiprocessing.set_start_method(sys.argv[1])
    with multiprocessing.Pool(2) as pool: print(pool.map(read, range(3)))
"""

SHARING = """
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LITTLE = 64, MUCH = 65536 };
static char stack[1 << 18] __attribute__((aligned(16)));
static char names[2][MUCH];
static int folder;

static int add(char *to, size_t room) {
  static _Alignas(8) char entries[MUCH];
  ssize_t got = getdents64(folder, entries, room);
  for (ssize_t at = 0; at < got; at += ((struct dirent64 *)(entries + at))->d_reclen)
    strcat(strcat(to, ((struct dirent64 *)(entries + at))->d_name), " ");
  return got > 0;
}

static int child(void *other) {
  close(folder);
  if (open(other, O_RDONLY | O_DIRECTORY) != folder) return 1;
  while (add(names[1], MUCH)) {}
  return 0;
}

int main(int count, char **paths) {
  int status, flags = CLONE_VM | CLONE_VFORK | SIGCHLD;
  folder = open(paths[1], O_RDONLY | O_DIRECTORY);
  add(names[0], LITTLE);
  if (waitpid(clone(child, stack + sizeof stack, flags, paths[2]), &status, 0) < 0) return 1;
  while (add(names[0], LITTLE)) {}
  puts(names[0]), puts(names[1]);
  return status;
}
"""


@pytest.mark.parametrize("other", ["away", "own"])
def test_a_child_that_shares_memory_leaves_the_lists_of_its_parent_whole(
    tmp_path: Path, other: str
) -> None:
    """Its open files are its own: the same number is another folder."""
    original = tmp_path / "original"
    for folder in ("lost", "away", "own"):
        (original / folder).mkdir(parents=True)
        for number in range(9):
            (original / folder / f"{folder}{number}").touch()
    removed = [f"/{folder}/{folder}{number}" for folder in ("lost", "away") for number in range(5)]
    slim = make_slim(original, tmp_path / "slim", removed)
    build(tmp_path / "sharing", SHARING)
    done = run(slim, tmp_path / "sharing", slim / "lost", slim / other)
    assert [sorted(line.split()) for line in done.stdout.splitlines()] == [
        [".", "..", *sorted(path.name for path in (original / folder).iterdir())]
        for folder in ("lost", other)
    ]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may change the root")
@pytest.mark.parametrize("user", [0, 65534])
def test_a_program_that_came_back_elsewhere_has_its_libraries(tmp_path: Path, user: int) -> None:
    """Another user's come back in a folder that neither kernel nor dynamic linker looks in."""
    root, slim = tmp_path / "root", tmp_path / "slim"
    root_of_programs(root, ("sh", "env", "perl"))
    (root / "tmp").chmod(0o1777)
    os.mknod(root / "dev/null", 0o20666, os.makedev(1, 3))
    for name in ("kept", "lost"):
        script = root / "usr/bin" / name
        script.write_text('#!/usr/bin/perl -w\nprint "$0 @ARGV\\n";\n')
        script.chmod(0o755)
    subprocess.run(["cp", "-a", root, slim], check=True)
    tree = root_tree(root)
    alone = ("/perl", "/lost", "libcrypt.so.1", "libcrypt.so.1.1.0", "libm.so.6")
    removed = [path for path in tree.nodes if path.endswith(alone)]
    assert len(removed) > 3
    for path in removed:
        (slim / path[1:]).unlink()
    add_file_fallback(slim, root, tree, removed, Source(Fallback.PACKED))
    (slim / "etc/ld.so.preload").write_text(f"/{FILE_FALLBACK_LIBRARY}\n")
    found = []
    for place in (root, slim):
        command = ["/usr/sbin/chroot", f"--userspec={user}:{user}", place, "/bin/sh", "-c", INSIDE]
        variables = {"PATH": "/usr/bin:/bin", "LC_ALL": "C"}
        done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=60)
        found.append(done.stdout + done.stderr)
    assert found[0].startswith("555\n/usr/bin/kept a b\n/usr/bin/lost c d\n./lost x\n")
    assert found[1] == found[0]


@pytest.fixture
def venvs(tmp_path: Path) -> Iterator[list[Path]]:
    """Two slim Python environments that lost a module, a script and data."""
    slims = []
    for name in ("one", "other"):
        venv, slim = tmp_path / f"venv-{name}", tmp_path / f"slim-{name}"
        command = [sys.executable, "-m", "venv", "--without-pip", venv]
        subprocess.run(command, check=True)
        packages = next(venv.glob("lib/python3*/site-packages"))
        (packages / "single.py").write_text(f"NAME = {name!r}\n")
        (venv / "data").write_text(f"data of {name}\n")
        shutil.copytree(venv, slim, symlinks=True)
        inside = packages.relative_to(venv)
        (slim / inside / "single.py").unlink()
        (slim / "data").unlink()
        removed = [f"/{inside}/single.py", "/data"]
        add_file_fallback(slim, venv, prefix_tree(venv), removed, Source(Fallback.ORIGINAL))
        ByteCodeRead(paths=[]).write(slim / "byte_code.json")
        PythonPrefix(venv).adapt(slim, slim, slim)
        slims.append(slim)
    yield slims


def test_children_of_a_python_environment_have_what_went_from_theirs(venvs: list[Path]) -> None:
    """Also those with no variables, without site, and of another slim environment."""
    one, other = venvs
    words = f"""
env -i cat {one}/data
{other}/bin/python -c 'import single; print(single.NAME, open("{other}/data").read())'
{one}/bin/python -S -c 'print(open("{one}/data").read())'
cat {other}/data
"""
    code = f"import os; os.execve('/bin/sh', ['sh', '-c', {words!r}], {{'PATH': '/usr/bin:/bin'}})"
    command = [one / "bin/python", "-c", code]
    found = subprocess.run(command, env={}, capture_output=True, text=True, timeout=60, check=True)
    assert found.stdout.split("\n\n") == [
        "data of one\nother data of other", "data of one", "data of other\n",
    ]  # fmt: skip
    assert found.stderr == ""
    assert set(missed(one)) == {"data"}


def test_a_child_that_does_not_see_the_environment_is_not_told_of_it(venvs: list[Path]) -> None:
    """The dynamic linker would complain of a library that it cannot find."""
    if os.geteuid():
        pytest.skip("only root may change the root")
    one = venvs[0]
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "root")
        root_of_programs(root, ("sh", "env"))
        code = (
            "import os, sys; os.chroot(sys.argv[1]); os.chdir('/'); os.execv('/bin/env', ['env'])"
        )
        command = [one / "bin/python", "-c", code, root]
        found = subprocess.run(command, env={}, capture_output=True, text=True, timeout=60)
    assert found.returncode == 0 and found.stderr == "" and "trimtab" not in found.stdout


@pytest.mark.parametrize("way", ["fork", "spawn"])
def test_strict_ends_a_pool_whose_workers_miss_something(venvs: list[Path], way: str) -> None:
    """It would start new ones without end."""
    one = venvs[0]
    (one / "pool.py").write_text(POOL)
    command = [one / "bin/python", one / "pool.py", way, one / "data"]
    done = subprocess.run(
        command, env={"TRIMTAB_FALLBACK": "strict"}, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 70 and "data was removed" in done.stderr
    assert "of this program asked for what was removed" in done.stderr
    assert missed(one) == ["data"] and not (one / "data").exists()
    done = subprocess.run(command, env={}, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.count("data of one") == 3


def test_many_children_take_no_more_memory(tmp_path: Path) -> None:
    """What a program is started with must not stay in the memory that it shared with its parent."""
    slim = make_slim(make_original(tmp_path / "env"), tmp_path / "slim")
    code = """
import os, subprocess
def mapped_bytes(): return int(open("/proc/self/statm").read().split()[0]) * 4096
def start(times):
    for _ in range(times):
        for command in (["bin/stayed"], ["bin/tool"], ["sh", "-c", ":"], ["no-such-program"]):
            try: subprocess.run(command, stdout=subprocess.DEVNULL)
            except FileNotFoundError: pass
start(3); before = mapped_bytes(); start(20); print(mapped_bytes() - before)
"""
    assert int(python(slim, code)) < 1 << 20


def test_words_and_variables_arrive_as_they_were(tmp_path: Path) -> None:
    """Large ones, none at all, and another library to be loaded first."""
    slim = make_slim(make_original(tmp_path / "env"), tmp_path / "slim")
    code = """
import os, subprocess, sys
def of_child(variables, *words):
    code = '''
import os, sys
os.environ.pop("LC_CTYPE", 0)  # Python's own
print(sorted(os.environ.items()), sys.argv[1:])
'''
    command = [sys.executable, "-I", "-c", code, *words]
    return subprocess.check_output(command, env=variables, text=True)
many = {f"V{number}": "x" * 100 for number in range(2000)}
words = ["y" * 1000] * 100
own = os.environ["LD_PRELOAD"]
assert of_child(many, *words) == f"{sorted((many | {'LD_PRELOAD': own}).items())} {words}\\n"
assert of_child({}) == f"{[('LD_PRELOAD', own)]} []\\n"
both = f"libm.so.6:{own}"
assert of_child({"LD_PRELOAD": "libm.so.6"}) == f"{[('LD_PRELOAD', both)]} []\\n"
assert of_child({"LD_PRELOAD": both}) == f"{[('LD_PRELOAD', both)]} []\\n"
"""
    run(slim, sys.executable, "-I", "-c", code)
