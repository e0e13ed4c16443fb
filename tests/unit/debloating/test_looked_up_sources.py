"""Sources that Python only looks up: the index tells of them, and nothing is made."""

import os
import subprocess
import sys
from pathlib import Path, PurePath

import pytest
from python_root import root_of_python
from returning import forbid_writing, make_slim, missed, python, run, without_privileges

from trimtab.cli.doctor import missing
from trimtab.config.groups.debloat import Fallback
from trimtab.debloating.fallback import FILE_FALLBACK_LIBRARY, Source
from trimtab.debloating.files.file_fallback import add_file_fallback
from trimtab.debloating.files.folder_tree import root_tree
from trimtab.native import native_path
from trimtab.processes.root import INIT, RootFileSystem

SOURCE, DATA, TEXT = "app/module.py", "app/table.csv", "x = 1\n"
LOOK = """
import json, os
def status(path, **how):
    at = os.stat(path, **how)
    return [at.st_mode, at.st_uid, at.st_gid, at.st_size, at.st_mtime_ns, at.st_nlink, at.st_dev]
folder = os.open("app", os.O_RDONLY)
print(json.dumps([
    status("app/module.py"), status(os.path.abspath("app/module.py"), follow_symlinks=False),
    status("module.py", dir_fd=folder), status("link.py"),
    [os.access("app/module.py", mode) for mode in (os.F_OK, os.R_OK, os.W_OK, os.X_OK)],
    os.path.islink("app/module.py"), os.listxattr("app/module.py"), sorted(os.listdir("app")),
]))
"""
SAME = """
import os
listed = {entry.name: entry.inode() for entry in os.scandir("app")}
print(all(os.stat("app/module.py").st_ino == listed["module.py"] for _ in range(2)))
"""
OPEN = """
import os
before = os.stat("app/module.py")
with open("app/module.py") as file:
    text, opened = file.read(), os.fstat(file.fileno())
after = os.stat("app/module.py")
print(text == "x = 1\\n", os.path.samestat(opened, after), before.st_mtime_ns == after.st_mtime_ns)
"""


@pytest.fixture
def original(tmp_path: Path) -> Path:
    app = tmp_path / "original/app"
    app.mkdir(parents=True)
    for path in (SOURCE, DATA):
        place = app.parent / path
        place.write_text(TEXT)
        place.chmod(0o640)
        os.utime(place, ns=(10**18, 10**18 + 123_456_789))
    (app.parent / "link.py").symlink_to(SOURCE)  # it stays
    return app.parent


@pytest.fixture
def slim(original: Path) -> Path:
    return make_slim(original, original.parent / "slim", [f"/{SOURCE}", f"/{DATA}"])


def made(slim: Path) -> list[str]:
    """What stands for removed files."""
    folder = slim / "trimtab/stand-ins"
    return os.listdir(folder) if folder.is_dir() else []


@pytest.mark.parametrize("behaviour", ["restore", "strict"])
def test_python_is_told_what_the_original_would_tell_it(
    original: Path, slim: Path, behaviour: str
) -> None:
    expected = subprocess.check_output([sys.executable, "-I", "-c", LOOK], cwd=original, text=True)
    assert python(slim, LOOK, variables={"TRIMTAB_FALLBACK": behaviour}) == expected
    assert not made(slim) and missed(slim) == [] and not (slim / SOURCE).exists()


def test_a_list_has_the_same_number(slim: Path) -> None:
    assert python(slim, SAME) == "True\n"


def test_it_comes_back_to_who_opens_it(slim: Path) -> None:
    assert python(slim, OPEN) == "True True True\n"
    assert missed(slim) == [SOURCE] and not made(slim)


def test_only_sources_and_only_python(slim: Path, tmp_path: Path) -> None:
    """Other programs compare the file that they looked up with the one that they open."""
    python(slim, f"import os; os.stat({DATA!r})")
    assert len(made(slim)) == 1
    run(slim, "stat", slim / SOURCE)
    assert len(made(slim)) == 2
    python(slim, LOOK)
    run(slim, "cp", "-a", slim / SOURCE, slim / DATA, tmp_path)
    assert (tmp_path / "module.py").read_text() == (tmp_path / "table.csv").read_text() == TEXT
    assert not made(slim)


