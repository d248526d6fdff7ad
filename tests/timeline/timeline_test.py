#!/usr/bin/env python3
"""Timelines as a user gets them: what is in the file, and what becomes of the program where the file cannot be written.

    timeline_test.py VERDIGRIS SUBJECT [--nvtx PROGRAM] [--timed PROGRAM] [--suite PROGRAM|FILTER]... [--tolerance US]
                     [--computes no]

A suite is a program of other tests, those of FILTER (as googletest has it) must pass with a timeline too. The tolerance is
by how many microseconds the clocks of the device and of the host may differ. A device that computes nothing is a fake one.
"""

import collections
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import unittest

import times

VERDIGRIS, SUBJECT = sys.argv[1:3]
REST = list(zip(sys.argv[3::2], sys.argv[4::2]))
NVTX_PROGRAM = next((value for option, value in REST if option == "--nvtx"), None)
TIMED_PROGRAM = next((value for option, value in REST if option == "--timed"), None)
TOLERANCE = float(next((value for option, value in REST if option == "--tolerance"), 1))
COMPUTES = ("--computes", "no") not in REST
SUITES = [value for option, value in REST if option == "--suite"]
EPSILON = 0.0005  # microseconds: half of the last digit


def run(*arguments, expect=0, environment=None, **options):
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=120, env={**os.environ, **(environment or {})},
                          **options)
    assert done.returncode == expect, (arguments, done.returncode, done.stdout, done.stderr)
    return done


def load(path):
    """The events of a file, complete or left behind by a process that was killed, maybe while it wrote the last line."""
    text = pathlib.Path(path).read_text()
    if text.rstrip().endswith("\n]"):
        return json.loads(text)
    try:
        return json.loads(text + "\n]")
    except json.JSONDecodeError:
        return json.loads(text[:text.rindex(",\n")] + "\n]")


class Timeline:
    def __init__(self, events):
        self.events = events
        self.slices = [e for e in events if e["ph"] == "X"]
        self.names = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
        self.processes = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}

    def of(self, category, name=None):
        return [e for e in self.events if e.get("cat") == category and name in (None, e["name"])]

    def calls(self, name):
        return [e for e in self.slices if e["cat"] == "api" and e["name"] == name]

    def work(self):
        return [e for e in self.slices if e["cat"] != "api"]


def slices_that_overlap(events):
    """Those that neither lie one behind the other nor one in the other on their track: viewers cannot show them."""
    tracks = collections.defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            tracks[event["pid"], event["tid"]].append((event["ts"], -event["dur"], event["ts"] + event["dur"], event))
    found = []
    for track in tracks.values():
        open_ends = []
        for begin, _, end, event in sorted(track, key=lambda item: item[:2]):
            while open_ends and open_ends[-1] <= begin + EPSILON:
                open_ends.pop()
            if open_ends and end > open_ends[-1] + EPSILON:
                found.append(event)
            open_ends.append(end)
    return found


def arrows_without_both_ends(events):
    """Numbers of arrows that do not leave one call, or lead nowhere."""
    begins = collections.Counter(e["bind_id"] for e in events if e.get("flow_out"))
    ends = collections.Counter(e["bind_id"] for e in events if e.get("flow_in"))
    return [number for number in begins | ends if begins[number] != 1 or not ends[number]]


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.file = os.path.join(self.folder.name, "out.json")

    def tearDown(self):
        self.folder.cleanup()

    def record(self, *arguments, options=(), **more):
        self.done = run(VERDIGRIS, "run", "--timeline", self.file, *options, "--", SUBJECT, *arguments, **more)
        return Timeline(load(self.file))

    def assert_sum(self, done, expected):
        self.assertTrue(done.stdout.strip().isdigit(), done.stdout)
        if COMPUTES:
            self.assertEqual(done.stdout.strip(), str(expected))

    def library(self):
        text = run(VERDIGRIS, "run", "--timeline", self.file, "--", "sh", "-c", "echo $NVTX_INJECTION64_PATH").stdout
        return text.strip()


