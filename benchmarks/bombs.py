"""GPU code that is made to become more than memory holds: in what time it is kept or refused.

`python benchmarks/bombs.py` makes each library below, and decides what of its GPU code is kept in a
process of its own. The rows go to results/bombs.json.
"""

import json
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import lz4.block
import numpy as np

from trimtab.binaries.elf.functions import read_functions
from trimtab.binaries.elf.reader import read_elf
from trimtab.binaries.gpu.compression import zstd_header_bytes
from trimtab.binaries.rewriting.locate import locate
from trimtab.debloating.gpu.elements import ElementReason, UsedGpuCode
from trimtab.debloating.gpu.gpu_code import GpuScope, locate_gpu_code
from trimtab.zstd import zstd

sys.path.insert(0, str(Path(__file__).parents[1] / "tests/unit/binaries"))
from fatbin_parts import cubin, region

LIMIT_S = 150
ZSTD, LZ4 = 0x8000, 0x2000
MIB = 1 << 20


def compressed(content: bytes) -> bytes:
    """Compress, small contents as fatbinary does and large ones in less time."""
    level = 19 if len(content) < 100 * MIB else 1
    return zstd.compress(content, level)


def packed(stored: bytes, size: int, flag: int = 0, kind: int = 2) -> bytes:
    """An element whose bytes are compressed already."""
    padded = stored + bytes(-len(stored) % 8)
    head = struct.pack("<HHIQIIHH", kind, 0x101, 64, len(padded), len(stored), 0, 8, 1)
    return head + struct.pack("<IIIQQQ", 90, 0, 0, 0x11 | flag, 0, size) + padded


def of_one(times: int, content: bytes, flag: int = ZSTD, kind: int = 2) -> bytes:
    """A region of the same element many times."""
    stored = compressed(content) if flag == ZSTD else lz4.block.compress(content, store_size=False)
    return region(packed(stored, len(content), flag, kind) * times)


def uneven() -> bytes:
    """A cubin of 6 MiB that compresses to 16 kB."""
    content = bytearray(cubin("sm_90", "kernel", code_bytes=6 * MIB))
    content[4096:20096] = np.random.default_rng(1).bytes(16000)
    return bytes(content)


def text() -> bytes:
    """PTX of twelve million kernels."""
    return b"".join(b".entry k%07d(" % number for number in range(12_000_000))


def symbols() -> bytes:
    """A cubin of eight million symbols."""
    content = bytearray(cubin("sm_90", "kernel"))
    table = 24 * 8_000_000
    row = struct.unpack_from("<Q", content, 40)[0] + 3 * 64
    struct.pack_into("<QQ", content, row + 24, len(content), table)
    return bytes(content) + bytes(table)


def nested() -> bytes:
    """Regions whose payload is all later ones, of which the last is broken."""
    parts, length = [b"\xff" * 64], 64
    while length < 8 * MIB:
        parts.append(packed(region(size=length), 0))
        length += len(parts[-1])
    return region(*reversed(parts))


def damaged() -> bytes:
    """An element whose frame says that it is longer than itself, and a sound one."""
    content = cubin("sm_90", "kernel", code_bytes=4000)
    sound = compressed(content)
    at = zstd_header_bytes(sound)
    block = int.from_bytes(sound[at : at + 3], "little") + (5000 << 3)
    frame = sound[:at] + block.to_bytes(3, "little") + sound[at + 3 :]
    return region(packed(frame, len(content), ZSTD), packed(sound, len(content), ZSTD))


BOMBS: dict[str, Callable[[], bytes]] = {
    "30 cubins of 64 MiB, zstd": lambda: of_one(30, cubin("sm_90", "k", code_bytes=64 * MIB)),
    "32 cubins of 64 MiB, LZ4": lambda: of_one(32, cubin("sm_90", "k", code_bytes=64 * MIB), LZ4),
    "520 cubins of 6 MiB, zstd": lambda: of_one(520, uneven()),
    "one cubin of 1 GiB, zstd": lambda: of_one(1, cubin("sm_90", "k", code_bytes=1023 * MIB)),
    "PTX of 12,000,000 kernels": lambda: of_one(1, text(), kind=1),
    "a cubin of 8,000,000 symbols": lambda: of_one(1, symbols()),
    "bare frames": lambda: (compressed(cubin("sm_90", "k", code_bytes=50_000)) + b"x") * 20_000,
    "a frame of empty blocks": lambda: b"\x28\xb5\x2f\xfd\xa0\xe8\x03\0\0" + bytes(8 * MIB),
    "regions within regions": nested,
    "one damaged element": damaged,
}


def decide(path: Path) -> str:
    """Decide about a library's GPU code as `trimtab debloat` does, and say what came of it."""
    elf = read_elf(path)
    functions = read_functions(elf)
    spans = locate(elf, functions, np.ones(len(functions), bool), True)
    _, gpu = locate_gpu_code(elf, spans, GpuScope((90,), UsedGpuCode.of([], [90]), prune=True))
    if gpu.decisions is None:
        return gpu.code.problem or "no GPU code"
    counts = {reason.text: gpu.decisions.count_of(reason) for reason in ElementReason}
    return ", ".join(f"{count} {text}" for text, count in counts.items() if count)


def one(path: Path) -> None:
    """Print a row for the library at `path`."""
    began_s = time.perf_counter()
    try:
        said = decide(path)
    except Exception as error:
        said = f"{type(error).__name__}: {str(error)[:100]}"
    # Not ru_maxrss, which is that of the process that this one was started by, if it is more.
    status = Path("/proc/self/status").read_text()
    peak = int(status.split("VmHWM:")[1].split()[0]) // 1000
    wall_s = round(time.perf_counter() - began_s, 2)
    print(json.dumps({"said": said, "wall_s": wall_s, "peak_mb": peak}))


def main() -> None:
    """Make and measure all."""
    from common import save

    rows = []
    with tempfile.TemporaryDirectory() as folder:
        source, path = Path(folder, "p.c"), Path(folder, "libbomb.so")
        source.write_text("int twice(int x) { return 2 * x; }\n")
        subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-o", path, source], check=True)
        plain = path.read_bytes()
        for name, make in BOMBS.items():
            path.write_bytes(plain + make())
            command = [sys.executable, __file__, "--one", str(path)]
            row = {"library": name, "size_bytes": path.stat().st_size}
            try:
                ran = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)
                row |= json.loads(ran.stdout)
            except subprocess.TimeoutExpired:
                row |= {"said": f"hangs: killed after {LIMIT_S} s"}
            rows.append(row)
            print(row, flush=True)
    save("bombs", {"libraries": rows})


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        one(Path(sys.argv[2]))
    else:
        main()
