"""Ask a notebook's kernel to run a cell, as soon as there is one: `ask_kernel.py CONNECTION`."""

import sys

import zmq
from jupyter_client import BlockingKernelClient

context = zmq.Context()
context.setsockopt(zmq.RECONNECT_IVL, 1)  # milliseconds
client = BlockingKernelClient(context=context)
client.load_connection_file(sys.argv[1])
client.start_channels(stdin=False, hb=False)
print("asks", file=sys.stderr, flush=True)
client.execute("6 * 7")
print(client.get_shell_msg()["content"]["status"])
client.stop_channels()
