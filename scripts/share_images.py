"""Rule share_images: slim images of one base made again, so that they share a layer."""

import argparse
from pathlib import Path

from trimtab.locks import folder_lock
from trimtab.processes.supervision import supervised

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--config", type=Path, required=True, help="a FleetStage, JSON")
parser.add_argument("--manifests", type=Path, nargs="+", required=True, help="of its targets")
parser.add_argument("--usages", type=Path, nargs="+", required=True, help="of their workloads")
parser.add_argument("--output", type=Path, required=True, help="folder of the results")
arguments = parser.parse_args()

with supervised(), folder_lock(arguments.output):
    from trimtab.config.stages import FleetStage, read
    from trimtab.debloating.several_images.fleet import FleetMember, slim_together
    from trimtab.debloating.several_images.fleet_weights import fleet_of

    usages = iter(arguments.usages)
    members = {
        target: FleetMember.of(manifest.parent, arguments.output, [next(usages) for _ in workloads])
        for (target, workloads), manifest in zip(
            read(arguments.config, FleetStage).targets.items(), arguments.manifests, strict=True
        )
    }
    archives = slim_together(members, arguments.output, print)
    fleet_of(members, archives).write(arguments.output / "fleet.json")
