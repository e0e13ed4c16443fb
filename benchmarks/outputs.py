"""Equal output of every shipped workload in its slim environment, from the experiment `full`."""

import json
from pathlib import Path

from common import save


def main() -> None:
    """Collect the verdicts that `snakemake ... all` with experiment=full left."""
    verdicts = {}
    for path in sorted(Path("results/debloat").glob("*/*/verify.json")):
        document = json.loads(path.read_text())
        for each in document["workloads"]:
            verdicts[f"{document['target']}: {each['workload']}"] = {
                "repeats": each["repeats"],
                "equal_runs": each["equal_runs"],
            }
    save("outputs", {"verdicts": verdicts})


if __name__ == "__main__":
    main()
