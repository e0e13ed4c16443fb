"""Which traced programs the library level cannot serve."""

import subprocess
from pathlib import Path

import pytest
from hand_made_root import Link, Program, elf, root_of, used

from trimtab.cli.summary import format_other_programs, format_unserved
from trimtab.debloating.images.unserved import unserved_programs
from trimtab.records.usage import Usage, UsedFile

GLIBC, MUSL = "/lib64/ld-linux-x86-64.so.2", "/lib/ld-musl-x86_64.so.1"
TREE = root_of({
    "/usr/bin/of_glibc": Program(elf("libc.so.6", interpreter=GLIBC)),
    GLIBC: Program(elf()),
    "/usr/bin/of_musl": Program(elf("libc.so", interpreter=MUSL)),
    MUSL: Program(elf()),
    "/usr/bin/static": Program(elf()),
    "/usr/bin/not_run": Program(elf()),
    "/usr/bin/of_uclibc": Program(elf(interpreter="/lib/ld64-uClibc.so.0")),
    "/usr/bin/script": Program("#!/usr/bin/static\n"),
    "/usr/bin/link": Link("static"),
    "/usr/bin/damaged": Program(elf()[:40]),
})  # fmt: skip
RUN = ("of_glibc", "of_musl", "static", "of_uclibc", "script", "link", "damaged")


def usage(*paths: str) -> Usage:
    files = [
        UsedFile(use.path, use.real_path, sorted(use.uses)) for use in used(*paths, uses="execute")
    ]
    return Usage(workload="program", command=["x"], complete=True, files=files)


def test_which_they_are() -> None:
    run = [f"/usr/bin/{name}" for name in RUN] + [GLIBC, MUSL]
    assert unserved_programs(TREE, [usage(*run)]) == {
        "/usr/bin/of_musl": "of musl",
        "/usr/bin/of_uclibc": "of another C library",
        "/usr/bin/static": "static",
    }
    assert unserved_programs(TREE, [usage("/usr/bin/of_glibc", GLIBC)]) == {}


def test_of_go_whoever_starts_it(tmp_path: Path) -> None:
    """A shared library with the note of Go's linker and an interpreter stands for a program."""
    source = (
        f'.section .interp, "a"\n.asciz "{GLIBC}"\n'
        '.section .note.go.buildid, "a", @note\n.long 4, 8, 4\n.ascii "Go\\0\\0"\n.quad 1\n'
    )
    command = ["gcc", "-x", "assembler", "-", "-shared", "-nostdlib", "-o", tmp_path / "program"]
    subprocess.run(command, input=source, text=True, check=True)
    program = Program((tmp_path / "program").read_bytes())
    tree = root_of({"/usr/bin/of_go": program, GLIBC: Program(elf())})
    assert unserved_programs(tree, [usage("/usr/bin/of_go")]) == {"/usr/bin/of_go": "of Go"}


@pytest.mark.parametrize("number", [1, 5])
def test_in_words(number: int) -> None:
    words = format_unserved({f"/bin/{place}": "static" for place in range(number)})
    assert words.startswith("functions were not traced in /bin/0 (static)")
    assert words.endswith("what they load stays whole")
    assert ("2 more" in words) == (number == 5)
    assert "/trimtab/init" in format_other_programs(number == 5)
    assert ("those above" in format_other_programs(number == 5)) == (number == 5)
