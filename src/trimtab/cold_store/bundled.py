"""What the file of `trimtab cold-store program` runs, on a node that may have no other file.

native/static_program/main.c starts Python from memory, and names each compiled module's file there.
"""

import os
import sys
from collections.abc import Sequence
from importlib.machinery import ExtensionFileLoader, ModuleSpec
from importlib.util import spec_from_file_location

MODULES = "TRIMTAB_MODULES"
# Where distributions keep the certificate authorities: Debian, Fedora, SUSE, RHEL, Alpine.
_BUNDLES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/cert.pem",
)
_OF_OPENSSL = ("SSL_CERT_FILE", "SSL_CERT_DIR")
_OF_PYTHON = ("PYTHONHOME", "PYTHONPATH")


class _ModulesInMemory:
    """Finds compiled modules, whose files are descriptors of this process: `NAME=NUMBER:...`."""

    def __init__(self, given: str) -> None:
        pairs = (each.partition("=") for each in given.split(":") if each)
        self._paths = {name: f"/proc/self/fd/{number}" for name, _, number in pairs}

    def find_spec(self, name: str, *_: object) -> ModuleSpec | None:
        """Return where the module `name` is; None for others."""
        path = self._paths.get(name)
        if path is None:
            return None
        return spec_from_file_location(name, path, loader=ExtensionFileLoader(name, path))


def main() -> None:
    """Run the command line of the process, and end it."""
    sys.meta_path.insert(0, _ModulesInMemory(os.environ.pop(MODULES, "")))
    for name in _OF_PYTHON:  # another Python, as of a credential helper, could not start with them
        os.environ.pop(name, None)
    _name_process()
    _find_authorities(sys.argv[1:])
    os.environ.setdefault("HOME", "/")  # as engines do: no /etc/passwd may tell it
    from trimtab.cold_store.__main__ import main as run  # it needs compiled modules

    sys.exit(run())


def _name_process() -> None:
    """Give the process its name: else it has that of a file in memory, a number."""
    try:
        with open("/proc/self/comm", "w") as file:
            file.write("cold-store")
    except OSError:  # a hardened /proc
        pass


def _find_authorities(arguments: Sequence[str]) -> None:
    """Have OpenSSL trust what the node trusts: it looks where the building machine has its own."""
    if any(name in os.environ for name in _OF_OPENSSL):
        return
    found = next((path for path in _BUNDLES if os.access(path, os.R_OK)), None)
    if found is not None:
        os.environ[_OF_OPENSSL[0]] = found
    elif not any(each == "--ca" or each.startswith("--ca=") for each in arguments):
        print(
            "trimtab cold-store: no certificate authorities on this machine; name them with --ca",
            file=sys.stderr,
        )
