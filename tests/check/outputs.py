"""The files of VERDIGRIS_CHECK_OUTPUT: each form is read as its readers do, with faults and without.

    outputs.py PROGRAM
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import xml.etree.ElementTree


def run(program, case, folder, tools):
    """The files that a run leaves, by extension."""
    names = {end: folder / f"{case}.{end}" for end in ("json", "sarif", "xml", "txt")}
    environment = dict(os.environ, VERDIGRIS_CHECK=tools, VERDIGRIS_LOG_FILE=str(folder / "log"),
                       VERDIGRIS_CHECK_OUTPUT=",".join(str(name) for name in names.values()))
    subprocess.run([program, case], env=environment, capture_output=True, timeout=60, check=False)
    return {end: name.read_text() for end, name in names.items()}


def expect(what, actual, expected):
    if actual != expected:
        sys.exit(f"{what}: {actual!r}, not {expected!r}")


def with_faults(files):
    record, = json.loads(files["json"])
    expect("tool", record["tool"], "race")
    expect("times", record["times"], 32)
    expect("kernel", record["kernel"], "withinWarp(int*)")
    expect("file", pathlib.Path(record["file"]).name, "faults.cu")
    result, = json.loads(files["sarif"])["runs"][0]["results"]
    place = result["locations"][0]["physicalLocation"]
    expect("rule", result["ruleId"], "race")
    expect("line", place["region"]["startLine"], record["line"])
    expect("occurrences", result["occurrenceCount"], 32)
    suite = xml.etree.ElementTree.fromstring(files["xml"])
    expect("failures", suite.get("failures"), "1")
    expect("failure", suite.find("testcase/failure").get("message"), "met 32 times")
    expect("text", files["txt"].startswith("32 x race: a thread"), True)


def without(files):
    expect("json", json.loads(files["json"]), [])
    expect("sarif", json.loads(files["sarif"])["runs"][0]["results"], [])
    suite = xml.etree.ElementTree.fromstring(files["xml"])
    expect("failures", suite.get("failures"), "0")
    expect("tests", len(suite.findall("testcase")), 1)
    expect("text", files["txt"], "")


def main():
    with tempfile.TemporaryDirectory() as folder:
        with_faults(run(sys.argv[1], "withinWarp", pathlib.Path(folder), "race"))
        without(run(sys.argv[1], "noSuchCase", pathlib.Path(folder), "all"))


if __name__ == "__main__":
    main()
