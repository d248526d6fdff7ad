#!/usr/bin/env python3
"""Kernels in gdb, as a user sees them.

    gdb_test.py VERDIGRIS SUBJECT LIBRARIES VARIABLES

VARIABLES is variables.cu, compiled with -G, or "none".

Is skipped (exit status 77) where there is no gdb, or it may not run programs.
"""

import os
import re
import shutil
import subprocess
import sys
import unittest

VERDIGRIS, SUBJECT, LIBRARIES, VARIABLES = sys.argv[1:5]
GDB = shutil.which("gdb")


def debug(how, *commands):
    """What gdb prints for these commands."""
    return debug_program([SUBJECT, how], *commands)


def debug_program(program, *commands):
    script = [part for command in commands for part in ("-ex", command)]
    done = subprocess.run(
        [VERDIGRIS, "run", "--debug", GDB, "-nx", "-batch", "-iex", f"add-auto-load-safe-path {LIBRARIES}", "-iex",
         "set debuginfod enabled off", "-iex", "set breakpoint pending on", *script, "--args", *program],
        capture_output=True, text=True, timeout=100, check=False)
    return done.stdout + done.stderr


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


class Debugger(unittest.TestCase):
    def test_breakpoints_stop_at_lines_of_kernels(self):
        said = debug("run", "break lines.cu:3", "run", "backtrace")
        self.assertRegex(said, r"Breakpoint 1(\.\d)?, (0x\w+ in )?kernel \(\) at /nowhere/lines\.cu:3")
        self.assertRegex(said, r"#0 .*kernel \(\) at /nowhere/lines\.cu:3")

    def test_backtraces_lead_out_of_kernels(self):
        said = debug("run", "break -qualified kernel", "run", "backtrace")
        frames = re.findall(r"^#\d+ .*$", said, re.M)
        self.assertIn("kernel", frames[0])
        self.assertTrue(any("HostStack::run" in frame for frame in frames), said)
        self.assertRegex(frames[-1], r" (main|clone3?|start_thread) ", "the thread's own first function")

    def test_blocks_that_run_are_listed(self):
        said = debug("run", "break lines.cu:4", "run", "verdigris blocks")
        self.assertRegex(said, r"\* thread \d+: kernel at /nowhere/lines\.cu:4, block \([01],0,0\)( or one of the 1 behind "
                               r"it)? of \(2,1,1\), warp 0, threads \(0,0,0\) to \(31,0,0\)")

    def test_lines_that_no_lane_reaches_do_not_stop(self):
        said = debug("run", "break lines.cu:6", "run")
        self.assertNotIn("Breakpoint 1,", said)
        self.assertIn("exited normally", said)

    def test_without_lines_the_source_is_the_text(self):
        said = debug("plain", "break -qualified kernel", "run", "list")
        self.assertRegex(said, r"Breakpoint 1.*kernel \(\) at /.*\.ptx:\d+")
        self.assertIn("mad.lo.u32", said)

    def test_registers_of_lanes_are_shown(self):
        said = debug("run", "break lines.cu:5", "run", "verdigris lane 3", "verdigris lane 11", "verdigris lanes")
        lanes = [dict(re.findall(r"^  (%\w+) = (\w+)", part, re.M)) for part in said.split("thread (")[1:]]
        self.assertRegex(said, r"thread \(3,0,0\) of block \((0|1),0,0\), warp 0, at /nowhere/lines.cu:5 \(PTX line \d+\)")
        block = int(re.search(r"of block \((\d)", said)[1])
        for shown, lane in zip(lanes, (3, 11)):
            self.assertEqual(int(shown["%t1"], 0), 32 * block + lane)
            self.assertEqual(int(shown["%t2"], 0), block)
            self.assertEqual(shown["%q1"], "1" if 32 * block + lane < 10 else "0")
        self.assertRegex(said, r"warp 0, lanes 0-31, from thread \(0,0,0\) on: /nowhere/lines.cu:5 ")

    def test_lanes_that_went_the_other_way_are_told_apart(self):
        said = debug("run", "break lines.cu:4", "run", "verdigris lanes", "verdigris lane 40")
        self.assertRegex(said, r"warp 0, lanes 0-9, from thread \(0,0,0\) on: /nowhere/lines.cu:4 ")
        self.assertRegex(said, r"warp 0, lanes 10-31, from thread \(10,0,0\) on: /nowhere/lines.cu:3 ")
        self.assertIn("Blocks are of (32,1,1) threads.", said)

    def test_lanes_of_no_kernel_are_refused(self):
        said = debug("run", "break main", "run", "verdigris lane")
        self.assertIn("This thread runs no kernel", said)

    def variables(self, *commands):
        if VARIABLES == "none":
            self.skipTest("there is no nvcc")
        said = debug_program([VARIABLES], *commands)
        return said, [dict(re.findall(r"^  (\w+) = (.*)$", part, re.M)) for part in said.split("thread (")[1:]]

    def test_variables_of_the_source_are_shown(self):
        said, lanes = self.variables("break variables.cu:37", "run", "verdigris lane 2", "verdigris lane 31")
        block, warp = map(int, re.search(r"of block \((\d+),0,0\), warp (\d)", said).groups())
        self.assertEqual(warp, 0)
        for shown, lane in zip(lanes, (2, 31)):
            index = 64 * block + lane
            self.assertEqual(shown["index"], str(index))
            self.assertEqual(shown["count"], "3")
            self.assertEqual(shown["pair"], "{first = 5, second = 2.5}")
            self.assertEqual(shown["array"], f"{{{index}, {index + 1}, {index + 2}, {index + 3}}}")
            self.assertEqual(shown["colour"], "Green" if index % 2 else "Red")
            self.assertEqual(float(shown["half"]), index * 0.5)
            self.assertEqual(shown["k"], "0")
            self.assertEqual(shown["more"], str(2 * index))
            self.assertTrue(shown["tile"].startswith(f"{{{64 * block}, {64 * block + 1}, "), shown["tile"])
            self.assertRegex(shown["out"], "^0x[0-9a-f]+$")

    def test_variables_of_called_functions_are_shown(self):
        said, lanes = self.variables("break variables.cu:24", "run", "verdigris lane 7")
        index = 64 * int(re.search(r"of block \((\d+)", said)[1]) + 7
        self.assertEqual(lanes[0]["value"], str(index))
        self.assertEqual(lanes[0]["result"], str(2 * index))
        self.assertNotIn("array", lanes[0])

    def test_both_ways_of_a_branch_stop(self):
        said, _ = self.variables("break variables.cu:40", "break variables.cu:42", "run", "verdigris lanes", "delete 1",
                                 "continue", "verdigris lanes")
        self.assertRegex(said, r"hit Breakpoint 1\.\d, both \(\) at \S*variables\.cu:40")
        self.assertRegex(said, r"hit Breakpoint 2\.\d, both \(\) at \S*variables\.cu:42")
        every = ",".join(map(str, range(0, 32, 2))), ",".join(map(str, range(1, 32, 2)))
        self.assertRegex(said, rf"warp 0, lanes {every[1]}, from thread \(1,0,0\) on: \S*variables.cu:40 ")
        self.assertRegex(said, rf"warp [01], lanes {every[0]}, from thread \(\d+,0,0\) on: \S*variables.cu:42 ")

    def test_without_the_option_nothing_is_registered(self):
        said = subprocess.run([GDB, "-nx", "-batch", "-iex", "set breakpoint pending on", "-ex", "break lines.cu:3", "-ex",
                               "run", "--args", SUBJECT, "run"], capture_output=True, text=True, timeout=100, check=False)
        self.assertNotIn("Breakpoint 1,", said.stdout)
        self.assertIn("exited normally", said.stdout)


if __name__ == "__main__":
    if not GDB:
        skip("there is no gdb (apt install gdb)")
    if "exited normally" not in subprocess.run([GDB, "-nx", "-batch", "-ex", "run", "/bin/true"], capture_output=True,
                                               text=True, timeout=60, check=False).stdout:
        skip("gdb may not run programs here")
    os.environ["CUDA_CACHE_DISABLE"] = "1"
    unittest.main(argv=sys.argv[:1], verbosity=2)
