#!/usr/bin/env python3
"""`verdigris explain` knows every rule, entry point, error and setting that the project has, by the tables of the source, and
leads from a rule to its code and back.

    explain_test.py VERDIGRIS SOURCE_ROOT
"""

import pathlib
import re
import subprocess
import sys
import unittest

VERDIGRIS, ROOT = sys.argv[1], pathlib.Path(sys.argv[2])


def explain(*names):
    """Away from the source tree: the command has all texts in itself."""
    return subprocess.run([VERDIGRIS, "explain", *names], cwd="/", capture_output=True, text=True, check=False)


def found_in(path, pattern):
    return re.findall(pattern, (ROOT / path).read_text(), re.M)


class Explain(unittest.TestCase):
    def known(self, names):
        """Each has a heading of its own."""
        ran = explain(*names)
        self.assertEqual((ran.stderr, ran.returncode), ("", 0))
        headings = set(re.findall(r"^(\S+) \(", ran.stdout, re.M))
        self.assertEqual([name for name in names if name not in headings], [])
        return ran.stdout

    def test_every_rule_is_known_with_its_text_tests_and_verdict(self):
        rows = [line.split("\t") for line in (ROOT / "tests/conformance/rules.tsv").read_text().splitlines()[1:]]
        text = self.known([row[0] for row in rows])
        self.assertEqual(text.count("\n  real driver "), len(rows))
        untestable = len(re.findall(r"^  real driver +not asked; no test can tell: \S", text, re.M))
        self.assertEqual(text.count("\n  tests ") + untestable, len(rows))
        words = " ".join(text.split())
        self.assertEqual([row[0] for row in rows if " ".join(row[3].split()) not in words], [])

    def test_every_entry_point_is_known_with_its_handler(self):
        rows = found_in("src/api/entry/entry_points.inc", r"^CU_(LIVE|STUB)\((\w+),")
        text = self.known([name for _, name in rows])
        for kind, name in rows:
            if kind == "LIVE":
                self.assertRegex(text, rf"\n  handler +src/api/\w+/\w+\.cpp:{name}\n")
            else:
                self.assertIn(f"{name} (", text)

    def test_every_error_is_known_by_name_and_by_number(self):
        names = found_in("src/api/entry/results.inc", r"^VG_RESULT\((\w+),")
        self.known(names)
        self.assertEqual(explain("700").stdout, explain("CUDA_ERROR_ILLEGAL_ADDRESS").stdout)

    def test_every_setting_is_known_with_its_meaning_and_reader(self):
        names = found_in("src/base/settings.h", r'^\s*X\(\w+, "(\w+)"')
        text = self.known(names)
        self.assertEqual(text.count("\n  read in "), len(names))

    def test_a_rule_leads_to_its_check_and_the_check_to_its_rule(self):
        rule = explain("memcpy2d-020").stdout
        self.assertIn("src/core/work/copy.cpp:checkPitch", rule)
        self.assertIn("cuMemcpy2D_v2", rule)
        for place in ("checkPitch", "src/core/work/copy.cpp", "src/core/work/copy.cpp:checkPitch"):
            self.assertIn("MEMCPY2D-020", explain(place).stdout, place)
        self.assertIn("MEMCPY2D-020", explain("cuMemcpy2D").stdout)

    def test_a_name_stands_for_all_its_versions_and_twins(self):
        for name in ("cuMemcpyHtoD", "cuMemcpyHtoD_v2", "cuMemcpyHtoD_v2_ptds"):
            headings = re.findall(r"^(\w+) \(since", explain(name).stdout, re.M)
            self.assertEqual(headings, ["cuMemcpyHtoD", "cuMemcpyHtoD_v2"], name)

    def test_what_differs_on_the_real_driver_is_said(self):
        self.assertRegex(explain("MEMCPY2D-023").stdout, "real driver +differs: pitches above")
        self.assertIn("-> CUDA_SUCCESS.", explain("cuMemFreeHost").stdout)

    def test_unknown_names_get_the_nearest_ones(self):
        ran = explain("cuMemcpyHtoDD", "MEMCPY2D-020")
        self.assertEqual(ran.returncode, 2)
        self.assertIn("MEMCPY2D-020", ran.stdout)
        self.assertRegex(ran.stderr, "no rule, entry point, error, setting or function cuMemcpyHtoDD\nNearest: cuMemcpyHtoD")
        for arguments in ([], ["--bad"], [""]):
            self.assertEqual(explain(*arguments).returncode, 2, arguments)

    def test_the_list_has_all_names(self):
        names = explain("--list").stdout.split("\n")
        for name in ("MEMCPY2D-020", "cuMemcpy2D", "CUDA_ERROR_INVALID_VALUE", "VERDIGRIS_LOG", "CUDA_MEMCPY2D"):
            self.assertIn(name, names)


unittest.main(argv=sys.argv[:1])