def test_what_others_do_with_it_is_seen(slim: Path) -> None:
    code = """
import os, subprocess, sys
def child(code): subprocess.run([sys.executable, "-I", "-c", code], check=True)
size = os.stat("app/module.py").st_size
child("open('app/module.py', 'a').write('more')")
print(os.stat("app/module.py").st_size - size)
child("import os; os.remove('app/module.py')")
print(os.path.exists("app/module.py"), os.listdir("app"))
"""
    assert python(slim, code) == "4\nFalse ['table.csv']\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may lose its privileges")
def test_where_nothing_may_be_written(original: Path, slim: Path, tmp_path: Path) -> None:
    """What another process of the user changed for itself is seen, and nothing else is made."""
    forbid_writing(slim)
    cache = tmp_path / "cache"
    cache.mkdir()
    code = f"""
import os, subprocess, sys
before = os.stat({SOURCE!r})
print(before.st_size, before.st_mtime_ns, os.access({SOURCE!r}, os.R_OK))
print([name for _, _, names in os.walk({str(cache)!r}) for name in names])
change = "import os; open({SOURCE!r}).close(); os.utime({SOURCE!r}, (5, 5))"
subprocess.run([sys.executable, "-I", "-c", change], check=True)
print(os.stat({SOURCE!r}).st_mtime)
"""
    done = run(
        slim, sys.executable, "-I", "-c", code, cwd=slim,
        variables={"TRIMTAB_STORE_CACHE": str(cache)}, preexec_fn=without_privileges,
    )  # fmt: skip
    expected = (original / SOURCE).stat()
    assert done.stdout == f"{expected.st_size} {expected.st_mtime_ns} True\n[]\n5.0\n"


STATIC = ("srv/python3.99", "srv/tool")
LOOKING = """
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
int main(int count, char **words) {
  struct stat status = {0};
  printf("%d", stat(words[1], &status));
  printf(" %o %ld %ld", status.st_mode, (long)status.st_size, (long)status.st_mtim.tv_nsec);
  printf(" %d\\n", !access("/trimtab/stand-ins", F_OK));
}
"""


@pytest.fixture(scope="module")
def roots(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, str]:
    """A root with Python, the slim one without the sources of its byte code, and Python's path."""
    top = tmp_path_factory.mktemp("roots")
    root, slim = top / "root", top / "slim"
    interpreter = root_of_python(root, byte_code=True)
    (root / "srv/deep").mkdir()
    for name in ("text", "moved", "lost", "deep/inner", "kept"):
        (root / "srv" / name).write_text(f"{name}\n")
    (root / "srv/script").write_text("#!/bin/sh\necho $0 $1\n")
    (root / "srv/script").chmod(0o755)
    removed = [path for path in seen_below(root, "srv") if path != "/srv/kept"]
    removed += [path for path in seen_below(root, "") if has_byte_code(root, path)]
    for name in STATIC:
        static = ["gcc", "-static", "-O1", "-x", "c", "-", "-o", str(root / name)]
        subprocess.run(static, input=LOOKING, text=True, check=True)
    subprocess.run(["cp", "-a", root, slim], check=True)
    for path in sorted(removed, reverse=True):
        place = slim / path[1:]
        place.rmdir() if place.is_dir() else place.unlink()
    add_file_fallback(slim, root, root_tree(root), removed, Source(Fallback.PACKED))
    (slim / "etc/ld.so.preload").write_text(f"/{FILE_FALLBACK_LIBRARY}\n")
    (slim / INIT).write_bytes(native_path("trimtab-init").read_bytes())
    (slim / INIT).chmod(0o755)
    return root, slim, interpreter


def seen_below(root: Path, folder: str) -> list[str]:
    return [f"/{path.relative_to(root)}" for path in (root / folder).rglob("*")]


def has_byte_code(root: Path, path: str) -> bool:
    place = root / path[1:]
    return place.suffix == ".py" and any(place.parent.glob(f"__pycache__/{place.stem}.*.pyc"))


