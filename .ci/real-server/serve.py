"""Serves a GGUF model with llama.cpp's own HTTP server on a free loopback port, which it prints."""

import signal
import socket
import sys
import threading

import xllamacpp

SLOTS, CONTEXT_PER_SLOT = 4, 2048

with socket.socket() as probe:
    probe.bind(("127.0.0.1", 0))
    port = probe.getsockname()[1]

params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.model_alias = {"smollm2-135m"}
params.hostnames = ["127.0.0.1"]
params.port = port
params.n_parallel = SLOTS
params.n_ctx = SLOTS * CONTEXT_PER_SLOT
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
params.ui = False

stopped = threading.Event()
for number in (signal.SIGTERM, signal.SIGINT):
    signal.signal(number, lambda *_: stopped.set())
server = xllamacpp.Server(params)  # returns when the model is loaded
print(f"http://127.0.0.1:{port}", flush=True)
stopped.wait()
