"""Images of ordinary software from Debian's packages, made slim: sizes, and whether they run.

    python benchmarks/images.py [--case NAME]... [--folder FOLDER]

Needs root, debootstrap and an engine (`make deps-docker`). Each image is built from packages alone,
its command traced by `trimtab image slim` without the engine, and the slim one loaded there: the
same command, or the same requests to its server, have to have the same output in both, with files
restored from the store and, once more, where nothing may come back (`strict`). So have they with a
command or requests that were not traced. Sizes are those of all layers, uncompressed and compressed
anew, as `trimtab image compare` has them. Times are of whatever else the machine does.
"""

import argparse
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from common import load, save

PROJECT = Path(__file__).parents[1]
REQUESTS = Path(__file__).with_name("image_requests.py")
TRIMTAB = (sys.executable, "-c", "from trimtab.cli.main import main; main()")


@dataclass(frozen=True)
class Case:
    """An image: Debian packages, what runs in it and, of a server, the requests on its port."""

    packages: tuple[str, ...]
    command: tuple[str, ...]
    port: int | None = None
    held_out: tuple[str, ...] = ()  # a command that is not traced
    user: str = ""
    wheels: tuple[str, ...] = ()  # for Debian's Python
    byte_code: bool = False  # of these, as pip makes it by default
    files: dict[str, str] = field(default_factory=dict)

    def drive(self, name: str, held_out: bool = False) -> tuple[str, ...]:
        """Return the requests to the server."""
        more = ("--held-out",) if held_out else ()
        return (sys.executable, str(REQUESTS), name, str(self.port), *more)


_POSTGRES = (
    "set -e; bin=$(echo /usr/lib/postgresql/*/bin); $bin/initdb -A trust -D /tmp/d > /tmp/init;"
    " $bin/pg_ctl -w -s -D /tmp/d -o '-k /tmp -h \"\"' -l /tmp/log start;"
    " psql -h /tmp -Atc '{}' postgres; $bin/pg_ctl -w -s -D /tmp/d stop"
)
_SCRIPT = (
    "import json, re, sqlite3;"
    " print(json.dumps({'sum': sum(range(10)), 'find': re.findall('a.', 'abac')}))"
)
_TRAINING = """
import sys, torch
from torch import nn
torch.manual_seed(0)
torch.set_num_threads(1)
net = nn.Sequential(nn.Conv2d(1, 6, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                    nn.Linear(864, 84), nn.ReLU(), nn.Linear(84, 10))
images, labels = torch.rand(640, 1, 28, 28), torch.randint(10, (640,))
optimiser = torch.optim.Adam(net.parameters())
batch = int(sys.argv[1])
for epoch in range(2):
    for start in range(0, len(images), batch):
        optimiser.zero_grad()
        part = slice(start, start + batch)
        loss = nn.functional.cross_entropy(net(images[part]), labels[part])
        loss.backward()
        optimiser.step()
    print(epoch, loss.item())
"""
_JAVA = "cd /tmp && cp /srv/Hello.java . && javac Hello.java && java -cp . Hello"
_HELLO = """
import java.util.stream.*;
public class Hello {
    public static void main(String[] words) {
        System.out.println(IntStream.range(0, Integer.parseInt(words[0])).boxed()
            .map(String::valueOf).collect(Collectors.joining(",")));
    }
}
"""
CASES = {
    "python": Case(
        ("python3",),
        ("python3", "-c", _SCRIPT),
        held_out=("python3", "-c", _SCRIPT.replace("10", "99")),
    ),
    "nginx": Case(
        ("nginx-light",), ("nginx", "-g", "daemon off;"), port=8411,
        files={"etc/nginx/conf.d/port.conf": "server { listen 8411; root /var/www/html;"
               " index index.nginx-debian.html; }"},
    ),
    "redis": Case(("redis-server",), ("redis-server", "--port", "8412", "--save", ""), port=8412),
    "memcached": Case(("memcached",), ("memcached", "-p", "8413", "-u", "nobody"), port=8413),
    "postgres": Case(
        ("postgresql",),
        ("sh", "-c", _POSTGRES.format("select 6 * 7, version() is not null")),
        held_out=("sh", "-c", _POSTGRES.format("select sum(i) from generate_series(1, 9) i")),
        user="postgres",
    ),
    "node": Case(
        ("nodejs",),
        ("node", "-e", "console.log(JSON.stringify({sum: [1, 2, 3].reduce((a, b) => a + b)}))"),
        held_out=("node", "-e", "console.log([3, 1, 2].sort().join())"),
    ),
    "r": Case(
        ("r-base-core",),
        ("Rscript", "-e", "set.seed(1); print(summary(lm(dist ~ speed, cars))$r.squared)"),
        held_out=("Rscript", "-e", "print(quantile(cars$dist))"),
    ),
    "jvm": Case(
        ("default-jdk-headless",),
        ("sh", "-c", f"{_JAVA} 3"),
        held_out=("sh", "-c", f"{_JAVA} 8"),
        files={"srv/Hello.java": _HELLO},
    ),
    "busybox": Case(
        ("busybox-static",),
        ("busybox", "sh", "-c", "echo b a | tr ' ' '\\n' | busybox sort"),
        held_out=("busybox", "sh", "-c", "busybox seq 3 | busybox tac"),
    ),
    "torch": Case(
        ("python3",), ("python3", "/srv/train.py", "32"), wheels=("torch==2.13.0", "numpy"),
        held_out=("python3", "/srv/train.py", "50"), files={"srv/train.py": _TRAINING},
    ),
    "cron": Case(
        ("cron",),
        ("sh", "-c", "mkdir -p /tmp/j && printf 'echo ran > /tmp/j/out' > /tmp/j/job.sh"
         " && (cron -f & p=$!; sleep 1; kill $p) && sh /tmp/j/job.sh && cat /tmp/j/out"),
    ),
}  # fmt: skip


