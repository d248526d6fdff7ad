#!/usr/bin/env python3
"""What continuous integration and container engines are given, read by the rules of those who take it, and its steps run here.

    ci_test.py SOURCE FOLDER VERDIGRIS [WHEEL]

VERDIGRIS is the command of a build. Without WHEEL the steps that install are left out.
"""

import functools
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

import yaml

SOURCE, FOLDER, VERDIGRIS = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve(), sys.argv[3]
WHEEL = sys.argv[4] if len(sys.argv) > 4 else None
needs_wheel = unittest.skipUnless(WHEEL, "without a wheel")
CLEAN = {name: value for name, value in os.environ.items()
         if not name.startswith(("VERDIGRIS_", "CUDA_", "LD_", "PYTHON"))}

# A program of the driver API: prints how many devices there are, and stores to an address (0: a fault) in a kernel.
PROGRAM = r'''
import ctypes, sys
d = ctypes.CDLL("libcuda.so.1")
n, c, m, f = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
assert d.cuInit(0) == 0 and d.cuDeviceGetCount(ctypes.byref(n)) == 0
print("devices", n.value)
assert d.cuDevicePrimaryCtxRetain(ctypes.byref(c), 0) == 0 and d.cuCtxSetCurrent(c) == 0
ptx = b""".version 7.0
.target sm_75
.address_size 64
.visible .entry store(.param .u64 to) {
.reg .u64 %rd<3>;
ld.param.u64 %rd1, [to];
st.global.u64 [%rd1], %rd1;
ret;
}"""
assert d.cuModuleLoadData(ctypes.byref(m), ptx) == 0 and d.cuModuleGetFunction(ctypes.byref(f), m, b"store") == 0
p = ctypes.c_uint64()
assert d.cuMemAlloc_v2(ctypes.byref(p), 64) == 0
if "fault" in sys.argv: p.value = 0
arguments = (ctypes.c_void_p * 1)(ctypes.addressof(p))
assert d.cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, None, arguments, None) == 0
d.cuCtxSynchronize()
'''


def run(command, environment, **more):
    return subprocess.run(command, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300,
                          **more)


class Folder:
    def __init__(self, name):
        self.path = FOLDER / name
        shutil.rmtree(self.path, ignore_errors=True)
        self.path.mkdir(parents=True)
        (self.path / "program.py").write_text(PROGRAM)


