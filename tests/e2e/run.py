#!/usr/bin/env python3
"""Runs the end-to-end tests and ends with the line `N passed, N failed`.

Tests wait more than they work, so --jobs of them (2) run side by side, each on a stack of its own: DIR, DIR-2, ... A stack that
runs is used and left up, otherwise one is started and ended afterwards. With --all the stack's tests of itself run too. A
skip counts as a failure where CI is set in the environment.

These tests run in real time. What fails is run once more at the end, with the machine to itself; what then passes is named
in the last lines and counts as passed.
"""

import argparse
import collections
import contextlib
import fnmatch
import json
import os
import pathlib
import subprocess
import sys
import threading
import time
import unittest

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
STACK = HERE.parent / "stack"
sys.path[:0] = [str(HERE), str(STACK), str(STACK / "lib"), str(STACK / "selftest")]

from selftest.run import cases  # noqa: E402

# The longest first, so that no worker is alone with one at the end.
FIRST = ("test_crash", "test_faults_of_the_start", "standby_takes_over", "never_joins", "test_contract")


def load(everything):
    """Units of work: a name and its tests. The stack's own tests come by class, because some classes start a part for all of their tests."""
    units = {}
    for folder in ([STACK / "selftest"] if everything else []) + [HERE]:
        for case in cases(unittest.TestLoader().discover(str(folder), "test_*.py", top_level_dir=str(folder))):
            name = case.id() if folder == HERE else case.id().rpartition(".")[0]
            units.setdefault(name, []).append(case)
    return units


def select(units, patterns):
    chosen = {}
    for name, tests in units.items():
        tests = [t for t in tests if not patterns or any(fnmatch.fnmatch(t.id(), f"*{p}*") for p in patterns)]
        if tests:
            chosen[name] = tests
    return chosen


class Result(unittest.TestResult):
    """Tells the parent about every test by a line of JSON."""

    def __init__(self, out):
        super().__init__()
        self.out, self.begun, self.failed = out, 0.0, False

    def tell(self, **facts):
        self.out.write(json.dumps(facts) + "\n")
        self.out.flush()

    def _say(self, word, test, text=""):
        name = test.id() if hasattr(test, "id") else str(test)
        self.tell(word=word, name=name, seconds=time.monotonic() - self.begun, text=text)

    def startTest(self, test):
        super().startTest(test)
        self.begun, self.failed = time.monotonic(), False

    def stopTest(self, test):
        super().stopTest(test)
        if self.failed:
            self._say("failed", test)

    def addSuccess(self, test):
        if not self.failed:
            self._say("ok", test)

    def _bad(self, test, err):
        self._say("FAIL", test, self._exc_info_to_string(err, test).rstrip())
        if hasattr(test, "_testMethodName") or hasattr(test, "test_case"):
            self.failed = True  # told once when it has ended, however many parts of it failed
        else:
            self._say("failed", test)  # a class that could not be set up

    addError = addFailure = _bad

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self._bad(subtest, err)

    def addSkip(self, test, reason):
        self._say("SKIP", test, reason)


def work(units):
    """A worker: names of units in, results out. What tests print goes to the standard error."""
    out, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        result = Result(out)
        unittest.TestSuite(units[line.strip()]).run(result)
        result.tell(word="end")
    return 0


class Tally:
    """Results by unit; a second try takes the place of the first."""

    def __init__(self):
        self.lock = threading.Lock()
        self.units, self.again = {}, []

    def begin(self, unit):
        with self.lock:
            self.units[unit] = collections.Counter()

    def count(self, word):
        return sum(counts[word] for counts in self.units.values())

    def failed_units(self):
        return [unit for unit, counts in self.units.items() if counts["failed"]]

    def add(self, unit, fact):
        with self.lock:
            self.units[unit][fact["word"]] += 1
            if fact["word"] == "failed":
                return
            text = f": {fact['text']}" if fact["word"] == "SKIP" else f"\n{fact['text']}" if fact["text"] else ""
            print(f"{fact['word']:<5} {fact['name']} ({fact['seconds']:.1f} s){text}", flush=True)

    def fail(self, unit, text):
        with self.lock:
            self.units.setdefault(unit, collections.Counter())["failed"] += 1
            print(f"FAIL  {unit}: {text}", flush=True)


