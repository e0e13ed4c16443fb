"""Jumps to a patched call are found as byte by byte, also near the end of the code."""

import ctypes
import random
import struct
import subprocess
from pathlib import Path

import pytest
from returning import make_original, make_slim

from trimtab.debloating.fallback import FILE_FALLBACK_LIBRARY

SOURCE = Path(__file__).parents[3] / "native/file_fallback/jumps.c"
NEAR, STEP, SHORTEST = 256, 16, 32


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    path = tmp_path_factory.mktemp("jumps") / "jumps.so"
    subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "-o", path, SOURCE], check=True)
    return ctypes.CDLL(str(path))


def test_an_environment_knows_all_calls_of_this_c_library(tmp_path: Path) -> None:
    """Calls are at the places that its copy of the library has, and a search finds no others."""
    slim = make_slim(make_original(tmp_path / "original"), tmp_path / "slim")
    text = (slim / FILE_FALLBACK_LIBRARY).read_bytes()
    at = text.index(b"TRIMTAB SITES 1\0") + 16
    ids, counts = (
        (text[at : at + 20], text[at + 20 : at + 40]),
        struct.unpack_from("<2I", text, at + 40),
    )
    places = list(struct.unpack_from(f"<{sum(counts)}I", text, at + 48))
    assert counts[0] > 40 and counts[1] > 5
    mapped = [line.split() for line in Path("/proc/self/maps").read_text().splitlines()]
    for name, build_id, count in zip(
        ("libc.so.6", "ld-linux-x86-64.so.2"), ids, counts, strict=True
    ):
        base, path = next((each[0], each[5]) for each in mapped if each[-1].endswith(name))
        assert build_id in Path(path).read_bytes()[:4096]
        for place in [places.pop(0) for _ in range(count)]:
            code = ctypes.string_at(int(base.partition("-")[0], 16) + place, 4)
            assert code[:2] == b"\x0f\x05" and (code[2] == 0x3D or code[2:4] == b"\x48\x3d")


def operands(code: bytes) -> dict[int, set[int]]:
    """Return each target, and the places of the operands of jumps to it."""
    found: dict[int, set[int]] = {}
    for at in range(2, len(code) - 3):
        if code[at - 1] == 0xEB or code[at - 1] & 0xF0 == 0x70:
            target = at + 1 + int.from_bytes(code[at : at + 1], signed=True)
            found.setdefault(target, set()).add(at)
        if code[at - 1] == 0xE9 or (code[at - 2] == 0x0F and code[at - 1] & 0xF0 == 0x80):
            target = at + 4 + struct.unpack_from("<i", code, at)[0]
            found.setdefault(target, set()).add(at)
    return found


def check(library: ctypes.CDLL, code: bytes) -> int:
    """Compare every target with the oracle; return how many are jumped to."""
    buffer = ctypes.create_string_buffer(code, len(code))
    begin, jumps, count = ctypes.addressof(buffer), operands(code), 0
    for target in range(len(code)):
        found = library.is_jumped_to(
            *map(ctypes.c_void_p, (begin + target, begin, begin + len(code)))
        )
        places = [at - target for at in jumps.get(target, ())]
        if any(-NEAR <= place < NEAR for place in places):
            assert found, (target, places)
        if found:
            assert any(-NEAR <= place < NEAR + STEP for place in places), target
        count += found
    return count


def test_random_code_of_every_length(library: ctypes.CDLL) -> None:
    """A target at each distance from the end, which a read of 16 bytes must not pass."""
    draw = random.Random(1)
    letters = [*b"\xeb\x74\xe9\x0f\x84\0\0\0\xff\xff\xff", *range(0, 256, 9)]
    lengths = [*range(SHORTEST, 80), *range(NEAR, NEAR + 2 * STEP), 600, 601, 607]
    assert sum(check(library, bytes(draw.choices(letters, k=length))) for length in lengths) > 900


@pytest.mark.parametrize("distance", [-250, -129, -5, 0, 5, 126, 200, 251])
def test_a_far_jump_is_found(library: ctypes.CDLL, distance: int) -> None:
    code = bytearray(b"\x90" * 700)
    target = 330
    code[target + distance - 1] = 0xE9
    struct.pack_into("<i", code, target + distance, -distance - 4)
    assert check(library, bytes(code)) >= 1
