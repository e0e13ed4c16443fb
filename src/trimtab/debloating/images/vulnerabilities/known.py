"""Match packages with known vulnerabilities."""

from collections import defaultdict
from collections.abc import Iterable

from trimtab.debloating.images.vulnerabilities.advisories import Advisory, Affected
from trimtab.debloating.images.vulnerabilities.packages import Package
from trimtab.records.images.comparison import KnownVulnerability


def known_vulnerabilities(
    packages: Iterable[Package], advisories: Iterable[Advisory]
) -> dict[tuple[str, str, str], list[KnownVulnerability]]:
    """Return the vulnerabilities of each vulnerable package, by its identity, each once.

    Several advisories with the same CVE number count once. An advisory counts if it is for the
    package's release of a distribution, or for all releases.
    """
    wanted = defaultdict(list)
    for package in packages:
        wanted[package.ecosystem.partition(":")[0], package.source].append(package)
    found: dict[tuple[str, str, str], dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for advisory in advisories:
        for affected in advisory.affected:
            for package in wanted.get((affected.ecosystem.partition(":")[0], affected.package), ()):
                if _is_for(affected, package) and affected.has(package.source_version):
                    for name in advisory.vulnerabilities:
                        found[package.identity][name].add(advisory.name)
    return {
        identity: [
            KnownVulnerability(name, sorted(by), *identity) for name, by in sorted(names.items())
        ]
        for identity, names in found.items()
    }


def _is_for(affected: Affected, package: Package) -> bool:
    """Return whether an advisory is for a package's release: `Ubuntu:22.04:LTS` is for 22.04."""
    _, _, release = affected.ecosystem.partition(":")
    _, _, ours = package.ecosystem.partition(":")
    return not release or release == ours or release.removesuffix(":LTS") == ours