class WholeProgram(Case):
    """One run, many looks at it."""

    @classmethod
    def setUpClass(cls):
        cls.whole = tempfile.TemporaryDirectory()
        path = os.path.join(cls.whole.name, "out.json")
        run(VERDIGRIS, "run", "--timeline", path, "--", SUBJECT, "all")
        cls.timeline = Timeline(load(path))
        cls.closed = pathlib.Path(path).read_text().endswith("\n]\n")

    @classmethod
    def tearDownClass(cls):
        cls.whole.cleanup()

    def test_a_program_that_ends_leaves_a_whole_array(self):
        self.assertTrue(self.closed)

    def test_every_event_has_what_viewers_need(self):
        for event in self.timeline.events:
            self.assertLessEqual({"ph", "pid", "tid", "name"}, set(event), event)
            if event["ph"] != "M":
                self.assertGreater(event["ts"], 0)
            if event["ph"] == "X":
                self.assertGreaterEqual(event["dur"], 0)
            if event["ph"] in "be":
                self.assertIn("id", event)

    def test_every_kernel_is_there_with_its_shape(self):
        kernels = self.timeline.of("kernel")
        blocks = collections.Counter(e["args"]["grid"][0] for e in kernels)
        self.assertEqual(blocks, {3: 1, 4: 1, 5: 1, 6: 2, 1: 400})
        for kernel in kernels:
            self.assertEqual(kernel["name"], "add")
            self.assertEqual(kernel["args"]["symbol"], "_Z3addPj")
            self.assertEqual(kernel["args"]["grid"][1:], [2, 1])
            self.assertEqual(kernel["args"]["block"], [32, 1, 1])

    def test_every_copy_is_there_with_direction_bytes_and_rate(self):
        copies = collections.Counter((e["name"], e["args"]["bytes"], e["args"].get("pageable", False))
                                     for e in self.timeline.of("copy"))
        self.assertEqual(copies, {("copy host to device", 8 << 20, False): 1, ("copy host to device", 8 << 20, True): 1,
                                  ("copy host to device", 64, True): 1, ("copy device to device", 8 << 20, False): 1,
                                  ("copy device to host", 8 << 20, False): 1, ("copy device to device", 4096, False): 2,
                                  ("copy device to device", 1024, False): 1})
        for copy in self.timeline.of("copy"):
            self.assertAlmostEqual(copy["args"]["GB/s"], copy["args"]["bytes"] / max(copy["dur"], 0.001) / 1000,
                                   delta=copy["args"]["GB/s"] * 0.01 + 0.01)
        self.assertEqual(collections.Counter(e["args"]["bytes"] for e in self.timeline.of("fill")), {8 << 20: 1, 4096: 2})

    def test_host_functions_and_graphs_are_there(self):
        functions = self.timeline.of("host_function")
        self.assertEqual(len(functions), 3)
        for function in functions:
            self.assertGreaterEqual(function["dur"], 1000)
        self.assertEqual(collections.Counter(e["args"]["nodes"] for e in self.timeline.of("graph")), {4: 2, 1: 1})

    def test_a_graph_encloses_its_work(self):
        for graph in self.timeline.of("graph"):
            inside = [e for e in self.timeline.work() if e is not graph and e["tid"] == graph["tid"] and
                      graph["ts"] - EPSILON <= e["ts"] and e["ts"] + e["dur"] <= graph["ts"] + graph["dur"] + EPSILON]
            self.assertEqual(len(inside), graph["args"]["nodes"])

    def test_work_of_a_stream_lies_one_behind_the_other_or_one_in_the_other(self):
        self.assertEqual(slices_that_overlap(self.timeline.events), [])

    def test_arrows_lead_from_a_call_to_what_it_made_run(self):
        calls = {e["bind_id"]: e for e in self.timeline.slices if e.get("flow_out")}
        self.assertGreaterEqual(len(self.timeline.work()), 420)
        for work in self.timeline.work():
            self.assertTrue(work["flow_in"])
            call = calls[work["bind_id"]]
            self.assertEqual((call["cat"], call["args"]["correlation"]), ("api", work["args"]["correlation"]))
            self.assertEqual(divmod(call["bind_id"], 1 << 31), (call["pid"], call["args"]["correlation"]))
            self.assertLessEqual(call["ts"], work["ts"] + EPSILON)
        self.assertEqual(arrows_without_both_ends(self.timeline.events), [])

    def test_calls_have_results_and_arguments(self):
        launch = self.timeline.calls("cuLaunchKernel")[0]
        self.assertEqual(launch["args"]["result"], "CUDA_SUCCESS")
        self.assertEqual((launch["args"]["gridDim"], launch["args"]["blockDim"]), ([3, 2, 1], [32, 1, 1]))
        self.assertEqual(self.timeline.calls("cuInit")[0]["args"]["Flags"], 0)
        results = [e["args"]["result"] for e in self.timeline.calls("cuMemFree_v2")]
        self.assertIn("CUDA_ERROR_INVALID_VALUE", results)
        self.assertEqual(len(self.timeline.calls("cuLaunchKernel")), 3 + 1 + 400)
        capture = self.timeline.calls("cuStreamBeginCapture_v2")[0]
        self.assertEqual(capture["args"]["mode"], "CU_STREAM_CAPTURE_MODE_GLOBAL")

    def test_memory_in_use_is_counted_and_comes_back_to_where_it_was(self):
        for name in ("memory in use", "pinned memory"):
            counters = [e for e in self.timeline.events if e["ph"] == "C" and e["name"] == name]
            values = [e["args"]["bytes"] for e in counters]
            self.assertGreaterEqual(max(values), 8 << 20)
            self.assertLess(values[-1], 8 << 20)
        allocations = self.timeline.of("memory", "allocate device memory")
        frees = self.timeline.of("memory", "free device memory")
        self.assertGreaterEqual(len(allocations), 2 + 2 + 4)
        self.assertEqual(len(self.timeline.of("memory", "allocate pool memory")), 1)
        self.assertEqual(len(self.timeline.of("memory", "free pool memory")), 1)
        for what in ("allocate", "free"):
            physical = self.timeline.of("memory", what + " physical memory")
            self.assertEqual([e["args"]["bytes"] for e in physical], [4 << 20])
        self.assertFalse(self.timeline.of("memory", "allocate mapped memory"))
        living = {}
        for event in sorted(allocations + frees, key=lambda e: e["ts"]):
            address = event["args"]["address"]
            if event["name"].startswith("free"):
                self.assertEqual(living.pop(address), event["args"]["bytes"])
            else:
                living[address] = event["args"]["bytes"]

    def test_ranges_and_marks_are_there(self):
        notes = [e for e in self.timeline.events if e.get("cat") == "nvtx"]
        self.assertEqual([(e["ph"], e["name"]) for e in notes if e["ph"] in "Bi"],
                         [("B", "outer"), ("B", "inner"), ("i", "here")])
        self.assertEqual(len([e for e in notes if e["ph"] == "E"]), 2)
        inner = next(e for e in notes if e["name"] == "inner")
        self.assertEqual(inner["args"]["domain"], "a domain")
        self.assertEqual((inner["args"]["category"], inner["args"]["payload"]), (7, 2.5))
        start, end = (next(e for e in notes if e["ph"] == phase) for phase in "be")
        self.assertEqual((start["name"], start["id"]), ("spanning \u00fc", end["id"]))
        self.assertEqual((end["name"], end["cat"]), (start["name"], start["cat"]))  # by which chrome://tracing finds it

    def test_a_range_encloses_the_calls_inside_it(self):
        inner = next(e for e in self.timeline.events if e["name"] == "inner")
        ends = [e["ts"] for e in self.timeline.events if e["ph"] == "E"]
        sync = self.timeline.calls("cuCtxSynchronize")[-1]
        self.assertEqual(sync["tid"], inner["tid"])
        self.assertTrue(inner["ts"] <= sync["ts"] and sync["ts"] + sync["dur"] <= min(ends) + EPSILON)

    def test_devices_streams_and_threads_have_names(self):
        self.assertTrue(any(name.startswith("device 0: ") for name in self.timeline.processes.values()))
        names = set(self.timeline.names.values())
        self.assertIn('named "stream"', names)
        self.assertLessEqual({f"worker {i}" for i in range(4)}, names)
        for event in self.timeline.slices:
            self.assertIn((event["pid"], event["tid"]), self.timeline.names)

    def test_each_thread_has_its_calls_and_each_stream_its_kernels(self):
        threads = collections.Counter(e["tid"] for e in self.timeline.calls("cuLaunchKernel"))
        self.assertEqual(sorted(threads.values())[-4:], [100, 100, 100, 100])
        tracks = collections.Counter(e["tid"] for e in self.timeline.of("kernel"))
        self.assertEqual(sorted(tracks.values())[-4:], [100, 100, 100, 100])


