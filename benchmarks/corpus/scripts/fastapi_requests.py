"""An API served by uvicorn in a thread of this process, and asked over a socket."""

import socket
import sys
import threading

import httpx
import uvicorn
from fastapi_service import app

count = int(sys.argv[1])
with socket.socket() as listening:
    listening.bind(("127.0.0.1", 0))
    listening.listen()
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    with httpx.Client(base_url=f"http://127.0.0.1:{listening.getsockname()[1]}") as client:
        for n in range(count):
            print(client.post("/scores", json={"name": f"n{n}", "values": [1, 2, n]}).json())
        print(client.post("/scores", json={"name": "bad", "values": "none"}).status_code)
        print(client.get("/absent").json(), len(client.get("/openapi.json").json()["paths"]))
        print(client.get("/matrix", params={"size": count + 2}).json())
    server.should_exit = True
    thread.join()
