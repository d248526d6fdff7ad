"""What scripts/check-locks and scripts/tidy share: which sources to look at, and how clang compiles them."""

import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess

NOT_HERE = 77  # what ctest takes for "skipped"

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
# Of GCC's commands, what clang does not know or must not do.
DROPPED = {"-c", "-fpch-preprocess"}
DROPPED_WITH_NEXT = {"-o", "-include"}


def tool(name):
    """The path of clang's tool of version 14, which was tried, else of any; None where there is none."""
    return shutil.which(f"{name}-14") or shutil.which(name)


def arguments(entry):
    """Clang's arguments for an entry of compile_commands.json: no compiler, launcher, source, output or warnings."""
    words = shlex.split(entry["command"])
    compiler = re.compile(r"(^|/)(c|g|clang)\+\+(-\d+)?$")
    kept, skip = [], False
    for word in words[next(i for i, word in enumerate(words) if compiler.search(word)) + 1:]:
        if skip:
            skip = False
        elif word in DROPPED_WITH_NEXT:
            skip = True
        elif word not in DROPPED and word != entry["file"] and not word.startswith("-W"):
            kept.append(word)
    return kept


class Tree:
    """A tree of sources and what git knows of it."""

    def __init__(self, root):
        self.root = pathlib.Path(root).resolve()
        self.source = self.root / "src"

    def git(self, *words):
        return subprocess.run(["git", "-C", self.root, *words], capture_output=True, text=True)

    def merge_base(self, wanted=""):
        """The commit where this branch left `wanted`, else main; on main the commit before. None: git knows none."""
        here = self.git("rev-parse", "HEAD").stdout
        for name in [wanted] if wanted else ["origin/main", "main"]:
            base = self.git("merge-base", "HEAD", name)
            if base.returncode == 0 and (wanted or base.stdout != here):
                return base.stdout.strip()
        before = self.git("rev-parse", "--verify", "--quiet", "HEAD~1")
        return before.stdout.strip() if before.returncode == 0 and not wanted else None

    def changed(self, base):
        """Files of src/ that differ from a commit; those that git does not have yet, too."""
        names = self.git("diff", "--name-only", base, "--", "src").stdout.splitlines()
        names += self.git("ls-files", "--others", "--exclude-standard", "--", "src").stdout.splitlines()
        return {self.root / name for name in names if (self.root / name).exists()}

    def includers(self, of):
        """The files of src/ that include one of these, through others too, and these."""
        edges = {path: {self.source / name for name in INCLUDE.findall(path.read_text(errors="replace"))}
                 for path in self.source.rglob("*") if path.suffix in {".h", ".cpp", ".inc"}}
        found = set(of)
        while more := {path for path, targets in edges.items() if path not in found and targets & found}:
            found |= more
        return found

    def commands(self, build):
        """The sources of src/ that a configured build compiles -> clang's arguments."""
        database = pathlib.Path(build) / "compile_commands.json"
        if not database.exists():
            raise SystemExit(f"{database} is missing: configure a build, or name its folder with --build")
        found = {}
        for entry in json.loads(database.read_text()):
            path = pathlib.Path(entry["file"]).resolve()
            if self.source in path.parents and path.suffix == ".cpp":
                found.setdefault(path, arguments(entry))
        if not found:
            raise SystemExit(f"{database} compiles nothing of {self.source}: it is another tree's")
        return found


def processors():
    return len(os.sched_getaffinity(0))