class Files(Case):
    def test_many_launches_are_all_there(self):
        timeline = self.record("many", "50000")
        self.assert_sum(self.done, 50000 * 2 * 32)
        self.assertEqual(len(timeline.of("kernel")), 50000)

    def test_what_a_killed_process_leaves_is_a_timeline(self):
        process = subprocess.Popen([VERDIGRIS, "run", "--timeline", self.file, "--", SUBJECT, "kill"],
                                   stdout=subprocess.PIPE, text=True)
        self.assertEqual(process.stdout.readline(), "ready\n")
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        self.assertGreaterEqual(len(Timeline(load(self.file)).of("kernel")), 100)

    def test_each_process_has_a_file(self):
        self.record("fork")
        files = sorted(os.listdir(self.folder.name))
        self.assertEqual(len(files), 2, files)
        child = next(name for name in files if name != "out.json")
        self.assertRegex(child, r"^out\.\d+\.json$")
        self.assertEqual(len(Timeline(load(self.file)).of("kernel")), 10)
        self.assertEqual(len(Timeline(load(os.path.join(self.folder.name, child))).of("kernel")), 20)

    def test_a_second_run_takes_the_place_of_the_first(self):
        self.record("many", "10")
        self.assertEqual(len(self.record("many", "20").of("kernel")), 20)
        self.assertEqual(os.listdir(self.folder.name), ["out.json"])

    def test_a_file_that_is_there_is_overwritten_and_nothing_of_it_stays(self):
        environment = {"VERDIGRIS_TIMELINE": self.file, "LD_LIBRARY_PATH": os.path.dirname(self.library())}
        for before in ("", "[", "x" * 1_000_000):
            with open(self.file, "w") as file:
                file.write(before)
            run(SUBJECT, "many", "20", environment=environment)
            self.assertEqual(len(Timeline(load(self.file)).of("kernel")), 20)

    def test_a_file_that_others_may_know_stays_the_same_one(self):
        environment = {"VERDIGRIS_TIMELINE": self.file, "LD_LIBRARY_PATH": os.path.dirname(self.library())}
        kept, target = (os.path.join(self.folder.name, name) for name in ("kept.json", "target.json"))
        pathlib.Path(self.file).write_text("x" * 1_000_000)
        os.chmod(self.file, 0o640)
        for names in ((), (kept,), (target, kept)):
            if kept in names and not os.path.exists(kept):
                os.link(self.file, kept)  # a second name
            if target in names:
                os.unlink(kept)
                os.rename(self.file, target)
                os.symlink(target, self.file)
                os.link(target, kept)
            run(SUBJECT, "many", "20", environment=environment)
            for name in (self.file, *names):
                self.assertEqual(len(Timeline(load(name)).of("kernel")), 20)
                self.assertEqual(os.stat(name).st_mode & 0o777, 0o640)
            self.assertEqual(os.path.islink(self.file), target in names)

    def test_a_name_may_hold_the_number_of_the_process(self):
        run(SUBJECT, "many", "5", environment={"VERDIGRIS_TIMELINE": os.path.join(self.folder.name, "%p.json"),
                                               "LD_LIBRARY_PATH": os.path.dirname(self.library())})
        self.assertRegex(os.listdir(self.folder.name)[0], r"^\d+\.json$")

    def test_a_file_that_cannot_be_made_is_said_once_and_the_program_runs(self):
        done = run(SUBJECT, "many", "100", environment={"VERDIGRIS_TIMELINE": "/nowhere/out.json",
                                                        "LD_LIBRARY_PATH": os.path.dirname(self.library())})
        self.assert_sum(done, 100 * 64)
        self.assertEqual(done.stderr.count("cannot write /nowhere/out.json"), 1)
        self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)

    def test_a_full_disk_is_said_once_and_the_program_runs(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full")
        done = run(SUBJECT, "many", "20000", environment={"VERDIGRIS_TIMELINE": "/dev/full",
                                                          "LD_LIBRARY_PATH": os.path.dirname(self.library())})
        self.assert_sum(done, 20000 * 64)
        self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
        self.assertIn("No space left", done.stderr)

    @unittest.skipUnless(COMPUTES, "the memory of a fake device is a file")
    def test_a_limit_of_file_size_leaves_whole_events(self):
        done = run("sh", "-c", f"ulimit -f 200; exec {VERDIGRIS} run --timeline {self.file} -- {SUBJECT} many 20000")
        self.assert_sum(done, 20000 * 64)
        self.assertIn("File too large", done.stderr)
        self.assertGreater(len(load(self.file)), 10)


class Summaries(Case):
    def test_profile_says_where_the_time_went(self):
        page = os.path.join(self.folder.name, "page.html")
        done = run(VERDIGRIS, "profile", "--html", page, "--", SUBJECT, "all")
        for text in (r"Device 0: ", r"busy .* idle ", r"unused overlap", r"most memory in use", r"\n +[\d.]+ \w+ +[\d.]+ % +405 .* add\n",
                     r"copy host to device \(pageable\)", r"GB/s", r"cuLaunchKernel", r"idle +after +before"):
            self.assertRegex(done.stderr, text)
        html = pathlib.Path(page).read_text()
        self.assertTrue(html.startswith("<!DOCTYPE html>") and html.rstrip().endswith("</html>"))
        self.assertIn("cuLaunchKernel", html)
        self.assertEqual(html.count("<table>"), html.count("</table>"))

    def test_a_page_that_cannot_be_written_is_said(self):
        done = run(SUBJECT, "many", "10", environment={"VERDIGRIS_SUMMARY": "1,/nowhere/page.html",
                                                       "LD_LIBRARY_PATH": os.path.dirname(self.library())})
        self.assertIn("cannot write /nowhere/page.html", done.stderr)
        self.assertIn("where the time went", done.stderr)


class Suites(Case):
    def test_other_suites_pass_with_a_timeline(self):
        for suite in SUITES:
            program, tests = suite.split("|")
            with self.subTest(suite):
                run(program, environment={"VERDIGRIS_TIMELINE": self.file, "VERDIGRIS_DEVICES": "cpu:2",
                                          "VERDIGRIS_MEMORY": "2GiB", "VERDIGRIS_LOG": "off", "GTEST_FILTER": tests})
                events = load(self.file)
                self.assertEqual(slices_that_overlap(events), [])
                self.assertEqual(arrows_without_both_ends(events), [])


@unittest.skipUnless(TIMED_PROGRAM, "no nvcc here")
class Times(Case):
    def test_work_took_as_long_as_the_program_saw_itself_and_lies_where_it_waited(self):
        done = run(VERDIGRIS, "run", "--timeline", self.file, "--", TIMED_PROGRAM)
        events = load(self.file)
        pieces = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertGreater(len(pieces), 100)
        self.assertEqual(times.problems(events, pieces, TOLERANCE), [])
        self.assertEqual(slices_that_overlap(events), [])
        self.assertEqual(arrows_without_both_ends(events), [])


@unittest.skipUnless(NVTX_PROGRAM, "no NVTX headers here")
class ProgramOfNvtx(Case):
    def test_ranges_of_a_program_with_nvtx_of_the_toolkit_appear(self):
        run(VERDIGRIS, "run", "--timeline", self.file, "--", NVTX_PROGRAM)
        notes = [e for e in load(self.file) if e.get("cat") == "nvtx"]
        self.assertEqual([(e["ph"], e["name"]) for e in notes],
                         [("B", "pushed"), ("B", "in a domain"), ("i", "mark"), ("E", ""), ("E", ""),
                          ("b", "started"), ("e", "started")])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
