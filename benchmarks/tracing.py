"""What tracing costs: LeNet5 training plain, with functions and with files traced, in turn."""

import tempfile
from pathlib import Path

from common import save, spread, wall_s

from trimtab.config import Configurations
from trimtab.profiling.runs.from_workload import program_of
from trimtab.profiling.tracing.files import tracing_command
from trimtab.profiling.tracing.functions import tracing_environment

PAIRS = 7


def main() -> None:
    """Run the interleaved triples and save wall times and their ratios."""
    workload = Configurations(Path("conf")).option("workload", "lenet5_train")
    times: dict[str, list[float]] = {"plain": [], "functions": [], "files": []}
    with tempfile.TemporaryDirectory() as folder:
        program = program_of(workload, Path(folder, "run"))
        wall_s(program.command, program.environment, program.workdir)  # warms the page cache
        for repeat in range(PAIRS):
            order = list(times) if repeat % 2 == 0 else list(times)[::-1]
            for condition in order:
                environment = dict(program.environment)
                if condition == "functions":
                    environment = tracing_environment(environment, Path(folder, "record"))
                command = program.command
                if condition == "files":
                    command = tracing_command(command, Path(folder, "files"))
                times[condition].append(wall_s(command, environment, program.workdir))
    figures: dict[str, object] = {f"{name}_wall_s": spread(each) for name, each in times.items()}
    for name in ("functions", "files"):
        pairs = zip(times[name], times["plain"], strict=True)
        figures[f"{name}_ratio"] = spread([traced / plain for traced, plain in pairs])
        pairs = zip(times[name], times["plain"], strict=True)
        figures[f"{name}_difference_s"] = spread([traced - plain for traced, plain in pairs])
    save("tracing", figures)


if __name__ == "__main__":
    main()