class Worker:
    """A process that runs tests on its own stack."""

    def __init__(self, directory, arguments, tally):
        from client.stack import run_program
        self.run_program, self.dir, self.tally, self.arguments = run_program, directory, tally, arguments
        said = run_program("up", "--dir", directory).strip()
        self.found_up = "is already up" in said
        with tally.lock:
            print(said.splitlines()[0], flush=True)
        self.start()

    def start(self):
        self.process = subprocess.Popen([sys.executable, str(HERE / "run.py"), "--worker", *self.arguments], text=True, bufsize=1,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=dict(os.environ, STACK_DIR=self.dir))

    def serve(self, queue):
        while True:
            try:
                unit = queue.popleft()
            except IndexError:
                return
            self.tally.begin(unit)
            if self.process.poll() is not None:
                self.start()
            with contextlib.suppress(BrokenPipeError):  # then nothing comes back either
                self.process.stdin.write(unit + "\n")
            for line in self.process.stdout:
                fact = json.loads(line)
                if fact["word"] == "end":
                    break
                self.tally.add(unit, fact)
            else:
                self.tally.fail(unit, f"the process that ran it ended with {self.process.wait()}")

    def end(self, keep):
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
        if not keep and not self.found_up:
            print(self.run_program("down", "--dir", self.dir).strip(), flush=True)


def run(chosen, args, arguments):
    order = sorted(chosen, key=lambda name: next((i for i, word in enumerate(FIRST) if word in name), len(FIRST)))
    queue, tally, workers = collections.deque(order), Tally(), []
    jobs = max(1, min(args.jobs, len(order)))
    try:
        for index in range(jobs):
            workers.append(Worker(args.dir if index == 0 else f"{args.dir}-{index + 1}", arguments, tally))
        threads = [threading.Thread(target=w.serve, args=(queue,)) for w in workers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        tally.again = tally.failed_units()
        if tally.again:
            print(f"once more: {', '.join(tally.again)}", flush=True)
            workers[0].serve(collections.deque(tally.again))
    finally:
        for worker in workers:
            worker.end(args.keep)
    for name in queue:
        tally.fail(name, "nobody was left to run it")
    return tally


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("patterns", nargs="*", metavar="PATTERN", help="only tests whose name holds one of these")
    parser.add_argument("--dir", default=str(ROOT / "build/e2e"), help="directory of the stack (default build/e2e)")
    parser.add_argument("--program", default=str(ROOT / "build/drover"), help="the binary under test")
    parser.add_argument("--jobs", type=int, default=2, help="how many tests run side by side (default 2)")
    parser.add_argument("--all", action="store_true", help="also the stack's tests of itself")
    parser.add_argument("--list", action="store_true", help="name the tests, run none")
    parser.add_argument("--keep", action="store_true", help="leave the stacks up")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    os.environ["DROVER"] = args.program
    chosen = select(load(args.all), args.patterns)
    if args.worker:
        return work(chosen)
    if args.list:
        print("\n".join(t.id() for tests in chosen.values() for t in tests))
        return 0
    if not chosen:
        print(f"no test is called {' or '.join(args.patterns)}", file=sys.stderr)
        return 2
    if not os.access(args.program, os.X_OK):
        print(f"no program at {args.program}: run make build", file=sys.stderr)
        return 2
    begun = time.monotonic()
    arguments = ["--program", args.program, *(["--all"] if args.all else []), *args.patterns]
    tally = run(chosen, args, arguments)
    strict = bool(os.environ.get("CI"))
    passed, failed, skipped = (tally.count(word) for word in ("ok", "failed", "SKIP"))
    if skipped:
        print(f"{skipped} skipped{', which counts as failed here' if strict else ''}")
        failed += skipped if strict else 0
    for unit in tally.again:
        print(f"{unit}: {'failed twice' if unit in tally.failed_units() else 'passed at the second try'}")
    print(f"{time.monotonic() - begun:.0f} s")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        sys.exit(130)
