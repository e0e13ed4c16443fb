"""Network use of programs and libraries, from the symbols that they import."""

from dataclasses import dataclass

import numpy as np

from trimtab.binaries.elf.reader import Elf
from trimtab.binaries.elf.tables import SYMBOL, symbol_name, table_rows

_LISTENS = frozenset({"listen", "accept", "accept4"})
_CONNECTS = frozenset({"socket", "connect"})
# The first function of every session in OpenSSL and its forks, GnuTLS, Mbed TLS, NSS, wolfSSL.
_ENCRYPTS = frozenset(
    {"SSL_new", "gnutls_init", "mbedtls_ssl_setup", "SSL_ImportFD", "wolfSSL_new"}
)


@dataclass(frozen=True)
class NetworkUse:
    """Whether code accepts connections, opens connections, or speaks TLS."""

    listens: bool
    connects: bool
    encrypts: bool


def network_use(elf: Elf) -> NetworkUse:
    """Return the network use by the dynamic symbols of `elf`; defined symbols count for TLS only.

    Nothing is found for static programs and for programs with their own system calls.
    """
    symbols = table_rows(elf, ".dynsym", SYMBOL)
    taken, given = _names(elf, symbols, True), _names(elf, symbols, False)
    return NetworkUse(
        listens=not _LISTENS.isdisjoint(taken),
        connects=not _CONNECTS.isdisjoint(taken),
        encrypts=not _ENCRYPTS.isdisjoint(taken | given),
    )


def _names(elf: Elf, symbols: "np.ndarray[tuple[int], np.dtype[np.void]]", taken: bool) -> set[str]:
    """Return which of the names are among the imported, or else the defined, symbols."""
    wanted = {name.encode() + b"\0": name for name in _LISTENS | _CONNECTS | _ENCRYPTS}
    strings = elf.section(".dynstr")
    if strings is None:
        return set()
    table = elf.data[strings.offset : strings.end].tobytes()
    chosen = set(symbols["name"][(symbols["section"] == 0) == taken].tolist())
    found = set()
    for text, name in wanted.items():
        at = table.find(text)
        while at >= 0:
            if at in chosen and symbol_name(elf, at) == name:
                found.add(name)
                break
            at = table.find(text, at + 1)
    return found
