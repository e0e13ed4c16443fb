"""What is tuned: its accuracy is its parameter."""

import argparse
import os

parser = argparse.ArgumentParser()
parser.add_argument("--level", type=int, default=1)
parser.add_argument("--epochs", type=int, default=1)
arguments = parser.parse_args()
# Each trial of a test tells that it has begun, and waits until that opens TINY_GO.
if "TINY_STARTED" in os.environ:
    with open(os.environ["TINY_STARTED"], "w") as started:
        started.write("started")
    open(os.environ["TINY_GO"]).close()

for _ in range(arguments.epochs):
    print(f"accuracy {arguments.level / 100}", flush=True)