class CommandError(RuntimeError):
    """A command did not succeed."""

    def __init__(self, exit_code: int, said: str) -> None:
        super().__init__(f"exit code {exit_code}: {said}")
        self.exit_code = exit_code


def run(words: Sequence[str | Path], **options: Any) -> str:
    """Run a command that has to succeed, and return what it printed."""
    done = subprocess.run(words, capture_output=True, text=True, **options)
    if done.returncode:
        said = (done.stderr or done.stdout)[-2000:]
        raise CommandError(done.returncode, f"{Path(words[0]).name}: {said}")
    return done.stdout


def docker(address: str, *words: str) -> str:
    """Run the engine's own client."""
    return run(["docker", "-H", address, *words], timeout=600)


def built(address: str, name: str, case: Case, base: Path, folder: Path) -> str:
    """Build the image of a case on the smallest Debian, and return its name."""
    root = folder / "root"
    run(["cp", "-a", base, root])
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "DPKG_FORCE": "unsafe-io"}
    policy = root / "usr/sbin/policy-rc.d"  # no service is started while it is built
    policy.write_text("#!/bin/sh\nexit 101\n")
    policy.chmod(0o755)
    shutil.copy("/etc/resolv.conf", root / "etc/resolv.conf")
    install = "apt-get update -q && apt-get install -qy --no-install-recommends"
    command = ["chroot", str(root), "sh", "-c", f"{install} {' '.join(case.packages)}"]
    run(["mount", "--bind", "/proc", root / "proc"])  # which Java's packages look into
    try:
        run(command, env=environment, timeout=900)
    finally:
        run(["umount", root / "proc"])
    policy.unlink()
    if case.wheels:
        pip = [sys.executable, "-m", "pip", "install", "-q"]
        pip += [] if case.byte_code else ["--no-compile"]
        run([*pip, "--target", root / "usr/lib/python3/dist-packages", *case.wheels], timeout=900)
    clean(root)
    for path, text in case.files.items():
        (root / path).write_text(text)
    run(["sh", "-c", f"tar --numeric-owner --xattrs --one-file-system -C {root} -c ."
         f" | docker -H {address} import - case-{name}:1"])  # fmt: skip
    shutil.rmtree(root)
    return f"case-{name}:1"


def clean(root: Path) -> None:
    """Take away what the installation left: removing it later would be nobody's gain."""
    for pattern in ("var/cache/apt/*.bin", "var/cache/apt/archives/*.deb", "var/lib/apt/lists/*",
                    "var/log/*.log", "var/log/apt/*"):  # fmt: skip
        for path in root.glob(pattern):
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def output_of(
    address: str, image: str, name: str, case: Case, store: Path, *, held_out: bool, strict: bool
) -> str:
    """Return what a run of the image in the engine puts out, or what its server answers."""
    options = ["run", "--rm", "--pull", "never", "--network", "host"]
    options += ["--volume", f"{store}:/trimtab/store:ro"] if store.is_dir() else []
    options += ["--user", case.user] if case.user else []
    if strict:
        options += ["--env", "TRIMTAB_FALLBACK=strict"]
    if case.port is None:
        return docker(address, *options, image, *(case.held_out if held_out else case.command))
    container = docker(address, options[0], "-d", *options[1:], image, *case.command).strip()
    try:
        wait_for(case.port)
        return run(case.drive(name, held_out), timeout=100)
    finally:
        subprocess.run(["docker", "-H", address, "kill", container], capture_output=True)
        gone(case.port)


