#!/usr/bin/env python3
"""`verdigris smi` while programs of this user use devices, and after they have ended or were killed.

    smi_test.py VERDIGRIS USER_PROGRAM
"""

import csv
import io
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import xml.etree.ElementTree as xml

VERDIGRIS, USER = sys.argv[1:3]
FOLDER = tempfile.TemporaryDirectory(prefix="verdigris-smi-")
ENVIRONMENT = {**os.environ, "VERDIGRIS_SHARED_STATE": FOLDER.name}
ENVIRONMENT.pop("VERDIGRIS_DEVICES", None)


def smi(*options, status=0):
    made = subprocess.run([VERDIGRIS, "smi", *options], env=ENVIRONMENT, text=True, capture_output=True, timeout=60)
    assert made.returncode == status, (options, made)
    return made.stdout if status == 0 else made.stderr


def rows(*options):
    return list(csv.reader(io.StringIO(smi(*options)), skipinitialspace=True))


class User:
    def __init__(self, devices="cpu:1", **more):
        self.process = subprocess.Popen([VERDIGRIS, "run", "--devices", devices, USER], text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, env={**ENVIRONMENT, **more})
        assert self.process.stdout.readline() == "ready\n"
        self.pid = str(self.process.pid)

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n"

    def end(self):
        self.process.stdin.close()
        assert self.process.wait() == 0
        self.process.stdout.close()

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.communicate()


