"""Requests to a server: `ask.py URL METHOD PATH [JSON] ...`, each answer a line.

It waits for a worker that is still importing, which with cold caches on a busy CPU takes half a
minute: a run that takes too long is for the workload's `timeout_s` to end.
"""

import sys
from urllib.error import HTTPError
from urllib.request import Request, urlopen

_PATIENCE_S = 300

url, *words = sys.argv[1:]
while words:
    method, path, *words = words
    body = words.pop(0).encode() if method == "POST" else None
    request = Request(url + path, body, {"Content-Type": "application/json"}, method=method)
    try:
        with urlopen(request, timeout=_PATIENCE_S) as answer:
            print(answer.status, answer.read().decode().strip())
    except HTTPError as error:
        print(error.code, error.read().decode().strip())
