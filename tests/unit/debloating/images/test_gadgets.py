"""Gadgets counted: each place against objdump, each rule of what is of use against code by hand."""

import re
import shutil
import struct
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from trimtab.binaries.elf.headers import PF_X
from trimtab.binaries.elf.reader import read_elf
from trimtab.debloating.images.exposure.gadgets import COUNTER, Gadgets, gadget_counter
from trimtab.errors import TrimtabError
from trimtab.native import native_path

PROGRAM = "trimtab-file-tracer"  # static, with a C library in it
LIBRARY = Path("/lib/x86_64-linux-gnu/libc.so.6")
PART_BYTES = 24_000
MOST_BYTES = 9
# Far transfers, and what user mode does not execute: no part of a gadget here.
NONE = re.compile(
    r"\(bad\)|lock|(rex\S* )?(in|out) |ins|outs|hlt|cli|sti|int3|int1|iret|sys(exit|ret)|[lr]jmp"
    r"|wrmsr|rdmsr|rdpmc|ud\d|[ls][gil]dt|lmsw|smsw|[ls]tr|ver[rw]|lar|lsl|inv|wbinvd|clts|rsm|clac|stac"
    r"|mov +%[cd]r|mov +.*,%[cd]r|data16 +(call|jmp)"
)
LAST = re.compile(r"((rep[nz]*|bnd|notrack|data16|addr32|[c-g]s|rex\S*) +)*"
                  r"(ret|lret|syscall|sysenter|int +\$0x80|(jmp|call) +\*)")  # fmt: skip
DIRECT = re.compile(r"(\S+ +)*(call|jmp) +0x")


def counted(code: bytes, *options: str) -> list[str]:
    said = subprocess.run(
        [native_path(COUNTER), *options],
        input=struct.pack("<Q", len(code)) + code + struct.pack("<Q", 0),
        capture_output=True, check=True,
    )  # fmt: skip
    return said.stdout.decode().splitlines()


def gadgets_in(code: bytes) -> Gadgets:
    return Gadgets.parse(counted(code)[-1])


def of(assembly: str, folder: Path, *, whole: bool = False) -> Gadgets:
    """The gadget that is all of some assembly; with `whole`, all in it.

    `all` is twice its score, -1 where it is of no use.
    """
    source, made, path = folder / "code.s", folder / "code.o", folder / "code"
    source.write_text(f".intel_syntax noprefix\n{assembly.replace(';', chr(10))}\n")
    subprocess.run(["as", source, "-o", made], check=True)
    subprocess.run(["objcopy", "-O", "binary", "-j", ".text", made, path], check=True)
    code = path.read_bytes()
    found = gadgets_in(code)
    if whole:
        return found
    lines = [list(map(int, line.split())) for line in counted(code, "--each")[:-1]]
    alone = [
        (kind, score) for start, length, kind, score in lines if (start, length) == (0, len(code))
    ]
    kind, score = alone[0] if alone else (0, -1)
    usable = tuple(int(score >= 0 and place == kind) for place in range(4))
    return Gadgets(score, usable)


