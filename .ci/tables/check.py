"""Reads the tables that were written back with readers of their own, and holds them to what they
were made of.

    check.py csv FOLDER BINARY          every run directory in FOLDER, by Python's csv
    check.py parquet FOLDER JOURNAL     requests.parquet and requests.csv in FOLDER, by DuckDB
"""

import csv
import io
import json
import pathlib
import subprocess
import sys


def journal(path):
    """The requests of a journal."""
    lines = (json.loads(line) for line in path.read_text().splitlines())
    return [line["request"] for line in lines if "request" in line]


def seen(request, member):
    return (request["observation"] or {}).get(member)


def usage(request, member):
    if seen(request, "usage_ambiguous"):
        return None
    return (seen(request, "usage") or {}).get(member)


# What a column must hold, from the line of the journal.
COLUMNS = {
    "stage": lambda it: it["stage"],
    "index": lambda it: it["index"],
    "completion": lambda it: it["completion"],
    "scheduled_us": lambda it: it["scheduled_us"],
    "started_us": lambda it: it["started_us"],
    "elapsed_us": lambda it: it["elapsed_us"],
    "connect_us": lambda it: it["connect_us"],
    "first_output_us": lambda it: seen(it, "first_output_us"),
    "last_output_us": lambda it: seen(it, "last_output_us"),
    "output_event_count": lambda it: seen(it, "output_events"),
    "completion_tokens": lambda it: usage(it, "completion_tokens"),
    "http_status": lambda it: seen(it, "http_status"),
    "failure_class": lambda it: (it["failure"] or {}).get("class"),
}


def as_cell(value):
    return "" if value is None else str(value)


def table(binary, rows, run):
    command = [binary, "report", "--csv", rows, str(run)]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return list(csv.DictReader(io.StringIO(text, newline="")))


def check_csv(folder, binary):
    journals = pathlib.Path(folder).rglob("observations.jsonl")
    runs = sorted(it.parent for it in journals if (it.parent / "record.json").exists())
    assert runs, f"no run directory in {folder}"
    requests = 0
    for run in runs:
        record = json.loads((run / "record.json").read_text())
        lines, rows = journal(run / "observations.jsonl"), table(binary, "requests", run)
        assert len(lines) == len(rows), f"{run}: {len(lines)} lines, {len(rows)} rows"
        for line, row in zip(lines, rows):
            for name, of in COLUMNS.items():
                assert row[name] == as_cell(of(line)), f"{run}: {name} of {line['index']}"
        rows = table(binary, "metrics", run)
        assert len(rows) == len(record["metrics"])
        for metric, row in zip(record["metrics"], rows):
            assert row["metric_id"] == metric["id"] and row["unit"] == metric["unit"]
            value = float(row["value"]) if row["value"] else None
            assert value == metric["value"], f"{run}: {metric['id']}"
        requests += len(lines)
    print(f"{len(runs)} runs, {requests} requests read back from CSV")


def check_parquet(folder, path):
    import duckdb

    folder = pathlib.Path(folder)
    lines = journal(pathlib.Path(path))
    file = str(folder / "requests.parquet")
    found = duckdb.sql(f"select * from read_parquet('{file}')")
    rows = [dict(zip(found.columns, row)) for row in found.fetchall()]
    assert len(rows) == len(lines), f"{len(rows)} rows, {len(lines)} lines"
    for line, row in zip(lines, rows):
        for name, of in COLUMNS.items():
            assert row[name] == of(line), f"{name} of {line['index']}: {row[name]!r}"
        arrivals = seen(line, "arrivals_us") if line["observation"] else None
        assert row["arrivals_us"] == arrivals, f"arrivals_us of {line['index']}"
        assert row["observer_lag_us"] == line["observer_lag_us"]
    # The CSV beside it says the same, but for its lists.
    with open(folder / "requests.csv", newline="") as text:
        for row, cells in zip(rows, csv.DictReader(text), strict=True):
            for name, cell in cells.items():
                value = row[name]
                same = float(cell) == value if isinstance(value, float) else cell == as_cell(value)
                assert same, f"{name}: {cell!r} and {value!r}"
    # First output and intervals add up to the last output, as a query says it.
    torn = duckdb.sql(
        f"select count(*) from read_parquet('{file}') "
        "where len(arrivals_us) > 0 and list_sum(arrivals_us) <> last_output_us"
    ).fetchall()[0][0]
    assert torn == 0
    print(f"{len(rows)} requests read back from Parquet by DuckDB {duckdb.__version__}")


if __name__ == "__main__":
    {"csv": check_csv, "parquet": check_parquet}[sys.argv[1]](*sys.argv[2:])
