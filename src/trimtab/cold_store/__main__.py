"""`serve` without the rest of trimtab: what the file of `trimtab cold-store file` runs."""

import argparse
import resource
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from trimtab.cold_store.credentials_file import CredentialsFile
from trimtab.cold_store.node import CACHE, CACHE_BYTES, SOCKET
from trimtab.cold_store.node.allowed import Allowed
from trimtab.cold_store.node.cache import Cache
from trimtab.cold_store.node.log import Log
from trimtab.cold_store.node.misses import MissesFile
from trimtab.cold_store.node.registries import Registries
from trimtab.cold_store.node.server import Server
from trimtab.cold_store.node.store import Store
from trimtab.cold_store.registry import RegistryError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line; return the exit code, 2 for what was given and cannot be used."""
    parser = argparse.ArgumentParser(
        "trimtab cold-store", description="Serve removed pieces of slim images to containers."
    )
    serve = parser.add_subparsers(required=True, metavar="serve").add_parser(
        "serve", help="Serve until SIGTERM."
    )
    add = serve.add_argument
    add(
        "--listen",
        default=SOCKET,
        metavar="ADDRESS",
        help=f"unix:PATH or 127.0.0.1:PORT [{SOCKET}]",
    )
    add("--metrics", metavar="HOST:PORT", help="a second address, for /metrics and /healthz alone")
    add("--allow", action="append", required=True, metavar="HOST[:PORT]/PREFIX",
        help="repositories that containers may name; repeatable")  # fmt: skip
    add("--cache", type=Path, default=CACHE, metavar="FOLDER", help=f"[{CACHE}]")
    add("--cache-bytes", type=int, default=CACHE_BYTES, metavar="N", help=f"[{CACHE_BYTES}]")
    add("--auth", type=Path, metavar="FILE",
        help="credentials, as Docker's config.json; a changed file is read again")  # fmt: skip
    add("--ca", type=Path, metavar="FILE", help="further certificate authorities, PEM")
    add("--plain-http", action="append", default=[], metavar="HOST[:PORT]",
        help="a registry without TLS; repeatable")  # fmt: skip
    add("--misses", type=Path, metavar="FILE", help="append what containers missed")
    try:
        _serve(parser.parse_args(arguments))
    except (OSError, ValueError, RegistryError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def _serve(options: argparse.Namespace) -> None:
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]  # each connection takes two
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    allowed = Allowed(options.allow)
    credentials = CredentialsFile(options.auth, Log().say)
    registries = Registries(credentials, options.ca, options.plain_http)
    misses = MissesFile(options.misses) if options.misses else None
    cache = Cache(options.cache, options.cache_bytes)
    store = Store(registries, cache, allowed, misses)
    server = Server(options.listen, store.answer)
    others = [Server(options.metrics, store.answer_about_itself)] if options.metrics else []

    def stop(*_: object) -> None:
        for each in (server, *others):
            each.stop()

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    for each in others:
        threading.Thread(target=each.serve, daemon=True).start()
    print(f"trimtab cold-store: listening at {server.address}", file=sys.stderr, flush=True)
    server.serve()
    store.close()
    cache.close()


if __name__ == "__main__":
    sys.exit(main())
