"""What never was takes few system calls, whatever its name, and is told from what was removed."""

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from itertools import product
from pathlib import Path

import pytest
from returning import make_original, make_slim, missed, python

from trimtab.cli.doctor import missing
from trimtab.debloating.fallback import FILE_FALLBACK_LIBRARY

NAMES = ("data", "deep", "text.txt", "way", "stays", "leads", "nowhere", "old.conf", "..", ".", "")
LOOK = """
import os, stat, sys
folder = os.open(".", os.O_RDONLY)
for path in sys.stdin.read().split("\\n"):
    try:
        status = os.stat(path, dir_fd=folder) if path.count("t") % 2 else os.stat(path)
        print(path, status.st_mode, not stat.S_ISREG(status.st_mode) or status.st_size)
    except OSError as error: print(path, error.errno)
"""
FAIL = """
import os, sys
for path in sys.argv[1:]:
    try: os.stat(path)
    except FileNotFoundError: pass
"""


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_original(tmp_path_factory.mktemp("original") / "env")


@pytest.mark.skipif(bool(reason := missing("strace")), reason=reason)
def test_a_path_with_the_name_of_something_removed_takes_one_call_more(
    original: Path, tmp_path: Path
) -> None:
    """It took six, and one more for each part of the path where its folder is missing too."""
    slim = make_slim(original, tmp_path / "slim")
    paths = [
        str(top / path)
        for top in (slim / "stays", tmp_path, Path("/usr/lib"))
        for path in ("text.txt", "data/text.txt", "nowhere/deep/data")
    ]
    more = calls_of(slim, paths * 20, tmp_path) - calls_of(slim, [], tmp_path)
    assert more["openat2"] == 20 * len(paths)
    assert not more["readlink"] and not more["rt_sigprocmask"] and not more["close"]
    assert not missed(slim)


@pytest.mark.skipif(bool(reason := missing("strace")), reason=reason)
def test_ways_up_and_relative_paths_take_little_too(original: Path, tmp_path: Path) -> None:
    """Linkers look for libraries along ways up; a relative path needs to know where it begins."""
    slim = make_slim(original, tmp_path / "slim")
    up = [f"{slim}/stays/../stays/./{path}" for path in ("text.txt", "data/text.txt")]
    more = calls_of(slim, up * 20, tmp_path) - calls_of(slim, [], tmp_path)
    assert more["openat2"] == 20 * len(up)
    assert not more["readlink"] and not more["rt_sigprocmask"]
    relative = [os.path.relpath(path) for path in up]
    more = calls_of(slim, relative * 20, tmp_path) - calls_of(slim, [], tmp_path)
    assert more["openat2"] == more["getcwd"] == 20 * len(up)
    assert not more["readlink"] and not more["rt_sigprocmask"]


@pytest.mark.skipif(bool(reason := missing("strace")), reason=reason)
@pytest.mark.skipif(not Path("/lib").is_symlink(), reason="/lib is no link here")
def test_a_link_at_the_top_is_read_once(original: Path, tmp_path: Path) -> None:
    """As where /usr is merged; each path over it took twelve."""
    slim = make_slim(original, tmp_path / "slim")
    more = calls_of(slim, ["/lib/data/text.txt"] * 20, tmp_path) - calls_of(slim, [], tmp_path)
    assert more["openat2"] <= 22 and more["readlink"] <= 1 and not more["rt_sigprocmask"]


@pytest.mark.skipif(bool(reason := missing("strace")), reason=reason)
def test_a_folder_is_listed_in_one_answer(original: Path, tmp_path: Path) -> None:
    """It took a pair of masks and a look at the folder for each of three calls."""
    slim = make_slim(original, tmp_path / "slim")
    listing = f"import os\nfor _ in range(20): assert os.listdir({str(slim)!r})"
    more = calls_of(slim, [], tmp_path, listing) - calls_of(slim, [], tmp_path, "import os")
    assert more["rt_sigprocmask"] == 40 and more["getdents64"] == 60
    assert more["readlink"] <= 40 and more["mmap"] <= 4


@pytest.mark.skipif(bool(reason := missing("strace")), reason=reason)
def test_a_program_that_is_not_there_takes_two_calls_more(original: Path, tmp_path: Path) -> None:
    """As where a shell looks for one along PATH; it took ten."""
    slim = make_slim(original, tmp_path / "slim")
    program = """
import os, sys
for path in sys.argv[1:]:
    try: os.execv(path, [path])
    except FileNotFoundError: pass
"""
    paths = ["/usr/lib/nowhere/program", str(slim / "stays" / "program")]
    more = calls_of(slim, paths * 20, tmp_path, program) - calls_of(slim, [], tmp_path, program)
    assert more["execve"] == more["faccessat"] == 40 and not more["rt_sigprocmask"]
    assert 40 <= more["openat2"] <= 80  # twice where the filter passes a name by chance


