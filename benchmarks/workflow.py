"""How long `snakemake -n` takes when nothing has changed since `make all`."""

import os
import subprocess
import sys
from pathlib import Path

from common import save, spread, wall_s

REPEATS = 5


def main() -> None:
    """Save the wall times; fails when there is something to do."""
    bin_folder = Path(sys.executable).parent
    environment = {**os.environ, "PATH": f"{bin_folder}:{os.environ['PATH']}"}
    command = [str(bin_folder / "snakemake"), "-n", "--cores", "2", "all"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    if "Nothing to be done" not in done.stdout + done.stderr:
        sys.exit("there is something to do: run `make all` first")
    command.append("--quiet")
    save(
        "workflow",
        {"dry_run_s": spread([wall_s(command, environment, Path.cwd()) for _ in range(REPEATS)])},
    )


if __name__ == "__main__":
    main()
