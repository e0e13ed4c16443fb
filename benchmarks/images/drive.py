"""Requests to the server of an image: drive.py SOFTWARE PORT [--held-out].

Prints what does not change from run to run.
"""

import socket
import sys
import urllib.error
import urllib.request


def nginx(port: int, held_out: bool) -> None:
    """A page; held out, one that is not there."""
    page(port, "/nothing/here" if held_out else "/")


def caddy(port: int, held_out: bool) -> None:
    """A page; held out, another one."""
    page(port, "/second.html" if held_out else "/")


def flask(port: int, held_out: bool) -> None:
    """What a model predicts; held out, a route that fails."""
    page(port, "/fails" if held_out else "/")


def php(port: int, held_out: bool) -> None:
    """A page of PHP; held out, other functions and an exception."""
    page(port, "/page.php?more" if held_out else "/page.php")


def page(port: int, path: str) -> None:
    """What is answered to a request of a path."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=30) as answer:
            print(answer.status, answer.read().decode())
    except urllib.error.HTTPError as error:
        print(error.code, error.read().decode())


def lines(port: int, requests: list[bytes], last: bytes) -> None:
    """What is answered to lines, until one begins with `last`."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        stream = connection.makefile("rwb")
        for request in requests:
            stream.write(request + b"\r\n")
        stream.flush()
        for line in stream:
            print(line.decode().rstrip())
            if line.startswith(last):
                return


def redis(port: int, held_out: bool) -> None:
    """Strings; held out, a sorted set and a script."""
    more = [b"ZADD z 2 b 1 a", b"ZRANGE z 0 -1", b"EVAL return{redis.call('dbsize'),7} 0"]
    plain = [b"SET a 1", b"INCR a", b"GET a"]
    lines(port, [*(more if held_out else plain), b"ECHO the_end", b"PING"], b"+PONG")


def memcached(port: int, held_out: bool) -> None:
    """A value; held out, a counter."""
    plain = [b"set a 0 0 1", b"x", b"get a"]
    more = [b"set n 0 0 1", b"5", b"incr n 3", b"delete n"]
    lines(port, [*(more if held_out else plain), b"verbosity 0"], b"OK")


if __name__ == "__main__":
    servers = {
        "nginx": nginx, "caddy": caddy, "redis": redis, "memcached": memcached, "flask": flask,
        "php": php,
    }  # fmt: skip
    servers[sys.argv[1]](int(sys.argv[2]), "--held-out" in sys.argv)
