#!/usr/bin/env python3
"""Kernels in gdb, as a user sees them.

    gdb_test.py VERDIGRIS SUBJECT LIBRARIES

Is skipped (exit status 77) where there is no gdb, or it may not run programs.
"""

import os
import re
import shutil
import subprocess
import sys
import unittest

VERDIGRIS, SUBJECT, LIBRARIES = sys.argv[1:4]
GDB = shutil.which("gdb")


def debug(how, *commands):
    """What gdb prints for these commands."""
    script = [part for command in commands for part in ("-ex", command)]
    done = subprocess.run(
        [VERDIGRIS, "run", "--debug", GDB, "-nx", "-batch", "-iex", f"add-auto-load-safe-path {LIBRARIES}", "-iex",
         "set debuginfod enabled off", "-iex", "set breakpoint pending on", *script, "--args", SUBJECT, how],
        capture_output=True, text=True, timeout=100, check=False)
    return done.stdout + done.stderr


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


class Debugger(unittest.TestCase):
    def test_breakpoints_stop_at_lines_of_kernels(self):
        said = debug("run", "break lines.cu:3", "run", "backtrace")
        self.assertRegex(said, r"Breakpoint 1, (0x\w+ in )?kernel \(\) at /nowhere/lines\.cu:3")
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