def instructions(code: bytes, folder: Path) -> dict[int, tuple[int, str]]:
    """The instruction at each offset by objdump, each between enough nops to start anew."""
    longest, room = 15, 32
    apart = (code[start : start + longest].ljust(room, b"\x90") for start in range(len(code)))
    path = folder / "apart"
    path.write_bytes(b"".join(apart))
    listing = subprocess.run(
        ["objdump", "-D", "-b", "binary", "-m", "i386:x86-64", "--insn-width=16", path],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    found = {}
    for line in listing.splitlines():
        match = re.match(r" *([0-9a-f]+):\t((?:[0-9a-f]{2} )+) *\t(.*)", line)
        if match and int(match[1], 16) % room == 0:
            length = len(match[2].split())
            found[int(match[1], 16) // room] = length, match[3].partition("#")[0].strip()
    return found


def test_places_are_those_of_objdump(tmp_path: Path) -> None:
    if not (shutil.which("objdump") and LIBRARY.is_file()):
        pytest.skip("objdump or Debian's C library is missing: apt-get install binutils")
    elf = read_elf(LIBRARY)
    segment = next(load for load in elf.loads if load.flags & PF_X)
    code = elf.data[segment.offset + 0x20000 :][:PART_BYTES].tobytes()
    at = instructions(code, tmp_path)
    theirs = set()
    for start in at:
        here, count = start, 0
        while here in at and here - start <= MOST_BYTES:
            length, text = at[here]
            count += 1
            if NONE.match(text) or DIRECT.match(text):
                break
            if LAST.match(text):
                if count > 1 or re.search("sys|int", text):
                    theirs.add(start)
                break
            here += length
    ours = {int(line.split()[0]) for line in counted(code, "--each")[:-1]} & at.keys()
    assert len(ours) > 300
    print([(code[s : s + 14].hex(), at[s]) for s in sorted(ours - theirs)][:40])
    print([(code[s : s + 14].hex(), at[s]) for s in sorted(theirs - ours)][:40])
    # What neither Intel nor AMD documents one decodes and the other does not.
    assert len(ours ^ theirs) < 0.02 * len(ours | theirs)


needs_as = pytest.mark.skipif(shutil.which("as") is None, reason="as is missing: binutils")


@needs_as
@pytest.mark.parametrize(
    ("assembly", "kind", "twice"),
    [
        ("pop rdi; ret", 0, 0),
        ("pop rdi; ret 8", 0, 0),
        ("mov rax, rbx; mov [rcx], rdx; ret", 0, 2),
        ("add rax, rcx; shl rax, 2; ret", 0, 3),
        ("mov rax, rbx; add rax, 1; ret", 0, 2),
        ("pop rax; mov rcx, rdx; ret", 0, 2),
        ("pop rax; mov ecx, 5; ret", 0, 1),
        ("pop rax; cmove rcx, rdx; ret", 0, 4 + 2),
        ("pop rax; je .+7; ret", 0, 6),
        ("pop rax; leave; ret", 0, 4),
        ("mov rax, rbx; push rcx; ret", 0, 4),  # it leaves less on the stack
        ("pop rax; pop rsp; ret", 0, 2),
        ("pop rax; jmp rbx", 1, 0),
        ("pop rax; add rbx, 8; jmp rbx", 1, 1 + 4),
        ("pop rax; call [rbx]", 2, 0),
        ("pop rax; syscall", 3, 0),
        ("syscall", 3, 0),
        ("int 0x80", 3, 0),
    ],
)
def test_of_use(assembly: str, kind: int, twice: int, tmp_path: Path) -> None:
    found = of(assembly, tmp_path)
    assert found.usable == tuple(int(kind == place) for place in range(4))
    assert found.all == twice


@needs_as
@pytest.mark.parametrize(
    "assembly",
    [
        "ret",
        "nop; ret",
        "je .+2; ret",
        "pop rdi; ret 3",
        "pop rdi; ret 64",
        "hlt; ret",
        "in al, dx; ret",
        "lock inc qword ptr [rax]; ret",
        "pop rax; mov rax, rbx; ret",  # its value is lost
        "pop rax; mov rsp, rbx; ret",
        "mov rsp, rbx; ret",
        "movaps xmm0, xmm1; ret",
        "mov [rip + 5], eax; ret",
        "mov ebx, 5; jmp rbx",
        "xor ebx, ebx; jmp rbx",
        "pop rax; jmp [rip + 8]",
        "pop rax; call .; ret",
        "pop rax; movabs rbx, 0x1122334455667788; ret",  # too long
    ],
)
def test_of_no_use(assembly: str, tmp_path: Path) -> None:
    assert sum(of(assembly, tmp_path).usable) == 0


@needs_as
@pytest.mark.parametrize(
    ("assembly", "number"),
    [
        ("dec rdi; ret", 0), ("inc rax; ret", 1), ("pop rdi; ret", 2), ("pop rsi; ret", 3),
        ("xchg rax, rdi; ret", 4), ("push rsi; ret", 5), ("add rax, rsi; ret", 6),
        ("mov [rdi], rax; ret", 7), ("mov rax, [rsi]; ret", 8), ("leave; ret", 9),
        ("pop rbp; ret", 10),
    ],
)  # fmt: skip
def test_practical_classes(assembly: str, number: int, tmp_path: Path) -> None:
    """The eleven of GadgetSet.py; what is left without REX may be another one."""
    found = of(assembly, tmp_path, whole=True).practical
    assert found >> number & 1
    assert (found & ~(1 << number)).bit_count() <= 1  # a sum sets flags


def test_alike_ones_of_a_file_count_once() -> None:
    once, often = gadgets_in(b"\x5f\xc3"), gadgets_in(b"\x5f\xc3\xcc" * 50)  # INT3 between
    assert once.usable == often.usable == (1, 0, 0, 0)
    assert (once.all, often.all) == (1, 50)


def test_many_files_and_sums() -> None:
    with gadget_counter() as counter:
        elf = read_elf(native_path(PROGRAM))
        first, second = counter.count(elf), counter.count(elf)
        assert counter.count(replace(elf, segments=elf.segments * 3)) == first  # mapped three times
    assert first == second and first.usable[0] > 1000
    both = first + second
    assert both.usable == tuple(2 * count for count in first.usable)
    assert both.mean_score == first.mean_score and both.turing_complete == first.turing_complete
    assert Gadgets().mean_score is None


@pytest.mark.parametrize(
    "given", [b"\1\0\0", struct.pack("<Q", 1 << 60), struct.pack("<Q", 9) + b"x"]
)
def test_what_was_cut_off(given: bytes) -> None:
    ended = subprocess.run([native_path(COUNTER)], input=given, capture_output=True)
    assert ended.returncode == 1 and b"trimtab-gadget-counter: " in ended.stderr


def test_a_counter_that_ended() -> None:
    with gadget_counter() as counter:
        counter.process.kill()
        counter.process.wait()
        with pytest.raises(TrimtabError, match=COUNTER):
            counter.count(read_elf(native_path(PROGRAM)))


def test_any_bytes_can_be_counted() -> None:
    """No byte behind the end is read, whatever instruction begins before it."""
    for first in range(256):
        for prefix in (b"", b"\x0f", b"\x66\x0f\x38", b"\x48", b"\xc4", b"\xc5", b"\x62"):
            counted(prefix + bytes([first]))