class Runner:
    """As much of a runner of GitHub Actions as composite actions need."""

    def __init__(self, name, inputs):
        self.action = yaml.safe_load((SOURCE / "action.yml").read_text())
        defaults = {name: row.get("default", "") for name, row in self.action["inputs"].items()}
        assert set(inputs) <= set(defaults), inputs
        self.inputs = {**defaults, **inputs}
        self.folder = Folder(name).path
        self.environment = {**CLEAN, "RUNNER_TEMP": str(self.folder / "temp")}
        (self.folder / "temp").mkdir()
        for file in ("GITHUB_ENV", "GITHUB_PATH", "GITHUB_OUTPUT"):
            self.environment[file] = str(self.folder / file)

    def evaluate(self, text):
        return re.sub(r"\$\{\{ *inputs\.(\w+) *\}\}", lambda match: self.inputs[match.group(1)], text)

    def wanted(self, step):
        if "if" not in step:
            return True
        name = re.fullmatch(r"\$\{\{ inputs\.(\w+) != '' \}\}", step["if"]).group(1)
        return self.inputs[name] != ""

    def step(self, step):
        for file in ("GITHUB_ENV", "GITHUB_PATH", "GITHUB_OUTPUT"):
            pathlib.Path(self.environment[file]).write_text("")
        environment = {**self.environment, **{name: self.evaluate(value) for name, value in step.get("env", {}).items()}}
        assert step["shell"] == "bash"
        assert "${{" not in step["run"], "what users write must not become part of a script"
        made = run(["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]], environment, cwd=self.folder)
        for line in pathlib.Path(self.environment["GITHUB_ENV"]).read_text().splitlines():
            name, value = line.split("=", 1)
            self.environment[name] = value
        for line in pathlib.Path(self.environment["GITHUB_PATH"]).read_text().splitlines():
            self.environment["PATH"] = line + ":" + self.environment["PATH"]
        return made

    def install(self):
        *first, _ = self.action["runs"]["steps"]
        for step in first:
            made = self.step(step)
            assert made.returncode == 0, made.stdout

    def last(self, **inputs):
        """The output and the status of the step that runs a script."""
        self.inputs.update(inputs)
        step = self.action["runs"]["steps"][-1]
        assert self.wanted(step)
        made = self.step(step)
        return made.stdout, made.returncode


@functools.lru_cache
def action():
    """The action, its package installed."""
    runner = Runner("action", {"package": WHEEL, "devices": "cpu:2"})
    runner.install()
    return runner


def installed():
    """The command of the wheel, or else of the build."""
    return str(action().folder / "temp/verdigris/bin/verdigris") if WHEEL else VERDIGRIS


class GithubAction(unittest.TestCase):
    def test_it_is_a_composite_action(self):
        action = yaml.safe_load((SOURCE / "action.yml").read_text())
        self.assertLessEqual(set(action), {"name", "description", "author", "inputs", "outputs", "runs", "branding"})
        self.assertTrue(action["name"] and action["description"])
        self.assertEqual(action["runs"]["using"], "composite")
        for row in action["inputs"].values():
            self.assertLessEqual(set(row), {"description", "required", "default", "deprecationMessage"})
            self.assertIsInstance(row.get("default", ""), str)
        ids = set()
        for step in action["runs"]["steps"]:
            self.assertLessEqual(set(step), {"name", "id", "if", "run", "shell", "env", "working-directory", "uses", "with"})
            ids.add(step.get("id"))
        for name, row in action["outputs"].items():
            match = re.fullmatch(r"\$\{\{ steps\.(\w+)\.outputs\.(\w+) \}\}", row["value"])
            self.assertIn(match.group(1), ids, name)
        text = (SOURCE / "action.yml").read_text()
        self.assertEqual(set(re.findall(r"inputs\.(\w+)", text)), set(action["inputs"]))

    @needs_wheel
    def test_scripts_run_on_the_devices(self):
        runner = action()
        self.assertEqual(runner.last(run="python3 program.py\n", check=""), ("devices 2\n", 0))
        self.assertEqual(runner.last(run="false\ntrue", check=""), ("", 1))

    @needs_wheel
    def test_faults_fail_the_step_when_they_are_looked_for(self):
        runner = action()
        text, status = runner.last(run="python3 program.py fault", check="memory")
        self.assertEqual(status, 1, text)
        self.assertIn("store", text)
        self.assertEqual(runner.last(run="python3 program.py", check="all")[1], 0)

    @needs_wheel
    def test_without_a_script_later_steps_find_the_command(self):
        runner = action()
        runner.inputs["run"] = ""
        self.assertFalse(runner.wanted(runner.action["runs"]["steps"][-1]))
        made = runner.step({"shell": "bash", "run": "verdigris run python3 program.py"})
        self.assertEqual((made.stdout, made.returncode), ("devices 2\n", 0))


class GitlabTemplate(unittest.TestCase):
    def template(self):
        template = yaml.safe_load((SOURCE / "packaging/gitlab/verdigris.yml").read_text())
        self.assertEqual(list(template), [".verdigris"])  # hidden: no job of its own
        return template[".verdigris"]

    def test_it_keeps_the_rules(self):
        job = self.template()
        self.assertLessEqual(set(job), {"variables", "before_script", "cache"})
        self.assertTrue(all(isinstance(value, str) for value in job["variables"].values()))
        self.assertTrue(all(isinstance(line, str) for line in job["before_script"]))
        made = run(["bash", "-n", "-c", "\n".join(job["before_script"])], CLEAN)
        self.assertEqual((made.stdout, made.returncode), ("", 0))

    @needs_wheel
    def test_a_job_that_extends_it_runs(self):
        job = self.template()
        folder = Folder("gitlab").path
        environment = {**CLEAN, "CI_PROJECT_DIR": str(folder)}
        variables = {**job["variables"], "VERDIGRIS_PACKAGE": WHEEL, "VERDIGRIS_DEVICES": "cpu:2"}
        for name, value in variables.items():
            environment[name] = value.replace("$CI_PROJECT_DIR", str(folder))
        script = "\n".join(job["before_script"] + ["verdigris run python3 program.py"])
        made = run(["bash", "-eo", "pipefail", "-c", script], environment, cwd=folder)
        self.assertEqual(made.returncode, 0, made.stdout)
        self.assertIn("devices 2\n", made.stdout)
        self.assertTrue(any((folder / ".verdigris-cache").iterdir()))
        self.assertEqual(job["cache"]["paths"], [".verdigris-cache/"])


def specification(*options):
    made = run([installed(), "cdi", *options], CLEAN)
    assert made.returncode == 0, made.stdout
    return yaml.safe_load(made.stdout)


def environment_of(edits):
    return dict(line.split("=", 1) for line in edits["env"])


class ContainerDeviceInterface(unittest.TestCase):
    """The rules of the specification, version 0.5.0; unknown fields are errors there, too."""

    def check_edits(self, edits):
        self.assertLessEqual(set(edits), {"env", "deviceNodes", "hooks", "mounts"})
        self.assertTrue(edits, "edits must not be empty")
        for line in edits.get("env", []):
            self.assertRegex(line, r"^[A-Za-z_][A-Za-z0-9_]*=[^\n\0]*$")
        for mount in edits.get("mounts", []):
            self.assertLessEqual(set(mount), {"hostPath", "containerPath", "options", "type"})
            for key in ("hostPath", "containerPath"):
                self.assertTrue(mount[key].startswith("/"), mount)
            self.assertTrue(all(isinstance(option, str) for option in mount.get("options", [])))

    def test_it_keeps_the_rules(self):
        for options in ((), ("--devices", "cpu:3,cpu:1")):
            spec = specification(*options)
            self.assertEqual(set(spec), {"cdiVersion", "kind", "devices", "containerEdits"})
            self.assertEqual(spec["cdiVersion"], "0.5.0")
            vendor, device_class = spec["kind"].split("/")
            self.assertRegex(vendor, r"^[A-Za-z]([A-Za-z0-9_.-]*[A-Za-z0-9])?$")
            self.assertRegex(device_class, r"^[A-Za-z]([A-Za-z0-9_-]*[A-Za-z0-9])?$")
            names = [device["name"] for device in spec["devices"]]
            self.assertTrue(names)
            self.assertEqual(len(names), len(set(names)))
            for device in spec["devices"]:
                self.assertEqual(set(device), {"name", "containerEdits"})
                self.assertRegex(device["name"], r"^[A-Za-z0-9]([A-Za-z0-9_.:-]*[A-Za-z0-9])?$")
                self.check_edits(device["containerEdits"])
            self.check_edits(spec["containerEdits"])

    def test_devices_are_those_of_their_names(self):
        spec = specification("--devices", "cpu:3")
        devices = {device["name"]: environment_of(device["containerEdits"])["VERDIGRIS_DEVICES"] for device in spec["devices"]}
        self.assertEqual(devices, {"1": "cpu:1", "2": "cpu:2", "4": "cpu:4", "8": "cpu:8", "chosen": "cpu:3"})
        made = run([installed(), "cdi", "--devices", "foo\n: bar"], CLEAN)
        self.assertEqual(made.returncode, 2)

    def test_a_container_made_by_it_has_the_devices(self):
        """The edits, made to a root file system of the C library."""
        if os.geteuid() or run(["unshare", "--mount", "true"], CLEAN).returncode:
            self.skipTest("only root may mount")
        spec = specification()
        root = FOLDER / "container"
        edits = spec["containerEdits"]
        shutil.rmtree(root, ignore_errors=True)
        for folder in ("etc", "tmp", "dev", "proc"):
            (root / folder).mkdir(parents=True)
        for library in ("libc.so.6", "ld-linux-x86-64.so.2", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1"):
            place = run(["sh", "-c", f"ldconfig -p | sed -n 's/.*{library} (libc6,x86-64.* => //p' | head -1"], CLEAN)
            path = pathlib.Path(place.stdout.strip())
            (root / path.parent.relative_to("/")).mkdir(parents=True, exist_ok=True)
            shutil.copy(path.resolve(), root / path.relative_to("/"))
        (root / "lib64").mkdir(exist_ok=True)
        shutil.copy(pathlib.Path("/lib64/ld-linux-x86-64.so.2").resolve(), root / "lib64/ld-linux-x86-64.so.2")
        mounts = []
        for mount in edits["mounts"]:
            to = root / mount["containerPath"].lstrip("/")
            if pathlib.Path(mount["hostPath"]).is_dir():
                to.mkdir(parents=True)
            else:
                to.parent.mkdir(parents=True, exist_ok=True)
                to.touch()
            mounts.append(f"mount --bind '{mount['hostPath']}' '{to}' && mount -o remount,bind,ro '{to}'")
        for device in spec["devices"][:3]:
            environment = {**environment_of(edits), **environment_of(device["containerEdits"])}
            enter = f"import os; os.chroot({str(root)!r}); os.chdir('/'); " \
                    f"os.execve('/usr/local/bin/verdigris', ['verdigris', 'smi', '-L'], {environment})"
            script = " && ".join(mounts) + ' && exec python3 -c "$1"'
            made = run(["unshare", "--mount", "sh", "-c", script, "sh", enter], CLEAN)
            self.assertEqual(made.returncode, 0, made.stdout)
            self.assertEqual(len(made.stdout.splitlines()), int(device["name"]), made.stdout)


class Kubernetes(unittest.TestCase):
    def pod(self, name):
        pod = yaml.safe_load((SOURCE / f"packaging/kubernetes/{name}.yaml").read_text())
        self.assertEqual((pod["apiVersion"], pod["kind"]), ("v1", "Pod"))
        self.assertRegex(pod["metadata"]["name"], r"^[a-z0-9]([a-z0-9-]*[a-z0-9])?$")
        volumes = {volume["name"] for volume in pod["spec"].get("volumes", [])}
        for container in pod["spec"]["containers"] + pod["spec"].get("initContainers", []):
            self.assertTrue(container["name"] and container["image"])
            self.assertTrue(all(isinstance(word, str) for word in container["command"]))
            for mount in container.get("volumeMounts", []):
                self.assertIn(mount["name"], volumes)
            for row in container.get("env", []):
                self.assertIsInstance(row["value"], str)
        return pod

    def test_the_copied_files_are_found_as_the_engine_would(self):
        container = self.pod("copied")["spec"]["containers"][0]
        edits = specification()["containerEdits"]
        environment = {row["name"]: row["value"] for row in container["env"]}
        self.assertRegex(environment.pop("VERDIGRIS_DEVICES"), r"^cpu:\d+$")
        self.assertEqual(environment, environment_of(edits))
        self.assertIn(container["volumeMounts"][0]["mountPath"], [mount["containerPath"] for mount in edits["mounts"]])

    def test_the_annotation_names_a_device_of_the_specification(self):
        spec = specification()
        annotations = self.pod("device")["metadata"]["annotations"]
        names = {f"{spec['kind']}={device['name']}" for device in spec["devices"]}
        for key, value in annotations.items():
            self.assertRegex(key, r"^cdi\.k8s\.io/[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?$")
            self.assertIn(value, names)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
