"""A small program with one compiled extension: escapes a text, round by round."""

import argparse
import hashlib
import json
import os
import signal
from pathlib import Path

from markupsafe import _speedups

parser = argparse.ArgumentParser()
parser.add_argument("--rounds", type=int, default=2)
parser.add_argument("--output", type=Path, required=True)
arguments = parser.parse_args()

# A test hears from here that a run has begun; it ends that, or opens TINY_GO for it to go on.
if "TINY_STARTED" in os.environ:
    started = open(os.environ["TINY_STARTED"], "w")  # noqa: SIM115  held for as long as it lives
    started.write("started")
    started.flush()
    taken = b"x" * (int(os.environ.get("TINY_MIB", "0")) << 20)
    if "TINY_GO" in os.environ:
        open(os.environ["TINY_GO"]).close()
    else:
        signal.pause()

text = "<a href='x'>&</a>"
print("first iteration", flush=True)
for epoch in range(arguments.rounds):
    text = str(_speedups._escape_inner(text))
    print(f"epoch {epoch}", flush=True)
digest = hashlib.sha256(text.encode()).hexdigest()
arguments.output.write_text(json.dumps({"sha256": digest, "length": len(text)}))
