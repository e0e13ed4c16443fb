"""What the traces of hostile and odd programs end in: a word, in what time, with how much memory.

`python benchmarks/hostile.py [NAME ...]` traces each program below: once plain, once with its
functions traced, once with its files followed, all within a limit of 10 s a run. Each trace is a
process of its own, so that one that hangs or dies is a row as well. The rows go to
results/hostile.json.
"""

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from common import load, save

from trimtab.config.groups.output import Output, OutputComparison
from trimtab.config.groups.workload import Marks, Workload
from trimtab.errors import TrimtabError
from trimtab.profiling.original import as_it_runs

HERE = {  # paths of this machine, as they are shown
    sys.executable: "python",
    str(Path(sys.executable).resolve()): "python",
    f"{Path(__file__).resolve().parents[1]}/": "",
}
LIMIT_S, RUN_S = 45, 10
SHOWN = 150

# C programs by name, which run as they are, with the flags they are compiled with.
C_PROGRAMS = {
    "traces its child, which asks for it": (
        "#include <signal.h>\n#include <sys/ptrace.h>\n#include <sys/wait.h>\n#include <unistd.h>\n"
        "int main(void) { int status; pid_t child = fork();\n"
        "if (!child) { ptrace(PTRACE_TRACEME, 0, 0, 0); raise(SIGSTOP); _exit(0); }\n"
        "while (waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {\n"
        "int number = WSTOPSIG(status);\n"
        "ptrace(PTRACE_CONT, child, 0, number == SIGSTOP || number == SIGTRAP ? 0 : number); } }\n",
        (),
    ),
    "attaches to its child": (
        "#include <signal.h>\n#include <sys/ptrace.h>\n#include <sys/wait.h>\n#include <unistd.h>\n"
        "int main(void) { pid_t child = fork(); if (!child) for (;;) pause();\n"
        "int end = ptrace(PTRACE_ATTACH, child, 0, 0) != 0; int status;\n"
        "if (!end) { waitpid(child, &status, 0); ptrace(PTRACE_DETACH, child, 0, 0); }\n"
        "kill(child, SIGKILL); waitpid(child, 0, 0); return end; }\n",
        (),
    ),
    "LeakSanitizer": ("int main(void) { return 0; }\n", ("-fsanitize=leak",)),
    "AddressSanitizer": ("int main(void) { return 0; }\n", ("-fsanitize=address",)),
    "starts a child with CLONE_UNTRACED": (
        "#define _GNU_SOURCE\n#include <fcntl.h>\n#include <sched.h>\n#include <signal.h>\n"
        "#include <sys/syscall.h>\n#include <sys/wait.h>\n#include <unistd.h>\n"
        "int main(void) { int status;\n"
        "pid_t child = syscall(SYS_clone, CLONE_UNTRACED | SIGCHLD, 0, 0, 0, 0);\n"
        'if (!child) _exit(open("/etc/passwd", O_RDONLY) < 0);\n'
        "waitpid(child, &status, 0); return WEXITSTATUS(status); }\n",
        (),
    ),
    "strict seccomp": (
        "#include <linux/seccomp.h>\n#include <sys/prctl.h>\n#include <sys/syscall.h>\n"
        "#include <unistd.h>\nint main(void) { prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);\n"
        "syscall(SYS_exit, 0); }\n",
        (),
    ),
    "static": ("int main(void) { return 0; }\n", ("-static",)),
}