class Smi(unittest.TestCase):
    def test_without_programs(self):
        table = smi()
        self.assertRegex(table, r"Driver Version: \d+\.\d+.* CUDA Version: 13\.\d+")
        self.assertIn("No running processes found", table)
        self.assertEqual({len(line) for line in table.splitlines() if line[:1] in ("|", "+")}, {91})
        self.assertRegex(smi("-L"), r"^GPU 0: .+ \(UUID: GPU-[0-9a-f-]{36}\)\n$")
        self.assertEqual(len(smi("-L", "--devices", "cpu:3").splitlines()), 3)
        self.assertEqual(smi("--query-compute-apps=pid,name,used_memory", "--format=csv"),
                         "pid, process_name, used_gpu_memory [MiB]\n")
        self.assertEqual(os.listdir(FOLDER.name), [])

    def test_fields(self):
        names = re.findall(r"^  (\S+)", smi("--help-query").split("--query-compute-apps")[0], re.MULTILINE)
        header, values = rows(f"--query-gpu={','.join(names)}", "--format=csv")
        self.assertEqual([name.split(" [")[0] for name in header], names)
        self.assertEqual(len(values), len(names))
        found = dict(zip(names, values))
        self.assertRegex(found["memory.total"], r"^\d+ MiB$")
        self.assertEqual(found["utilization.gpu"], "0 %")
        self.assertEqual(found["temperature.gpu"], "[N/A]")
        self.assertRegex(found["timestamp"], r"^\d{4}/\d\d/\d\d \d\d:\d\d:\d\d\.\d{3}$")
        plain = rows("--query-gpu=memory.total,gpu_name, clocks.sm", "--format=csv,noheader,nounits")
        self.assertEqual(plain[0][:2], [found["memory.total"][:-4], found["name"]])
        self.assertTrue(plain[0][2].isdigit())
        # What nvidia-smi documents and no device of ours knows is no error, by either name.
        unknown = rows("--query-gpu=clocks_throttle_reasons.active,retired_pages.sbe,power.max_limit", "--format=csv")
        self.assertEqual(unknown, [["clocks_event_reasons.active", "retired_pages.single_bit_ecc.count", "power.max_limit [W]"],
                                   ["[N/A]"] * 3])
        self.assertEqual(smi("--help-query-gpu"), smi("--help-query"))

    def test_loops_and_files(self):
        file = os.path.join(FOLDER.name, "out")
        for options in (["-l", "0.1"], ["-lms", "100"], ["--loop-ms=100"]):
            loop = subprocess.Popen([VERDIGRIS, "smi", "-f", file, "--query-gpu=index", "--format=csv", *options], env=ENVIRONMENT)
            deadline = time.monotonic() + 60
            while time.monotonic() < deadline and (not os.path.exists(file) or open(file).read().count("\n") < 3):
                time.sleep(0.05)
            loop.terminate()
            loop.wait()
            self.assertEqual(open(file).read().split("\n")[:3], ["index", "0", "0"], options)
            os.remove(file)

    def test_which_devices(self):
        every = rows("--devices", "cpu:3", "--query-gpu=index,uuid,pci.bus_id", "--format=csv,noheader")
        self.assertEqual([row[0] for row in every], ["0", "1", "2"])
        for asked in (every[1][1], every[1][2], every[1][2][4:].lower(), "1"):
            self.assertEqual(rows("--devices", "cpu:3", "-i", asked, "--query-gpu=index,uuid,pci.bus_id",
                                  "--format=csv,noheader"), [every[1]], asked)
        self.assertIn("no devices", smi("-i", "7", status=6))

    def test_bad_usage_is_refused(self):
        for options, said in ((["--query-gpu=colour", "--format=csv"], "colour"), (["--query-gpu=name", "--format=json"], "json"),
                              (["--query-gpu=name", "--format=noheader"], "csv"), (["-q", "-d", "WEIGHT"], "WEIGHT"),
                              (["--loop=0"], "--loop"), (["--loop=x"], "loop"), (["--devices", "foo"], "foo"),
                              (["-lms", "-1"], "--loop-ms"), (["-l", "1", "--loop-ms", "1"], "--loop-ms"),
                              (["-f", "/nowhere/file"], "/nowhere/file"),
                              (["--query-gpu=name", "--query-compute-apps=pid"], "--query-compute-apps")):
            self.assertIn(said, smi(*options, status=2), options)

    def test_programs_are_seen_until_they_end(self):
        first, second = User(), User("cpu:2")
        try:
            self.assertEqual(len(smi("-L").splitlines()), 2)  # as many as a program has
            used = {row[0]: row for row in rows("--query-compute-apps=pid,process_name,used_memory,gpu_uuid",
                                                "--format=csv,noheader,nounits")}
            self.assertEqual(set(used), {first.pid, second.pid})
            for row in used.values():
                self.assertEqual(os.path.realpath(row[1]), os.path.realpath(USER))
                self.assertGreaterEqual(int(row[2]), 64)
            memory = rows("--query-gpu=memory.used,memory.free,memory.total", "--format=csv,noheader,nounits")
            self.assertGreaterEqual(int(memory[0][0]), 128)
            self.assertEqual(int(memory[1][0]), 0)
            self.assertAlmostEqual(int(memory[0][0]) + int(memory[0][1]), int(memory[0][2]), delta=1)
            table = smi()
            for user in (first, second):
                self.assertRegex(table, rf"\|    0   N/A  N/A +{user.pid} +C   .*{os.path.basename(USER)} +\d+MiB \|")
            first.ask("run")
            busy = rows("--query-gpu=utilization.gpu", "--format=csv,noheader")
            self.assertEqual(busy[0], ["100 %"])
            first.ask("stop")
            self.assertEqual(rows("--query-gpu=utilization.gpu", "--format=csv,noheader")[0], ["0 %"])
            first.kill()
            left = rows("--query-compute-apps=pid", "--format=csv,noheader")
            self.assertEqual(left, [[second.pid]])
            self.assertLess(int(rows("--query-gpu=memory.used", "--format=csv,noheader,nounits")[0][0]),
                            int(memory[0][0]))
        finally:
            second.end()
        self.assertEqual(rows("--query-compute-apps=pid", "--format=csv,noheader"), [])
        self.assertEqual(os.listdir(FOLDER.name), [])

    def test_xml_and_text_say_the_same(self):
        user = User()
        try:
            tree = xml.fromstring(smi("-q", "-x").split("\n", 2)[2])
            text = smi("-q")
        finally:
            user.end()
        gpus = tree.findall("gpu")
        self.assertEqual(tree.findtext("attached_gpus"), str(len(gpus)))
        self.assertEqual([p.findtext("pid") for p in gpus[0].iter("process_info")], [user.pid])
        self.assertRegex(gpus[0].findtext("fb_memory_usage/used"), r"^\d+ MiB$")
        for value in (gpus[0].findtext("uuid"), gpus[0].findtext("product_name"), gpus[0].findtext("fb_memory_usage/used"),
                      user.pid):
            self.assertRegex(text, rf"(?m): {re.escape(value)}$")
        only = smi("-q", "-d", "memory,PIDS")
        self.assertIn("FB Memory Usage", only)
        self.assertNotIn("Product Name", only)
        for profile in ("default", "h200"):
            self.assertIsNotNone(xml.fromstring(smi("-q", "-x", "--profile", profile).split("\n", 2)[2]).find("gpu/uuid").text)

    def test_programs_that_call_nvidia_smi_get_it(self):
        for command in (["nvidia-smi", "-L"], ["sh", "-c", "nvidia-smi -L"]):
            made = subprocess.run([VERDIGRIS, "run", "--devices", "cpu:2", *command], env=ENVIRONMENT, text=True,
                                  capture_output=True, timeout=60)
            self.assertEqual((made.returncode, len(made.stdout.splitlines())), (0, 2), made)

    def test_looks_are_repeated(self):
        loop = subprocess.Popen([VERDIGRIS, "smi", "-l", "0.05", "--query-gpu=index", "--format=csv"], env=ENVIRONMENT,
                                text=True, stdout=subprocess.PIPE)
        lines = [loop.stdout.readline() for _ in range(4)]
        loop.stdout.close()  # as with `| head`
        self.assertEqual(lines, ["index\n", "0\n", "0\n", "0\n"])
        deadline = time.time() + 20
        while loop.poll() is None and time.time() < deadline:
            time.sleep(0.01)
        self.assertIsNotNone(loop.poll())
        loop.wait()


if __name__ == "__main__":
    if os.path.exists("/dev/nvidiactl"):
        print("skipped: this machine has a GPU, which the table shows first; the tests count emulated devices")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
