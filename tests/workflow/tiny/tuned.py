"""What is tuned: its accuracy is its parameter."""

import argparse

parser = argparse.ArgumentParser()
parser.add_argument("--level", type=int, default=1)
parser.add_argument("--epochs", type=int, default=1)
arguments = parser.parse_args()
for _ in range(arguments.epochs):
    print(f"accuracy {arguments.level / 100}", flush=True)
