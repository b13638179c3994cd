"""serve.py MODEL [PORT]: serves a GGUF model with llama.cpp's own HTTP server on the loopback interface.

Prints the address when the model is loaded. Without a port it takes a free one.
"""

import signal
import socket
import sys
import threading

import xllamacpp

SLOTS, CONTEXT_PER_SLOT = 4, 2048


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


port = int(sys.argv[2]) if len(sys.argv) > 2 else free_port()

params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.model_alias = {"smollm2-135m"}
params.hostnames = ["127.0.0.1"]
params.port = port
params.n_parallel = SLOTS
params.n_ctx = SLOTS * CONTEXT_PER_SLOT
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
params.ui = False
params.endpoint_metrics = True

stopped = threading.Event()
for number in (signal.SIGTERM, signal.SIGINT):
    signal.signal(number, lambda *_: stopped.set())
server = xllamacpp.Server(params)  # returns when the model is loaded
print(f"http://127.0.0.1:{port}", flush=True)
stopped.wait()
