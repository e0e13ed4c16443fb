"""Make the seeds in `seeds/`: small files of every kind, from this project's own samples.

Needs gcc, and build/native for nothing. Regressions beside them (`found-*`) stay.
"""

import json
import lzma
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROJECT = HERE.parents[1]
SEEDS = HERE / "seeds"
sys.path[:0] = [str(PROJECT / "src"), str(HERE)]

from targets import configuration, documents, traces  # noqa: E402

from trimtab.binaries.elf.reader import read_elf  # noqa: E402
from trimtab.binaries.gpu.fatbin import find_gpu_code  # noqa: E402

C_SOURCE = """
int zeroed[3], one = 1; static __thread int own = 5;
const char *const words[2] = {"a", "b"};
__attribute__((constructor)) static void start(void) { zeroed[0] = 1; }
static int chosen(int x) { return x; }
static void *resolve(void) { return chosen; }
int by_ifunc(int) __attribute__((ifunc("resolve")));
extern int elsewhere(int) __attribute__((weak));
int called(int x) {
  return by_ifunc(x) + own++ + zeroed[x] + *words[x] + (elsewhere ? elsewhere(x) : 0);
}
__attribute__((noinline)) int other(int x) { __asm__(".fill 5000, 1, 0x90"); return x + one; }
int last(int x) { return other(x) + 1; }
"""
LINKS = {
    "plain": ["-Wl,-z,noseparate-code"],
    "relr": ["-Wl,-z,noseparate-code", "-Wl,-z,pack-relative-relocs", "-s"],
    "hashes": ["-Wl,-z,noseparate-code", "-Wl,--hash-style=both", "-s", "-Wl,-z,now"],
    "gold": ["-fuse-ld=gold", "-s"],
}
_SAMPLES = {
    "swf": ["small.swf"],
    "google_2011": ["task_events.csv"],
    "google_2019": ["instance_events.json"],
    "alibaba_2018": ["batch_task.csv"],
    "alibaba_gpu_2020": ["pai_task_table.csv", "pai_job_table.csv"],
    "alibaba_gpu_2023": ["openb_pod_list.csv"],
    "azure_functions_2021": ["invocations_2021.txt"],
    "azure_llm": ["llm.csv"],
    "philly_table": ["philly_table.csv"],
    "philly_log": ["philly_log.json"],
}  # fmt: skip
_MOST = 6000


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        library = Path(name, "a.so")
        for kind, flags in LINKS.items():
            command = ["gcc", "-x", "c", "-", "-Os", "-shared", "-fPIC", "-nostdlib"]
            command += ["-Wl,-z,max-page-size=4096", *flags, "-o", library]
            subprocess.run(command, input=C_SOURCE, text=True, check=True)
            save("elf", kind, bytes([2]) + library.read_bytes())
        gpu_seeds(Path(name))
    samples = PROJECT / "tests/unit/traces/samples"
    for number, kind in enumerate(traces.NAMES):
        parts = [(samples / part).read_bytes()[:_MOST] for part in _SAMPLES.get(kind, [])]
        save("traces", kind, bytes([number]) + b"\x00TABLE\x00".join(parts))
    for number, place in enumerate(configuration.PLACES):
        text = (PROJECT / "conf" / place).read_bytes()
        save("configuration", Path(place).stem, bytes([number]) + text)
    document_seeds()
    record_seeds()


def gpu_seeds(folder: Path) -> None:
    demo = folder / "demo.so"
    packed = PROJECT / "tests/unit/debloating/data/libdemo_h200.so.xz"
    demo.write_bytes(lzma.decompress(packed.read_bytes()))
    elf = read_elf(demo)
    code = find_gpu_code(elf)
    regions = sorted(code.regions, key=lambda region: region.end - region.offset)
    for number, region in enumerate(regions[:2]):
        data = elf.data[region.offset : region.end].tobytes()[:16000]
        save("fatbin", f"region{number}", bytes([3 + number]) + data)
    images = bytes(elf.data)
    at = images.find(b"\x7fELF", 64)
    while at >= 0 and len(list((SEEDS / "cubin").glob("*"))) < 2:
        save("cubin", f"cubin{at:x}", images[at : at + 12000])
        at = images.find(b"\x7fELF", at + 64)


def document_seeds() -> None:
    """Whatever each kind asks for, empty where it may be."""
    for number, kind in enumerate(documents.KINDS):
        fields = {
            name: field.default if field.default is not None else None
            for name, field in kind.model_fields.items()
            if name == "version" or field.is_required()
        }
        document = {
            name: value if name == "version" else _EXAMPLES.get(name, "x")
            for name, value in fields.items()
        }
        save("documents", kind.__name__, bytes([number]) + json.dumps(document).encode())


_REASONS = [{"name": "headers and data", "kept": True}, {"name": "symbols", "kept": False}]
_EXAMPLES = {
    "library": "/env/lib/a.so", "name": "lib/a.so", "build_id": "00ff", "sha256": "0" * 64,
    "size_bytes": 20, "minimum_hole_bytes": 8192, "kept_bytes": 10, "removed_bytes": 10,
    "bytes_by_reason": {"headers and data": 10, "symbols": 10}, "reasons": _REASONS,
    "spans": [[0, 10, 0], [10, 20, 1]], "workload": "w", "command": ["python", "a.py"],
    "complete": True, "target": "t", "hardware": "h", "workloads": [], "mode": "compact",
    "environment": {"kind": "python_prefix", "location": "/env"}, "symbols": "strip", "files": {},
    "timings": {"trace_s": 1.0, "locate_s": 1.0, "rewrite_s": 0.5}, "libraries": {},
}  # fmt: skip


def record_seeds() -> None:
    def record(kind: int, name: str, data: bytes) -> None:
        save("traced_records", name, bytes([kind]) + data)

    record(0, "process", b"TRIMTABP" + bytes(64) + b"/usr/bin/python3" + bytes(4096))
    record(1, "object", b"TRIMTABO" + bytes(64) + b"/usr/lib/libc.so.6" + bytes(4096))
    record(2, "exec", b"/usr/bin/python3")
    digest = "0" * 64
    lines = ["process 12 1 cupti /usr/bin/python3", "gpu 0000:18:00.0 90 NVIDIA%20H200",
             f"module {digest} 4096 add", "kernel add", "region 1000:/env/lib/a.so"]  # fmt: skip
    record(3, "kernels", ("\n".join(lines) + "\n").encode())
    lines = ['{"process": 12, "parent": 1, "executable": "/usr/bin/python3"}',
             '{"path": "/env/a.py", "real": "/env/a.py", "uses": ["read"]}',
             '{"ended": 12, "exit": 0}', '{"end": true, "exit": 0}']  # fmt: skip
    record(5, "files", ("\n".join(lines) + "\n").encode())
    line = {"library": "lib/a.so", "address": 4096, "name": "f", "kind": "function"}
    record(6, "fallback", (json.dumps(line) + "\n").encode())


def save(target: str, name: str, data: bytes) -> None:
    path = SEEDS / target / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


if __name__ == "__main__":
    main()
