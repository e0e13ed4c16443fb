"""A server of a few names, for programs that look them up by themselves."""

import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import pytest

_ADDRESS, _PORT = "127.0.0.77", 53
_NO_SUCH_NAME = 3


@contextmanager
def names_served(names: Mapping[bytes, str]) -> Iterator[str]:
    """Answer questions for the IPv4 addresses of `names`; gives the server's own address."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        try:
            server.bind((_ADDRESS, _PORT))
        except OSError as error:
            pytest.skip(f"names cannot be served at {_ADDRESS}: {error}")
        thread = threading.Thread(target=_answer_all, args=(server, names))
        thread.start()
        try:
            yield _ADDRESS
        finally:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as last:
                last.sendto(b"", (_ADDRESS, _PORT))
            thread.join()


def _answer_all(server: socket.socket, names: Mapping[bytes, str]) -> None:
    while True:
        question, asker = server.recvfrom(512)
        if not question:
            return
        server.sendto(_answer(question, names), asker)


def _answer(question: bytes, names: Mapping[bytes, str]) -> bytes:
    """Answer by an alias first, as many servers do (RFC 1035 section 4)."""
    labels, at = [], 12
    while length := question[at]:
        labels.append(question[at + 1 : at + 1 + length])
        at += 1 + length
    asked = question[12 : at + 5]
    address = names.get(b".".join(labels))
    if address is None:
        return question[:2] + bytes((0x81, 0x80 | _NO_SUCH_NAME, 0, 1, 0, 0, 0, 0, 0, 0)) + asked
    alias_at = 12 + len(asked) + 12  # behind the fields of its record
    alias = bytes((0xC0, 12, 0, 5, 0, 1, 0, 0, 0, 9, 0, 7)) + b"\4real\xc0\x0c"
    row = bytes((0xC0, alias_at, 0, 1, 0, 1, 0, 0, 0, 9, 0, 4)) + socket.inet_aton(address)
    return question[:2] + bytes((0x81, 0x80, 0, 1, 0, 2, 0, 0, 0, 0)) + asked + alias + row
