"""Requests to a server: `ask.py URL METHOD PATH [JSON] ...`, each answer a line."""

import sys
from urllib.error import HTTPError
from urllib.request import Request, urlopen

url, *words = sys.argv[1:]
while words:
    method, path, *words = words
    body = words.pop(0).encode() if method == "POST" else None
    request = Request(url + path, body, {"Content-Type": "application/json"}, method=method)
    try:
        with urlopen(request, timeout=20) as answer:
            print(answer.status, answer.read().decode().strip())
    except HTTPError as error:
        print(error.code, error.read().decode().strip())