# Python programs by name.
PROGRAMS = {
    "nothing special": "print('well')",
    "daemon": (
        "import os, signal\nif not os.fork():\n    os.setsid()\n    if os.fork(): os._exit(0)\n"
        "    while True: signal.pause()\nprint('left')"
    ),
    "daemon that ignores signals": (
        "import os, signal, time\nfor n in (1, 2, 15): signal.signal(n, signal.SIG_IGN)\n"
        "if not os.fork():\n    os.setsid()\n    while True: time.sleep(1)"
    ),
    "stopped child left behind": (
        "import os, signal\npid = os.fork()\n"
        "if not pid:\n    os.kill(os.getpid(), signal.SIGSTOP)\n"
        "os.waitpid(pid, os.WUNTRACED)"
    ),
    "stops and continues its child": (
        "import os, signal\npid = os.fork()\n"
        "if not pid:\n    os.kill(os.getpid(), signal.SIGSTOP)\n"
        "    os._exit(3)\nos.waitpid(pid, os.WUNTRACED); os.kill(pid, signal.SIGCONT)\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))"
    ),
    "vfork": "import subprocess\nsubprocess.run(['/bin/true'], close_fds=False, check=True)",
    "a thread that runs another program": (
        "import os, threading, time\n"
        "threading.Thread(target=lambda: os.execv('/bin/true', ['true'])).start(); time.sleep(5)"
    ),
    "namespace of processes": (
        "import shutil, subprocess, sys\n"
        "sys.exit(subprocess.run(['unshare', '-fpr', '/bin/true']).returncode)"
    ),
    "kills on calls that it does not know": (
        "import ctypes, os, struct\n"
        "def op(code, jt, jf, k): return struct.pack('HBBI', code, jt, jf, k)\n"
        "calls = [0, 1, 3, 9, 11, 12, 13, 14, 15, 28, 35, 60, 72, 202, 231, 257, 262, 5, 8, 16]\n"
        "rows = [op(0x20, 0, 0, 0)]\n"
        "for n in calls: rows += [op(0x15, 0, 1, n), op(6, 0, 0, 0x7fff0000)]\n"
        "rows.append(op(6, 0, 0, 0x80000000))\n"
        "code = ctypes.create_string_buffer(b''.join(rows))\n"
        "prog = struct.pack('HxxxxxxQ', len(rows), ctypes.addressof(code))\n"
        "libc = ctypes.CDLL(None); libc.prctl(38, 1, 0, 0, 0)\n"
        "assert libc.prctl(22, 2, prog) == 0\nopen('/dev/null').close()\nprint('in'); "
    ),
    "closes all descriptors": "import os\nprint('before', flush=True)\nos.closerange(3, 1 << 16)",
    "changes its root": (
        "import os\nos.makedirs('root', exist_ok=True)\n"
        "try:\n    os.chroot('root')\nexcept PermissionError: pass"
    ),
    "works in a folder that is gone": (
        "import os\nos.makedirs('gone', exist_ok=True); os.chdir('gone'); os.rmdir('../gone')\n"
        "try: open('here')\nexcept OSError: pass\nimport json, decimal"
    ),
    "may write no file": (
        "import resource, signal\nsignal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\nimport decimal, os\n"
        "pid = os.fork()\nif not pid: os._exit(0)\nos.waitpid(pid, 0)"
    ),
    "may open no file": (
        "import os, resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))\n"
        "pid = os.fork()\nif not pid: os._exit(0)\nos.waitpid(pid, 0)"
    ),
}
# What is done to the folder of the records, which the variable `records` names.
ON_RECORDS = {
    "a FIFO": "os.mkfifo(records + '/process-1-1')",
    "a link to /dev/zero": "os.symlink('/dev/zero', records + '/object-1-1')",
    "a link to another file": "os.symlink('/etc/passwd', records + '/exec-1-1')",
    "a folder": "os.mkdir(records + '/process-1-1')",
    "a socket": "import socket\nsocket.socket(socket.AF_UNIX).bind(records + '/object-1-1')",
    "a terabyte without content": "os.truncate(os.open(records + '/object-1-1', 65), 1 << 40)",
    "no number": "open(records + '/exec-abc', 'w').write('/bin/true')",
    "an unknown status": "change(b'TRIMTABO', 12, b'\\x63')",
    "more functions than bytes": "change(b'TRIMTABO', 40, b'\\xff\\xff\\xff\\xff')",
    "a path with a zero byte": "change(b'TRIMTABO', 48 + 4, b'\\0')",
    "a path that leads out": "change(b'TRIMTABO', 48, b'/../../etc/passwd\\0')",
    "a link in place of the folder": (
        "os.rename(records, records + '.x')\nos.symlink('/etc', records)"
    ),
    "110,000 files": "[os.close(os.open(f'{records}/object-1-{i}', 65)) for i in range(110000)]",
    "half a gigabyte of records": (
        "import struct\nhead = struct.pack('<8sIIQQQII3072s', b'TRIMTABO', 1, 0, 0, 0, 9, 50000000,"
        " 0, b'/x')\nfile = open(records + '/object-1-1', 'wb'); file.write(head)\n"
        "file.write(b'\\1' * 250000000)\nfile.close()\n"
        "os.link(file.name, records + '/object-1-2')"
    ),
    "a FIFO in place of the next record": (
        "top = os.path.dirname(records)\n[os.mkfifo(f'{top}/{name}') for name in"
        " ('files.jsonl', 'functions-1') if not os.path.lexists(f'{top}/{name}')]"
    ),
}
CHANGE = (
    "import os\nrecords = os.environ.get('TRIMTAB_RECORD')\n"
    "def change(magic, offset, data):\n"
    "    for name in sorted(os.listdir(records)):\n"
    "        if os.path.isdir(f'{records}/{name}'): continue\n"
    "        with open(f'{records}/{name}', 'r+b') as file:\n"
    "            if file.read(8) == magic:\n"
    "                file.seek(offset); file.write(data); return\n"
)
OUTPUTS = {
    "FIFO as output": "import os\nos.path.lexists('out') or os.mkfifo('out')",
    "/dev/zero as output": "import os\nos.path.lexists('out') or os.symlink('/dev/zero', 'out')",
    "a terabyte as output": "import os\nos.truncate(os.open('out', 65), 1 << 40)",
    "deeply nested output": "open('out', 'w').write('[' * 1000000)",
}
MARKS = {
    "a line without end": "import sys\nfor i in range(300): sys.stdout.write('x' * 1000000)",
    "a million marks": "for i in range(1100000): print('epoch', i)",
}