@pytest.mark.skipif(bool(reason := missing("strace")), reason=reason)
def test_a_child_takes_no_call_for_each_variable(original: Path, tmp_path: Path) -> None:
    """It took one for each, and one more where the variables change."""
    slim = make_slim(original, tmp_path / "slim")
    few, many = (
        count_of_child(slim, {f"VARIABLE_{number}": "" for number in range(count)}, tmp_path)
        for count in (1, 101)
    )
    assert many <= few + 4  # a page more of texts, one more of where they are


def count_of_child(slim: Path, variables: dict[str, str], tmp_path: Path) -> int:
    """The calls of a mask in a shell and the program that it becomes."""
    log = tmp_path / "calls"
    command = ["strace", "-f", "-qq", "-e", "rt_sigprocmask", "-o", str(log)]
    library = f"LD_PRELOAD={slim / FILE_FALLBACK_LIBRARY}"
    words = [*command, "-E", library, "/bin/sh", "-c", "exec /bin/true"]
    subprocess.run(words, env={"PATH": os.environ["PATH"], **variables}, check=True)
    return len(log.read_text().splitlines())


def test_every_path_leads_where_it_led(original: Path, tmp_path: Path) -> None:
    """From the top, relative, and by links outside to what stayed and what was removed."""
    slim = make_slim(original, tmp_path / "slim")
    seen = []
    for env, place in ((original, tmp_path / "a"), (slim, tmp_path / "b")):
        place.mkdir()
        (place / "env").symlink_to(env)
        (place / "data").symlink_to(env / "data")
        (place / "text.txt").symlink_to(env / "data/text.txt")
        tops = (f"{env}/", f"{place}/env/", f"{place}/", "")
        paths = [top + "/".join(names) for top in tops for names in product(NAMES, repeat=3)]
        told = python(slim, LOOK, input="\n".join(paths)) if env == slim else look(original, paths)
        seen.append(told.replace(str(env), "ENV").replace(str(place), "PLACE").splitlines())
    assert seen[1] == seen[0]


@pytest.mark.skipif(not Path("/lib").is_symlink(), reason="/lib is no link here")
def test_a_way_up_behind_a_link_is_no_way_to_the_top(original: Path, tmp_path: Path) -> None:
    """Spelled from the working directory it seems to lead to /lib, over the link it does not."""
    slim = make_slim(original, tmp_path / "slim")
    place = tmp_path / "place"
    up = len(place.parts)
    deep = slim / "/".join("d" * up)
    deep.mkdir(parents=True)
    place.mkdir()
    (place / "link").symlink_to(deep)
    path = f"link/{'../' * up}lib/libinner.so"
    program = f"""
import os
os.chdir({str(place)!r})
for path in ("/lib/nowhere/text.txt", {path!r}):
    try: print(os.stat(path).st_size > 0)
    except OSError as error: print(error.errno)
"""
    assert python(slim, program).split() == ["2", "True"]


def test_a_program_that_is_open_is_started_with_the_library(original: Path, tmp_path: Path) -> None:
    slim = make_slim(original, tmp_path / "slim")
    program = "import os; os.execve(os.open('/usr/bin/env', os.O_RDONLY), ['env'], {'A': 'b'})"
    assert f"LD_PRELOAD={slim / FILE_FALLBACK_LIBRARY}" in python(slim, program).splitlines()


def look(env: Path, paths: Iterable[str]) -> str:
    """What LOOK prints without the fallback."""
    command = [sys.executable, "-I", "-c", LOOK]
    return subprocess.run(
        command, cwd=env, input="\n".join(paths), capture_output=True, text=True, check=True
    ).stdout


def calls_of(slim: Path, paths: Iterable[str], tmp_path: Path, program: str = FAIL) -> Counter[str]:
    """The system calls of a program, one that looks at paths, by their names."""
    log = tmp_path / "calls"
    command = ["strace", "-qq", "-E", f"LD_PRELOAD={slim / FILE_FALLBACK_LIBRARY}", "-o", str(log)]
    subprocess.run([*command, sys.executable, "-I", "-c", program, *paths], check=True)
    return Counter(line.partition("(")[0] for line in log.read_text().splitlines())
