"""A session of a coding agent: shell commands, one after another, each timed as the
agent waits for it. Prints `stage NAME SECONDS`, the mean of the command's repetitions,
and `total SECONDS` of the session."""

import glob
import os
import shutil
import subprocess
import sys
import time

WORK, REPOSITORY, REPEAT = sys.argv[1], sys.argv[2], int(sys.argv[3])
WHEEL = max(glob.glob("/usr/share/python-wheels/setuptools-*.whl"))

SESSION = [
    # name, command line; each begins in the repository
    ("status", "git status --short"),
    ("grep", "git grep -n 'def main' -- '*.py'"),
    ("edit", "sed -i 's/json/JSON/' simplejson/encoder.py && git diff && git checkout -q simplejson/encoder.py"),
    ("test", "python3 -m unittest simplejson.tests.test_dump simplejson.tests.test_float simplejson.tests.test_unicode"),
    ("install", f"python3 -m pip install --quiet --no-index --no-deps --no-compile --disable-pip-version-check --target {WORK}/site {WHEEL}"),
    ("files", f"mkdir {WORK}/files && for i in $(seq 500); do echo $i > {WORK}/files/$i; done && cat {WORK}/files/* > {WORK}/all"),
    ("processes", "for i in $(seq 50); do /bin/true; done"),
]


def run(line):
    done = subprocess.run(["/bin/sh", "-c", line], cwd=REPOSITORY, env=dict(os.environ, HOME=WORK, PIP_ROOT_USER_ACTION="ignore"),
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        sys.stderr.buffer.write(done.stdout[-4096:])
        sys.exit(f"{line}: exit status {done.returncode}")


spent = dict.fromkeys((name for name, _ in SESSION), 0.0)
begun = time.monotonic()
for _ in range(REPEAT):
    for name, line in SESSION:
        start = time.monotonic()
        run(line)
        spent[name] += time.monotonic() - start
    for left in ("site", "files"):
        shutil.rmtree(os.path.join(WORK, left))
ended = time.monotonic()
for name, seconds in spent.items():
    print(f"stage {name} {seconds / REPEAT:.6f}")
print(f"total {ended - begun:.6f}")