def program_of(name: str, folder: Path) -> Workload:
    """Write the program `name` to `folder` and return it as a workload."""
    given: dict[str, object] = {}
    command = ["python", "program.py"]
    if name in C_PROGRAMS:
        source, flags = C_PROGRAMS[name]
        (folder / "program.c").write_text(source)
        subprocess.run(["gcc", "-O1", "-o", folder / "program", folder / "program.c", *flags],
                       check=True)  # fmt: skip
        command, code = [str(folder / "program")], ""
    elif name in OUTPUTS:
        compare = "numeric_file" if "nested" in name else "digest_file"
        given["output"] = Output(OutputComparison(compare), "out")
        code = OUTPUTS[name]
    elif name in MARKS:
        given["marks"] = Marks(epoch="epoch")
        code = f"print('epoch 0', flush=True)\n{MARKS[name]}"
    elif name in ON_RECORDS:
        code = f"{CHANGE}if records:\n    " + ON_RECORDS[name].replace("\n", "\n    ")
        code = f"import zlib\n{code}\n"
    else:
        code = PROGRAMS[name]
    (folder / "program.py").write_text(code)
    return Workload(
        name="hostile", python=sys.executable, command=command, workdir=str(folder),
        timeout_s=RUN_S, **given,
    )  # type: ignore[arg-type]  # fmt: skip


def outcome(name: str) -> dict[str, object]:
    """Trace the program and return what came of it."""
    with tempfile.TemporaryDirectory() as folder:
        workload = program_of(name, Path(folder))
        began_s = time.perf_counter()
        try:
            usage = as_it_runs(workload, Path(folder, "trace"), choose=False).trace(traced_runs=2)
            why = usage.incomplete_because or usage.notes
            said = "complete" if usage.complete else "incomplete"
            said += "".join(f": {reason}" for reason in why[:1])
        except TrimtabError as error:
            # What the program wrote itself follows in lines of their own.
            said = f"{type(error).__name__}: {' | '.join(str(error).splitlines()[-2:])}"
        wall_s = time.perf_counter() - began_s
        for path, shown in ((folder, ""), *HERE.items()):
            said = said.replace(path, shown)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    shown = said if len(said) <= 2 * SHOWN else f"{said[:SHOWN]} ... {said[-SHOWN:]}"
    return {"said": shown, "wall_s": round(wall_s, 1), "peak_mb": peak // 1000}


def row(name: str) -> dict[str, object]:
    """Trace the program in a process of its own."""
    command = [sys.executable, __file__, "--one", name]
    began_s = time.perf_counter()
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        out, err = process.communicate(timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return {"program": name, "said": f"hangs: killed after {LIMIT_S} s"}
    if process.returncode:
        last = (err.strip() or "nothing").splitlines()[-1][:SHOWN]
        wall_s = round(time.perf_counter() - began_s, 1)
        return {"program": name, "said": f"dies ({process.returncode}): {last}", "wall_s": wall_s}
    return {"program": name, **json.loads(out.splitlines()[-1])}


def main(names: list[str]) -> None:
    """Trace the programs and print a row of a Markdown table for each.

    What an earlier version gave is kept beside it, as `before`.
    """
    earlier = {row["program"]: row for row in (load("hostile") or {}).get("programs", [])}
    rows = []
    for name in names or [*C_PROGRAMS, *PROGRAMS, *ON_RECORDS, *OUTPUTS, *MARKS]:
        kept = {key: it for key, it in earlier.get(name, {}).items() if key.startswith("before")}
        rows.append({**row(name), **kept})
        print("|", " | ".join(str(value) for value in rows[-1].values()), "|", flush=True)
    if not names:
        save("hostile", {"programs": rows})


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(outcome(sys.argv[2])))
    else:
        main(sys.argv[1:])
