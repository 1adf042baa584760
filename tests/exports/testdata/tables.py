"""Reads the tables of a recording with Python's own readers: tables.py FOLDER QUERIES.

FOLDER holds NAME.csv and NAME.jsonl for each table, which must be equal. QUERIES is the page with the SQL queries,
which SQLite runs on the tables. Prints the results as JSON.
"""

import csv
import json
import re
import sqlite3
import sys

folder, page = sys.argv[1:]
csv.field_size_limit(1 << 30)
TEXT = {"function", "file", "module", "frames", "name", "linkage", "offset", "address", "kind"}
FLAGS = {"inlined", "realloc", "in_place", "temporary", "late"}


def value(table, column, text):
    """What a field of CSV means: None, text, or a number."""
    if text == "":
        return None
    if column in TEXT:
        return text
    return int(text)


def read(table):
    with open(f"{folder}/{table}.csv", newline="", encoding="utf-8") as f:
        reader = csv.reader(f, strict=True)
        head = next(reader)
        rows = []
        for row in reader:
            assert len(row) == len(head), (table, row)
            rows.append([value(table, c, v) for c, v in zip(head, row)])
    return head, rows


def shown(c):
    """A character as CSV has it: what a terminal would obey is written as in Go."""
    n = ord(c)
    if 7 <= n <= 13:
        return "\\" + "abtnvfr"[n - 7]
    if n < 0x20 or n == 0x7f:
        return f"\\x{n:02x}"
    if n < 0xa0 and n > 0x7f or 0x200e <= n <= 0x200f or 0x2028 <= n <= 0x202e or 0x2066 <= n <= 0x2069:
        return f"\\u{n:04x}"
    return c


def cell(v):
    """A value of JSON as CSV has it: formulas are none."""
    if not isinstance(v, str):
        return v
    v = "".join(map(shown, v))
    try:
        float(v)
        return v
    except ValueError:
        pass
    return "'" + v if v.lstrip(" \u00a0")[:1] in tuple("=+-@") else v


def same(table, head, rows):
    """JSON Lines say what CSV says."""
    with open(f"{folder}/{table}.jsonl", encoding="utf-8", newline="\n") as f:
        lines = f.read().split("\n")
    assert lines.pop() == "" and len(lines) == len(rows), table
    for line, row in zip(lines, rows):
        fields = json.loads(line)
        assert set(fields) <= set(head), line
        for column, v in zip(head, row):
            other = cell(fields.get(column))
            if column in FLAGS and table != "stacks":
                assert isinstance(other, bool) and v in (0, 1) and other == bool(v), line
            else:
                assert v == other, (column, v, line)


def replay(rows, head):
    """Recounts the events."""
    at = {name: i for i, name in enumerate(head)}
    live, out = {}, dict.fromkeys(["allocations", "bytes", "deallocations", "freed", "peak", "peak-blocks",
                                   "temporary", "temporary-bytes"], 0)
    level = 0
    for row in rows:
        kind, size, block = row[at["kind"]], row[at["size"]], row[at["block"]]
        if kind == "alloc":
            assert block not in live
            live[block] = size
            level += size
            out["allocations"] += 1
            out["bytes"] += size
            if level > out["peak"]:
                out["peak"], out["peak-blocks"] = level, len(live)
        elif kind == "free":
            assert live.pop(block) == size
            level -= size
            out["deallocations"] += 1
            out["freed"] += size
            out["temporary"] += row[at["temporary"]]
            out["temporary-bytes"] += row[at["temporary"]] * size
    out["leaked"] = out["live"] = sum(live.values())
    out["leaked-blocks"] = out["live-blocks"] = len(live)
    return out


result = {}
db = sqlite3.connect(":memory:")
for table in ["stacks", "frames", "events", "timeline"]:
    head, rows = read(table)
    same(table, head, rows)
    db.execute(f"CREATE TABLE {table} ({', '.join(head)})")
    db.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(head))})", rows)
    if table == "stacks":
        sums = [c for c in head if c not in TEXT | {"stack", "line"}]
        result["stacks"] = {c.replace("_", "-"): sum(r[head.index(c)] for r in rows) for c in sums}
    if table == "events":
        result["events"] = replay(rows, head)
    if table == "timeline":
        column = {c: [r[i] for r in rows] for i, c in enumerate(head)}
        result["timeline"] = {
            "allocations": sum(column["allocations"]), "bytes": sum(column["bytes"]),
            "deallocations": sum(column["deallocations"]), "peak": max(column["most_live_bytes"]),
            "leaked": column["live_bytes"][-1], "leaked-blocks": column["live_blocks"][-1]}
with open(page, encoding="utf-8") as f:
    section = re.search(r"\n### Ten questions in SQL\n(.*?)(\n##|$)", f.read() + "\n##", re.S).group(1)
queries = re.findall(r"```sql\n(.*?)```", section, re.S)
result["sql"] = [db.execute(q).fetchall() for q in queries]
json.dump(result, sys.stdout)