def python_in(root: Path, interpreter: str, code: str, *before: str) -> str:
    """Run Python in a root, behind the words `before`; what it prints."""
    command = [*before, interpreter, "-I", "-S", "-B", "-c", code]
    done = subprocess.run(
        RootFileSystem(root).entering(command, PurePath("/"), None),
        env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


BY_INIT = pytest.mark.parametrize("before", [[], [f"/{INIT}"]], ids=["library", "init"])


@BY_INIT
def test_modules_are_imported_by_their_byte_code(
    roots: tuple[Path, Path, str], before: list[str]
) -> None:
    root, slim, interpreter = roots
    sources = [path for path in seen_below(root, "") if has_byte_code(root, path)]
    assert len(sources) > 10
    code = f"""
import encodings.idna, json, os, sys
told = [(at.st_size, at.st_mtime_ns, at.st_mode) for at in map(os.stat, {sources!r})]
print(told, os.path.exists("/trimtab/stand-ins"), sorted(sys.modules))
print([sorted(os.listdir(os.path.dirname(path))) for path in {sources!r}])
"""
    found = python_in(slim, interpreter, code, *before)
    assert found == python_in(root, interpreter, code) and " False " in found


@pytest.mark.parametrize(("program", "makes"), [(STATIC[0], "0"), (STATIC[1], "1")])
def test_the_init_knows_an_interpreter_that_loads_no_library(
    roots: tuple[Path, Path, str], program: str, makes: str
) -> None:
    root, slim, _ = roots
    source = next(path for path in seen_below(root, "") if has_byte_code(root, path))

    def said(folder: Path, *before: str) -> list[str]:
        command = [*before, f"/{program}", source]
        inside = RootFileSystem(folder).entering(command, PurePath("/"), None)
        return subprocess.check_output(inside, text=True, timeout=60).split()

    assert said(slim, f"/{INIT}") == [*said(root)[:-1], makes]


@BY_INIT
def test_what_is_done_with_removed_files_is_what_it_was(
    roots: tuple[Path, Path, str], before: list[str]
) -> None:
    """Below the init the library only looks: the init restores."""
    code = """
import os
def tell(do, *words, **more):
    try: result = do(*words, **more)
    except OSError as error: result = error.errno
    print(do.__name__, words, result if isinstance(result, (str, int, list, bytes)) else "")
def read(path): return open(path).read()
def append(path): return open(path, "a").write("more")
def new(path): return os.close(os.open(path, os.O_CREAT | os.O_EXCL))
def size(path, **more): return os.stat(path, **more).st_size
def started(path): return os.waitpid(os.posix_spawn(path, [path, "on"], os.environ), 0)[1]
tell(size, "/srv/text"), tell(os.listdir, "/srv/deep"), tell(read, "/srv/nothing")
tell(append, "/srv/text"), tell(read, "/srv/text"), tell(new, "/srv/text"), tell(new, "/srv/lost")
tell(os.mkdir, "/srv/deep"), tell(os.rmdir, "/srv/deep"), tell(os.chdir, "/srv/deep")
tell(read, "inner"), tell(size, "../kept"), tell(os.rename, "../moved", "../kept")
tell(read, "../kept"), tell(os.link, "../lost", "../other"), tell(os.unlink, "../lost")
tell(size, "../lost"), tell(read, "../other"), tell(os.readlink, "../other")
tell(size, "inner", dir_fd=os.open("/srv/deep", os.O_RDONLY)), tell(started, "/srv/script")
print(sorted(os.listdir("/srv")), sorted(os.listdir("/srv/deep")), flush=True)
"""
    root, slim, interpreter = roots
    assert python_in(slim, interpreter, code, *before) == python_in(root, interpreter, code)


@pytest.mark.skipif(bool(reason := missing("strace")), reason=reason)
def test_the_init_is_not_asked_for_what_is_there(
    roots: tuple[Path, Path, str], tmp_path: Path
) -> None:
    """Nor for sources, lists and what never was: only for what has to come back."""

    def questions(code: str) -> int:
        log = tmp_path / "calls"
        words = [f"/{INIT}", roots[2], "-I", "-S", "-B", "-c", f"import encodings.idna, os; {code}"]
        strace = ["strace", "-f", "-qq", "-e", "ioctl", "-o", str(log)]
        command = RootFileSystem(roots[1]).entering(words, PurePath("/"), None)
        subprocess.run([*strace, *command], env={"PATH": "/usr/bin:/bin"}, check=True)
        return log.read_text().count("SECCOMP_IOCTL_NOTIF_RECV")

    looks = """
for _ in range(50):
    os.stat("/srv/kept"), os.listdir(os.path.dirname(os.__file__)), os.stat(os.__file__)
    os.path.exists("/srv/never/was")
"""
    least = questions("")
    assert questions(f"exec({looks!r})") == least
    assert questions("open('/srv/text').close()") == least + 1
