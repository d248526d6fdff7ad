"""How PyTorch's operators get replaced, with a stand-in for PyTorch: when, once, and with no harm to what else Python does at its
start. What the operators then do is tests/python/today/eager_test.py, with PyTorch itself.

    hook_test.py VERDIGRIS [NAME ...]      a Python with nothing installed
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

VERDIGRIS = sys.argv.pop(1)
TORCH = """
import types
calls = []
version = types.SimpleNamespace(cuda={cuda!r})
cuda = types.SimpleNamespace(_lazy_call=calls.append)
"""


class Hook(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self._folder.name)
        self.write("torch/__init__.py", TORCH.format(cuda="13.2"))

    def tearDown(self):
        self._folder.cleanup()

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)

    def run_python(self, code, devices="cpu:1", **environment):
        environment = {**os.environ, "PYTHONPATH": str(self.folder), "VERDIGRIS_DEVICES": devices, **environment}
        done = subprocess.run([VERDIGRIS, "run", sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout

    def test_it_waits_until_cuda_starts(self):
        out = self.run_python("import torch, sys; print(len(torch.calls), torch.__spec__.loader, 'verdigris_eager' in sys.modules)")
        self.assertIn("1 <_frozen_importlib_external.SourceFileLoader", out)
        self.assertTrue(out.strip().endswith("True"), out)

    def test_a_second_import_changes_nothing(self):
        self.assertEqual(self.run_python("import torch, importlib; importlib.reload(torch); print(len(torch.calls))"), "0\n")

    def test_asking_whether_it_is_there_changes_nothing(self):
        code = "import importlib.util as u; print(u.find_spec('torch').name); import torch; print(len(torch.calls))"
        self.assertEqual(self.run_python(code), "torch\n1\n")

    def test_it_is_found_by_others_than_the_path(self):
        code = """
import importlib.util, os, sys
class Editable:
    def find_spec(name, path=None, target=None):
        if name == "torch":
            return importlib.util.spec_from_file_location(name, os.environ["ELSEWHERE"])
sys.path = [each for each in sys.path if "packages" not in each]
sys.meta_path.append(Editable)
import torch
print(len(torch.calls))"""
        (self.folder / "torch").rename(self.folder / "elsewhere")
        self.assertEqual(self.run_python(code, ELSEWHERE=str(self.folder / "elsewhere/__init__.py")), "1\n")

    def test_it_waits_again_after_an_import_that_failed(self):
        code = """
import pathlib, sys
module = pathlib.Path(FOLDER) / "torch/__init__.py"
text = module.read_text()
module.write_text("raise ImportError('not yet')")
try:
    import torch
except ImportError as error:
    print(error)
module.write_text(text)
import torch
print(len(torch.calls))"""
        self.assertEqual(self.run_python(code.replace("FOLDER", repr(str(self.folder))), PYTHONDONTWRITEBYTECODE="1"),
                         "not yet\n1\n")

    def test_programs_without_torch_import_nothing_of_it(self):
        self.assertEqual(self.run_python("import sys; print('torch' in sys.modules)"), "False\n")

    def test_torch_that_is_missing_is_missing(self):
        (self.folder / "torch/__init__.py").unlink()
        (self.folder / "torch").rmdir()
        code = "import sys\nsys.path = [p for p in sys.path if 'packages' not in p]\ntry:\n import torch\nexcept ModuleNotFoundError as error: print(error)"
        self.assertEqual(self.run_python(code), "No module named 'torch'\n")

    def test_torch_without_cuda_is_left_alone(self):
        self.write("torch/__init__.py", TORCH.format(cuda=None))
        self.assertEqual(self.run_python("import torch; print(torch.calls)"), "[]\n")

    def test_the_setting_turns_it_off(self):
        self.assertEqual(self.run_python("import torch; print(torch.calls)", VERDIGRIS_EAGER="off"), "[]\n")

    def test_another_sitecustomize_is_run(self):
        self.write("sitecustomize.py", "print('mine', __name__, __file__)")
        out = self.run_python("import torch, sitecustomize; print(len(torch.calls))")
        self.assertEqual(out, f"mine sitecustomize {self.folder}/sitecustomize.py\n1\n")

    def test_errors_of_another_sitecustomize_are_its_own(self):
        self.write("sitecustomize.py", "raise ValueError('mine')")
        self.assertIn("ValueError: mine", self.run_python("print('goes on')"))

    def test_an_unknown_torch_starts_with_a_line(self):
        out = self.run_python("import torch; torch.calls[0](); print('goes on')")
        self.assertRegex(out, r"^\[verdigris\] PyTorch's operators could not all be replaced .*\ngoes on\n$")

    def test_nothing_is_written_beside_the_package(self):
        self.run_python("import torch; torch.calls[0]()", PYTHONDONTWRITEBYTECODE="")
        package = pathlib.Path(self.run_python("import verdigris_eager; print(verdigris_eager.__path__[0])").strip())
        self.assertEqual([str(each) for each in package.parent.rglob("*.pyc")], [])


if __name__ == "__main__":
    unittest.main()
