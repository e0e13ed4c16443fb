"""A job of slurm_images.py, on its node: it gets its image there, and runs a program in it.

    python slurm_image_job.py FOLDER GROUPS REGISTRY NAME COMMAND ...
    python slurm_image_job.py FOLDER GROUPS SECONDS        # sleeps

FOLDER/NODE/NAME is the image as the node has it, FOLDER/jobs/JOB.json what the job did when, in
seconds since 1970. GROUPS/NODE is the control group of the node's processor time. REGISTRY is the
host and port of an image's registry, as `trimtab image start` has it. ROOT in COMMAND is the
image's root. It imports the standard library alone, to start fast.
"""

import hashlib
import json
import os
import subprocess
import sys
import time
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path

_PIECE_BYTES = 1 << 18
_ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/", "OMP_NUM_THREADS": "1"}


def _asked(registry: HTTPConnection, path: str) -> HTTPResponse:
    registry.request("GET", path)
    answer = registry.getresponse()
    if answer.status != 200:
        raise SystemExit(f"{path}: {answer.status} {answer.reason}")
    return answer


def _pull(host: str, folder: Path) -> list[Path]:
    """Write the layers of an image into `folder`; their digests are checked."""
    registry = HTTPConnection(host)
    files = []
    manifest = json.loads(_asked(registry, "/v2/image/manifests/latest").read())
    for number, layer in enumerate(manifest["layers"]):
        digest, file = hashlib.sha256(), folder / f"layer-{number}"
        answer = _asked(registry, f"/v2/image/blobs/{layer['digest']}")
        with file.open("wb") as written:
            while piece := answer.read(_PIECE_BYTES):
                digest.update(piece)
                written.write(piece)
        if f"sha256:{digest.hexdigest()}" != layer["digest"]:
            raise SystemExit(f"{layer['digest']}: another digest")
        files.append(file)
    return files


def _unpack(layers: list[Path], root: Path) -> None:
    for layer in layers:
        tar = ["tar", "-xzpf", layer, "--numeric-owner", "-C", root]
        subprocess.run(tar, check=True)
        layer.unlink()


def main() -> None:
    """Run the job, and write when each step of it ended."""
    folder, groups, *does = sys.argv[1:]
    node = os.environ["SLURMD_NODENAME"]
    (Path(groups) / node / "cgroup.procs").write_text("0")
    times = {"begun": time.time()}
    record: dict[str, object] = {"node": node, "times": times}
    if len(does) == 1:
        time.sleep(float(does[0]))
    else:
        host, name, *command = does
        place = Path(folder) / node
        root = place / name
        if is_cold := not root.is_dir():
            partial = place / f"{name}.partial"
            partial.mkdir(parents=True)
            layers = _pull(host, place)
            times["pulled"] = time.time()
            _unpack(layers, partial)
            partial.rename(root)
        times["there"] = time.time()
        words = [each.replace("ROOT", str(root)) for each in command]
        program = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=_ENVIRONMENT)
        assert program.stdout is not None
        program.stdout.readline()
        times["ready"] = time.time()
        answer = program.stdout.read().strip()
        if program.wait():
            raise SystemExit(program.returncode)
        record |= {"image": name, "is_cold": is_cold, "answer": answer}
    times["ended"] = time.time()
    written = Path(folder) / "jobs" / f"{os.environ['SLURM_JOB_ID']}.json"
    written.write_text(json.dumps(record))


if __name__ == "__main__":
    main()
