"""check.py URL RESULTS JOB RECORD [TAKEN_UP]: the merged record of a job against its shards' journals, and all
jobs below RESULTS against the simulated server's own account."""

import json
import pathlib
import sys
import urllib.request

url, results, job = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
record = json.loads(pathlib.Path(sys.argv[4]).read_text())
taken_up = int(sys.argv[5]) if len(sys.argv) > 5 else None
REQUESTS, SHARDS, CLIENTS_OF_ONE = 320, 4, 4


def requests(of):
    """Request lines of journals that a client counted as succeeded."""
    for journal in results.glob(f"{of}/*-shard-*/observations.jsonl"):
        for line in map(json.loads, journal.open()):
            if "request" in line and line["request"]["completion"] == "succeeded":
                yield line["request"]


load, shards = record["load"], record["shards"]
assert record["status"] == "completed", record["limitations"]
assert (load["offered"], load["succeeded"]) == (REQUESTS, REQUESTS), load
numbers = list(range(1, SHARDS + 1))
assert [shard["number"] for shard in shards] == numbers, shards
assert [shard["sent"] for shard in shards] == [REQUESTS // SHARDS] * SHARDS, shards
assert [shard["taken_up"] for shard in shards] == [int(n == taken_up) for n in numbers], shards
measured = sorted(it["index"] for it in requests(job) if it["stage"] == "measured")
assert measured == list(range(REQUESTS)), "each request of the plan once"

# What was under way when a task was killed has no line: the server may have ended it, or lost its client.
lost = 0 if taken_up is None else CLIENTS_OF_ONE
totals = json.load(urllib.request.urlopen(f"{url}/sim/account"))["totals"]
lines = sum(1 for _ in requests("*"))
assert 0 <= totals["complete"] - lines <= lost, (totals, lines)
assert totals["disconnected"] <= lost and totals["faulted"] == totals["rejected"] == 0, totals
late = [shard["began_late_ms"] for shard in shards]
print(f"job {job}: {load['succeeded']} of {load['offered']} succeeded, the server completed "
      f"{totals['complete']} and the journals of all jobs hold {lines}; shards began late by {late} ms")
