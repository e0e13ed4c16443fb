"""Rule weigh_environment: what the environment weighs compressed, before and after."""

import argparse
from pathlib import Path

from trimtab.locks import folder_lock
from trimtab.processes.supervision import supervised

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--environment", type=Path, required=True, help="folder of the environment")
parser.add_argument("--manifest", type=Path, required=True, help="manifest.json of the target")
parser.add_argument("--threads", type=int, required=True, help="how many compress")
parser.add_argument("--output", type=Path, required=True, help="compressed.json")
arguments = parser.parse_args()

with supervised(), folder_lock(arguments.output.parent):
    from trimtab.debloating.copies.compressed_size import COMPRESSION, compressed_bytes
    from trimtab.debloating.copies.layout import EnvironmentLayout
    from trimtab.debloating.snapshots.installing import remove_snapshots
    from trimtab.debloating.targets.registry import target_at
    from trimtab.records.built_environment import CompressedEnvironment
    from trimtab.records.manifest import Manifest

    remove_snapshots(arguments.environment)  # the rule save_start makes them again
    manifest = Manifest.read(arguments.manifest)
    before = target_at(manifest.environment).layout()
    CompressedEnvironment(
        target=manifest.target,
        compression=COMPRESSION,
        before_bytes=compressed_bytes(before, arguments.threads),
        after_bytes=compressed_bytes(
            EnvironmentLayout.of_root(arguments.environment), arguments.threads
        ),
    ).write(arguments.output)
