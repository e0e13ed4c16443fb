"""Make the seeds in `seeds/`: small files of every kind, from this project's own samples.

Needs gcc, and build/native for nothing. Regressions beside them (`found-*`) stay.
"""

import gzip
import json
import lzma
import random
import struct
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PROJECT = HERE.parents[1]
SEEDS = HERE / "seeds"
UNIT = PROJECT / "tests/unit"
PLACES = (PROJECT / "src", PROJECT / "benchmarks", HERE, UNIT / "debloating", UNIT / "images")
sys.path[:0] = list(map(str, PLACES))

import handmade_zstd  # noqa: E402
import zran  # noqa: E402
from hand_made_root import elf  # noqa: E402
from handmade_sif import LABELS, SIGNATURE, partition, sif  # noqa: E402
from targets import configuration, documents, roots, traces  # noqa: E402

from trimtab.binaries.elf.reader import read_elf  # noqa: E402
from trimtab.binaries.gpu.fatbin import find_gpu_code  # noqa: E402
from trimtab.binaries.rewriting.spans import SpanReason  # noqa: E402
from trimtab.cold_store.index import HEAD  # noqa: E402
from trimtab.debloating.file_index.layout import EntryKind, IndexEntry  # noqa: E402
from trimtab.debloating.file_index.writing import index_of  # noqa: E402

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
# So many descriptions of functions that they take pages of their own, each with an exception table.
UNWOUND_SOURCE = """
.section .gcc_except_table, "a"
tables:
.rept 280; .fill 4, 1, 0xff; .endr
.text
.set number, 0
.rept 280
.cfi_startproc
.cfi_lsda 0x1b, tables + 4 * number
ret
.cfi_endproc
.set number, number + 1
.endr
"""
# Constants and no code: what nobody reads of them leaves.
DATA_SOURCE = """
.section .rodata
.globl table
.type table, @object
.balign 4096
.rept 512; .quad 0x1122334455667788; .endr
table: .fill 64, 1, 3
.size table, 64
.fill 100, 1, 7
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
        for kind, source in {"unwound": UNWOUND_SOURCE, "data": DATA_SOURCE}.items():
            command = ["gcc", "-x", "assembler", "-", "-shared", "-nostdlib", "-s"]
            command += ["-Wl,-z,noseparate-code", "-Wl,-z,max-page-size=4096", "-o", library]
            subprocess.run(command, input=source, text=True, check=True)
            save("elf", kind, bytes([128]) + library.read_bytes())
        gpu_seeds(Path(name))
    root_seeds()
    samples = PROJECT / "tests/unit/traces/samples"
    for number, kind in enumerate(traces.NAMES):
        parts = [(samples / part).read_bytes()[:_MOST] for part in _SAMPLES.get(kind, [])]
        save("traces", kind, bytes([number]) + b"\x00TABLE\x00".join(parts))
    for number, place in enumerate(configuration.PLACES):
        text = (PROJECT / "conf" / place).read_bytes()
        save("configuration", Path(place).stem, bytes([number]) + text)
    document_seeds()
    record_seeds()
    index_seeds()
    cold_index_seeds()
    save("sif", "signed", sif((LABELS, b"", b"{}"), partition(b"hsqs"), (SIGNATURE, b"", b"s")))


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
    """A document of each kind with all that it may have: one of everything, so that it is read."""
    for number, kind in enumerate(documents.KINDS):
        schema = kind.model_json_schema()
        document = example(schema, schema)
        document["version"] = kind.model_fields["version"].default
        document |= _EXAMPLES.get(kind.__name__, {})
        if kind.__name__ == "MeasuredPair":
            for side in ("original", "debloated"):
                document[side]["environment"] = side
        save("documents", kind.__name__, bytes([number]) + json.dumps(document).encode())


def example(schema: dict[str, Any], root: dict[str, Any], name: str = "") -> Any:
    """Return a value that fits a JSON schema, that of the field `name`."""
    if "$ref" in schema:
        return example(root["$defs"][schema["$ref"].rpartition("/")[2]], root, name)
    if "anyOf" in schema:
        return example(schema["anyOf"][0], root, name)
    if "prefixItems" in schema:
        return [example(part, root) for part in schema["prefixItems"]]
    if "enum" in schema:
        return schema["enum"][0]
    if "const" in schema:
        return schema["const"]
    kind = schema.get("type")
    if kind == "object":
        if "properties" in schema:
            return {key: example(part, root, key) for key, part in schema["properties"].items()}
        for more in schema.get("patternProperties", {}).values():  # its keys are words
            return {"a_word": example(more, root)}
        more = schema.get("additionalProperties")
        return {"lib/a.so": example(more, root)} if isinstance(more, dict) else {}
    if kind == "array":
        return [example(schema["items"], root, name)] * max(1, schema.get("minItems", 1))
    if kind == "string":
        return _WORDS.get(name, "0" * 64 if "64" in schema.get("pattern", "") else "00")
    if kind is None:  # a path, or one of a few words
        return _WORDS.get(name, "lib/a.so")
    return kind == "boolean" or 1


_WORDS = {
    "distribution": "exponential", "energy_source": "measured", "environment": "original",
    "end": "exit", "location": "/env", "path": "/env/lib/a.so", "executable": "/usr/bin/python",
    "mode": "compact", "symbols": "strip", "uses": "read", "compression": "gzip",
    "emptied": "files", "source": "measured",
}  # fmt: skip
_REASONS = [{"name": reason.text, "kept": reason.kept} for reason in SpanReason]
_SUM = {reason.text: 10 * (reason in (0, 1)) for reason in SpanReason}
_GPU_REASONS = [{"name": "used", "kept": True}, {"name": "unused", "kept": False}]
_TILES = [[0, 10, 0], [10, 20, 1]]
_SATURATION = {"saturation": [{
    "what": "functions", "by": "run", "runs": 2, "seen": 3, "once": 1, "twice": 2,
    "curve": [2.5, 3.0], "next_run": 0.5, "unseen": 0.25, "coverage": 0.8,
}]}  # fmt: skip
# What has to fit other fields.
_EXAMPLES: dict[str, dict[str, Any]] = {
    "DeflatorSearch": {"rows": [], "confirmed": None},
    "LearnedCode": {"files": [{"path": "lib/a.so", "kind": "file", "processes": 1}]},
    "Summary": {"simulator": "kernel"},
    "Imports": {"processes": [
        {"command": ["python"], "python": "3.11.2", "method": "counters", "imports": 1,
         "complete": True},
    ]},
    "LibrarySpans": {
        "library": "/env/lib/a.so", "size_bytes": 20, "kept_bytes": 20, "removed_bytes": 0,
        "bytes_by_reason": _SUM, "reasons": _REASONS, "spans": _TILES,
        "gpu_code": {
            "elements": _TILES, "reasons": _GPU_REASONS, "pruned_elements": 0,
            "bytes_by_reason": {"used": 10, "unused": 10},
            "elements_by_reason": {"used": 1, "unused": 1},
            "placed": [[0, 0]], "unused_kernels": {"10": "kernel"},
            "kernels": ["kernel"],
        },
    },
    "Manifest": _SATURATION,
    "QueueRun": {"exit_codes": {"0": 0, "1": -9}},
    "Settling": {"why_not": "", "runs": []},
    "Usage": _SATURATION | {
        "incomplete_because": [], "kernels_not_traced_because": "", "libraries": [{
        "path": "/env/lib/a.so", "build_id": "00ff", "size_bytes": 20, "sha256": "0" * 64,
        "traced": True, "not_traced_because": "", "functions_total": 2, "functions_used": 1,
        "used_functions": [4096], "used_data": [8192],
    }]},
    "Verdict": {"failed_workload": None, "problem": None, "held_out": []},
}  # fmt: skip


def record_seeds() -> None:
    def record(kind: int, name: str, data: bytes) -> None:
        save("traced_records", name, bytes([kind]) + data)

    process = struct.pack("<8sIIQIIII3072s", b"TRIMTABP", 7, 1, 99, 1, 0, 0, 0, b"/usr/bin/python3")
    record(0, "process", process)
    numbers = (7, 0, 1, 2, 4096, 2, 0)  # two functions, of which the second ran
    of_object = struct.pack("<8sIIQQQII3072s", b"TRIMTABO", *numbers, b"/usr/lib/libc.so.6")
    record(1, "object", of_object + struct.pack("<2I2B", 64, 128, 0, 1))
    record(2, "exec", b"/usr/bin/python3")
    digest = "0" * 64
    lines = ["process 12 1 cupti /usr/bin/python3", "gpu 0000:18:00.0 90 NVIDIA%20H200",
             f"module {digest} 4096 add", "kernel add", "region 1000:/env/lib/a.so"]  # fmt: skip
    record(3, "kernels", ("\n".join(lines) + "\n").encode())
    lines = ['{"process": 12, "parent": 1, "executable": "/usr/bin/python3"}',
             '{"path": "/env/a.py", "real": "/env/a.py", "uses": ["read"]}',
             '{"own_calls": "/env/bin/static"}', '{"ended": 12, "exit": 0}',
             '{"end": true, "exit": 0}']  # fmt: skip
    record(5, "files", ("\n".join(lines) + "\n").encode())
    line = {"pid": 7, "time_s": 1.5, "library": "lib/a.so", "address": 4096, "function": "f"}
    record(6, "fallback", (json.dumps(line) + "\n").encode())


def index_seeds() -> None:
    entries = [
        IndexEntry("bin/tool", EntryKind.KEPT_PROGRAM, needs=("lib/liba.so.1", "lib/liba.so")),
        IndexEntry("lib", EntryKind.FOLDER, 0o755, modified_ns=10**18),
        IndexEntry("lib/liba.so", EntryKind.LINK, 0o777, target="liba.so.1"),
        IndexEntry(
            "lib/liba.so.1", EntryKind.REGULAR, 0o644, size_bytes=9, names=("lib/other", "x")
        ),
        IndexEntry(
            "lib/other", EntryKind.REGULAR, 0o644, size_bytes=9, names=("lib/liba.so.1", "x")
        ),
    ]
    save("file_index", "empty", b"\x00" + index_of([], 0, "/env", []))
    for name, right in (("strict", 0), ("made_right", 3)):
        save("file_index", name, bytes([right]) + index_of(entries, 1, "", ["tool", "lib"]))


def cold_index_seeds() -> None:
    """Layers of two members with blocks of all kinds, of frames, and one not compressed."""
    text = random.Random(3).randbytes(3000) + b"pressed " * 600
    members = gzip.compress(text, 9, mtime=0) + gzip.compress(text[::-1], 0, mtime=0)
    both = text + text[::-1]
    packed = zran.index_of(
        [(members, both, 1500)], {(0, start, 900): both[start : start + 900]
                                  for start in (0, 3100, len(text) - 100, 9000)}
    )  # fmt: skip
    plain = zran.index_of([(both, both, 0)], {(0, 10, 50): both[10:60]})
    frames = [(handmade_zstd.streamed(part), part) for part in (text, text[::-1])]
    frames.insert(1, (handmade_zstd.skippable(b"contents"), b""))
    of_frames, layer = handmade_zstd.index_of(
        frames, {(start, 900): both[start : start + 900] for start in (0, 3100, len(text) - 100)}
    )
    for name, index, blob in (
        ("gzip", packed, members),
        ("none", plain, both),
        ("zstd", of_frames, layer),
    ):
        data = index.to_bytes()
        table = gzip.decompress(data[HEAD.size : len(data) - len(index.windows)])
        windows = len(index.windows).to_bytes(2, "little") + index.windows
        save("cold_index", name, table + b"\n" + windows + blob)


def root_seeds() -> None:
    loader = "/lib64/ld-linux-x86-64.so.2"
    site = "/usr/lib/python3.11/site-packages"
    system = {
        "x!/usr/bin/a": elf("liba.so", interpreter=loader, rpath="$ORIGIN/../$LIB:/opt"),
        "l/lib64": b"usr/lib64",
        "x/usr/lib64/ld-linux-x86-64.so.2": elf(),
        "f/opt/liba.so": elf("libb.so", runpath="/opt/b"),
        "f/opt/b/libb.so": elf("libc.so.6"),
        "f/opt/b/glibc-hwcaps/x86-64-v3/libb.so": elf(),
        "f/usr/lib/libc.so.6": elf(),
        "f/usr/lib/libnss_sss.so.2": elf(wide=False, order=">"),
        "f/etc/ld.so.conf": b"include ld.so.conf.d/*.conf\n/usr/lib\n",
        "f/etc/ld.so.conf.d/a.conf": b"/opt/b # b\n",
        "f/etc/nsswitch.conf": b"passwd: files sss [NOTFOUND=return]\n",
        "f/etc/passwd": b"me:x:1:1::/home/me:/bin/sh\n",
        "d/home/me": b"",
        "l!/etc/localtime": b"../usr/share/zoneinfo/UTC",
        "f/usr/share/zoneinfo/UTC": b"TZif",
        "f/var/lib/dpkg/info/a:amd64.list": b"/.\n/usr/bin/a\n",
    }
    python = {
        "x!/usr/bin/tool": b"#!/usr/bin/env -S A=1 python3 -u\n",
        "l/usr/bin/python3": b"python3.11",
        "x/usr/bin/python3.11": elf(interpreter="/lib/ld-musl-x86_64.so.1"),
        f"d!{site}": b"",
        f"f!{site}/one/part.py": b"",
        f"f{site}/one/__init__.py": b"",
        f"f{site}/one/__pycache__/part.cpython-311.pyc": b"",
        f"f{site}/one-1.dist-info/RECORD": b'one/part.py,sha256=x,0\n"../../../../bin/tool",,\n',
        f"f{site}/two-1.egg-info/top_level.txt": b"two\n",
        "f/opt/conda-meta/c.json": b'{"name": "c", "files": ["bin/c"]}',
        "f/opt/bin/c": b"",
    }
    for name, root in (("system", system), ("python", python)):
        parts = (key.encode() + b"\n" + content for key, content in root.items())
        save("roots", name, roots.SEPARATOR.join(parts))


def save(target: str, name: str, data: bytes) -> None:
    path = SEEDS / target / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


if __name__ == "__main__":
    main()
