"""Reads what the conformance suite records, for the scripts of this folder."""

import collections
import pathlib

HERE = pathlib.Path(__file__).resolve().parent

Test = collections.namedtuple("Test", "name rules result differs detail")
Rule = collections.namedtuple("Rule", "id function kind text")


class Record:
    """A run of the suite: `about` (device, driver, cuda) and `tests` by name. Empty when there is no such file."""

    def __init__(self, path):
        self.about, self.tests = {}, {}
        if path is None or not pathlib.Path(path).exists():
            return
        for line in pathlib.Path(path).read_text().splitlines():
            cells = line.split("\t")
            if line.startswith("# "):
                self.about[cells[0][2:]] = cells[1]
            elif cells[0] != "test" and len(cells) >= 5:
                differs = dict(part.split(": ", 1) for part in cells[3].split("; ") if ": " in part)
                self.tests[cells[0]] = Test(cells[0], [r for r in cells[1].split("; ") if r], cells[2], differs, cells[4])

    def __bool__(self):
        return bool(self.tests)

    def fill(self, other):
        """Takes over the tests that this record does not have."""
        for name, test in other.tests.items():
            if name not in self.tests:
                self.tests[name] = test
        if other:
            self.about["device"] = f"{self.about.get('device', '?')} and {other.about.get('device', '?')}"

    def title(self):
        return f"{self.about.get('device', '?')}, driver {self.about.get('driver', '?')}"


def read_rules():
    lines = (HERE / "rules.tsv").read_text().splitlines()[1:]
    return [Rule(*line.split("\t")) for line in lines]


def read_untestable():
    """Rule id -> why it cannot be tested; from untestable.tsv and every untestable/*.tsv."""
    reasons = {}
    for path in [HERE / "untestable.tsv", *sorted((HERE / "untestable").glob("*.tsv"))]:
        if path.exists():
            rows = (line.split("\t") for line in path.read_text().splitlines() if line and not line.startswith("#"))
            reasons.update((cells[0], cells[1]) for cells in rows if len(cells) >= 2)
    return reasons
