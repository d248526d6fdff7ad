"""Reads what call_sequences writes and says where two libraries answer the same seeds differently.

Of each seed the lines count up to the first difference that may change what follows: from there on the two sequences are
different ones. Calls that only ask change nothing, so their differences end nothing. What the first library did not live
to answer is nobody's difference.
"""

import collections
import itertools
import lzma
import re

# wrong: what is wrong with the call; result: the name of its CUresult, or how the process ended.
Line = collections.namedtuple("Line", "seed place function wrong arguments result outputs")
# What differences have in common. outputs: which of them differ, empty where the results do.
Kind = collections.namedtuple("Kind", "function wrong theirs ours outputs")
# kinds: Kind -> its pairs of lines, theirs and ours.
Comparison = collections.namedtuple("Comparison", "seeds alike calls kinds")

ASKS = re.compile(r"Get(?!Function\b|Kernel\b)|Query|Occupancy|IsCapturing|Enumerate|TensorMapEncode|CanAccessPeer")
OUTPUT_NAME = re.compile(r"(?:^| )([a-z0-9][a-z0-9 ]*)=")


def read(path):
    """Seed -> its lines. The file may be compressed with xz."""
    with (lzma.open if str(path).endswith(".xz") else open)(path, "rt", errors="replace") as file:
        rows = (line.rstrip("\n").split("\t") for line in file)
        lines = [Line(int(cells[0]), int(cells[1]), *cells[2:]) for cells in rows if len(cells) == 7]
    return {seed: list(group) for seed, group in itertools.groupby(lines, key=lambda line: line.seed)}


def lived(line):
    return line.result.startswith("CUDA_")


def differing_outputs(theirs, ours):
    """The names of outputs that are not the same."""

    def parse(text):
        parts = OUTPUT_NAME.split(text)[1:]
        return dict(zip(parts[::2], parts[1::2]))

    mine, other = parse(theirs), parse(ours)
    return ", ".join(name for name in {**mine, **other} if mine.get(name) != other.get(name))


def kind_of(theirs, ours):
    """None where they are alike."""
    if (theirs.function, theirs.wrong, theirs.arguments) != (ours.function, ours.wrong, ours.arguments):
        return Kind(theirs.function, "", "", "", "another call")
    if theirs.result != ours.result:
        return Kind(theirs.function, theirs.wrong, theirs.result, ours.result, "")
    if theirs.outputs != ours.outputs:
        differing = differing_outputs(theirs.outputs, ours.outputs)
        return Kind(theirs.function, theirs.wrong, theirs.result, ours.result, differing)
    return None


def compare_seed(theirs, ours):
    """Yields (kind, their line, our line) for each call before the sequences part."""
    for a, b in zip(theirs, ours):
        if not lived(a):
            return
        kind = kind_of(a, b)
        yield kind, a, b
        if kind and (kind.outputs == "another call" or not lived(b) or not ASKS.search(a.function)):
            return


def compare(theirs, ours):
    """Two records as read() returns them -> Comparison of the seeds that both have."""
    kinds = collections.defaultdict(list)
    seeds = sorted(set(theirs) & set(ours))
    alike = calls = 0
    for seed in seeds:
        before = sum(len(pairs) for pairs in kinds.values())
        for kind, a, b in compare_seed(theirs[seed], ours[seed]):
            calls += 1
            if kind:
                kinds[kind].append((a, b))
        alike += sum(len(pairs) for pairs in kinds.values()) == before
    return Comparison(len(seeds), alike, calls, dict(kinds))


def by_frequency(kinds):
    return sorted(kinds.items(), key=lambda item: (-len(item[1]), item[0]))