def wait_for(port: int) -> None:
    """Return when something answers on the port."""
    end_s = time.monotonic() + 60
    while time.monotonic() < end_s:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise CommandError(1, f"nothing answers on port {port}")


def gone(port: int) -> None:
    """Return when nothing answers there any more."""
    with socket.socket() as probe:
        while probe.connect_ex(("127.0.0.1", port)) == 0:
            time.sleep(0.05)
            probe.close()
            probe = socket.socket()


def measured(address: str, name: str, case: Case, base: Path, folder: Path) -> dict[str, Any]:
    """Build, slim, run and compare one image."""
    image = built(address, name, case, base, folder)
    environment = {**os.environ, "DOCKER_HOST": address, "XDG_CACHE_HOME": str(folder / "cache")}
    words = [
        "image",
        "slim",
        image,
        "--runs",
        "2",
        "--settle",
        "2",
        "--workspace",
        str(folder / "ws"),
    ]
    words += ["--user", case.user] if case.user else []
    if case.port is not None:
        words += ["--drive", " ".join(case.drive(name)), "--address", f"127.0.0.1:{case.port}"]
    began_s = time.perf_counter()
    run([*TRIMTAB, *words, "--", *case.command], env=environment, cwd=folder, timeout=1500)
    figures: dict[str, Any] = {"slim_s": time.perf_counter() - began_s}
    slim = f"case-{name}:slim"
    run(
        [*TRIMTAB, "image", "compare", image, slim, "--output", "both.json"],
        env=environment,
        cwd=folder,
    )
    both = json.loads((folder / "both.json").read_text())
    for side in ("before", "after"):
        kept = ("file_bytes", "layer_bytes", "compressed_bytes", "files", "executables")
        figures[side] = {key: both[side][key] for key in kept} | {
            key: len(both[side][key]) for key in ("setuid", "shells", "interpreters")
        }
    figures["packages"] = packages_of(folder / "ws")
    for held_out in (False, True) if case.held_out or case.port else (False,):
        place, none = (folder / "ws/store", Path("/nonexistent"))
        before = output_of(address, image, name, case, none, held_out=held_out, strict=False)
        for strict in (False, True):
            key = f"{'held_out' if held_out else 'traced'}{'_strict' if strict else ''}"
            try:
                after = output_of(
                    address, slim, name, case, place, held_out=held_out, strict=strict
                )
                figures[key] = "equal" if after == before else "other"
            except CommandError as error:
                figures[key] = f"ended with exit code {error.exit_code}"
    return figures


def packages_of(workspace: Path) -> dict[str, int]:
    """Return how many packages have files, and how many of these none that stays."""
    import pandas as pd

    [table] = workspace.glob("**/files.parquet")
    files = pd.read_parquet(table)
    files = files[(files["type"] == "file") & (files["package"] != "")]
    stays = files.groupby("package")["kept"].any()
    return {"all": len(stays), "none_stays": int((~stays).sum())}


def main() -> None:
    """Measure all cases and add them to benchmarks/results/images.json."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--case", action="append", choices=list(CASES))
    parser.add_argument("--folder", type=Path, default=None, help="where images are built")
    given = parser.parse_args()
    address = run([PROJECT / "scripts/engine.sh", "start"]).strip()
    cases: dict[str, Any] = dict((load("images") or {}).get("cases", {}))  # type: ignore[call-overload]
    with tempfile.TemporaryDirectory(dir=given.folder) as place:
        base = Path(place, "base")
        mirror = run(["apt-get", "indextargets", "--format", "$(SITE)", "Created-By: Packages"])
        run(["debootstrap", "--variant=minbase", "bookworm", base, mirror.split()[0]], timeout=900)
        for name in given.case or CASES:
            folder = Path(place, name)
            folder.mkdir()
            try:
                cases[name] = measured(address, name, CASES[name], base, folder)
            except (CommandError, subprocess.TimeoutExpired) as error:
                cases[name] = {"error": re.sub(r"\s+", " ", str(error))[-600:]}
            print(name, json.dumps(cases[name]), flush=True)
            shutil.rmtree(folder, ignore_errors=True)
            save("images", {"cases": cases})


if __name__ == "__main__":
    main()
