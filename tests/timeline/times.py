#!/usr/bin/env python3
"""Whether a timeline's times agree with what a program saw itself.

    times.py TIMELINE PIECES [TOLERANCE]

PIECES is what timed_program printed. Prints, for each kind and size of work, the middle of the times of the timeline and
of the events around the work; then what is wrong, if anything is. TOLERANCE: microseconds by which two clocks may differ.
"""

import collections
import json
import pathlib
import statistics
import sys


def found(events, piece, tolerance):
    """The slices of a piece of work: those with its blocks or bytes that lie where the program waited for it."""
    begin, end = piece["before"] / 1000 - tolerance, piece["after"] / 1000 + tolerance
    key, value = ("grid", piece["blocks"]) if "blocks" in piece else ("bytes", piece["bytes"])

    def is_it(event):
        has = event["args"].get(key)
        return (has[0] if key == "grid" else has) == value
    return [e for e in events if e.get("cat") == piece["kind"] and e["ph"] == "X" and is_it(e) and
            begin <= e["ts"] and e["ts"] + e["dur"] <= end]


def problems(events, pieces, tolerance):
    """What does not fit, as sentences: pieces that are not there, that took less time than they must, or more than the
    events around them say."""
    wrong = []
    for piece in pieces:
        slices = found(events, piece, tolerance)
        if len(slices) != piece["count"]:
            wrong.append(f"{len(slices)} slices where the program waited: {piece}")
        for one in slices:
            if one["dur"] < piece["least"] - tolerance:
                wrong.append(f"took {one['dur']} us: {piece}")
            if one["dur"] > piece.get("events", float("inf")) + tolerance:
                wrong.append(f"took {one['dur']} us, longer than between the events: {piece}")
    return wrong


def table(events, pieces, tolerance):
    rows = collections.defaultdict(list)
    for piece in pieces:
        about = f"{piece['least']:.0f} us" if "blocks" in piece else f"{piece['bytes'] >> 12 << 2} KiB"
        for one in found(events, piece, tolerance):
            rows[one["name"], about].append((one["dur"], piece.get("events", float("nan"))))
    for (name, about), times in rows.items():
        middle, between = (statistics.median(column) for column in zip(*times))
        yield f"{name:28} {about:>10} {len(times):4} times  {middle:10.2f} us, between events {between:10.2f} us"


def read(path):
    text = pathlib.Path(path).read_text()
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def main():
    events, pieces = json.loads(pathlib.Path(sys.argv[1]).read_text()), read(sys.argv[2])
    tolerance = float(sys.argv[3]) if len(sys.argv) > 3 else 1
    print("\n".join(table(events, pieces, tolerance)))
    wrong = problems(events, pieces, tolerance)
    print("\n".join(wrong[:40] + [f"{len(pieces)} pieces of work, {len(wrong)} problems"]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
