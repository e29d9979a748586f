#!/usr/bin/env python3
"""Runs the stack's tests of itself and ends with the line `N passed, N failed`.

Starts a stack of its own (--dir, default build/stack-test) and ends it afterwards, so that a stack
that somebody plays with is never touched. A test that lacks a part is skipped and says why; where
CI is set in the environment a skip counts as a failure.
"""

import argparse
import fnmatch
import os
import pathlib
import sys
import time
import unittest

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
STACK = HERE.parent
sys.path[:0] = [str(HERE), str(STACK), str(STACK / "lib")]


class Report(unittest.TestResult):
    """One line per test, with its time."""

    def __init__(self):
        super().__init__()
        self.passed, self.begun = 0, 0.0

    def startTest(self, test):
        super().startTest(test)
        self.begun = time.monotonic()

    def _line(self, word, test, text=""):
        name = test.id() if hasattr(test, "id") else str(test)
        print(f"{word:<5} {name} ({time.monotonic() - self.begun:.1f} s){text}", flush=True)

    def addSuccess(self, test):
        self.passed += 1
        self._line("ok", test)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self._line("FAIL", test, "\n" + self.failures[-1][1].rstrip())

    def addError(self, test, err):
        super().addError(test, err)
        self._line("FAIL", test, "\n" + self.errors[-1][1].rstrip())

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self._line("FAIL", subtest, "\n" + (self.failures or self.errors)[-1][1].rstrip())

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self._line("SKIP", test, f": {reason}")


def cases(suite):
    for entry in suite:
        if isinstance(entry, unittest.TestSuite):
            yield from cases(entry)
        else:
            yield entry


def select(patterns):
    loader = unittest.TestLoader()
    found = list(cases(loader.discover(str(HERE), "test_*.py", top_level_dir=str(HERE))))
    if patterns:
        found = [c for c in found if any(fnmatch.fnmatch(c.id(), f"*{p}*") for p in patterns)]
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("patterns", nargs="*", metavar="PATTERN", help="only tests whose name holds one of these")
    parser.add_argument("--dir", default=str(STACK.parent.parent / "build/stack-test"), help="directory of the test's own stack")
    parser.add_argument("--list", action="store_true", help="name the tests, run none")
    parser.add_argument("--keep", action="store_true", help="leave the stack up")
    args = parser.parse_args()
    chosen = select(args.patterns)
    if args.list:
        print("\n".join(c.id() for c in chosen))
        return 0
    if not chosen:
        print(f"no test is called {' or '.join(args.patterns)}", file=sys.stderr)
        return 2

    from client.stack import run_program
    os.environ["STACK_DIR"] = args.dir
    report = Report()
    own = any(getattr(c, "uses_stack", False) for c in chosen)
    try:
        if own:
            print(run_program("up", "--dir", args.dir).strip(), flush=True)
        unittest.TestSuite(chosen).run(report)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    finally:
        if own and not args.keep:
            print(run_program("down", "--dir", args.dir).strip(), flush=True)
    return verdict(report)


def verdict(report):
    skipped, strict = len(report.skipped), bool(os.environ.get("CI"))
    failed = len(report.failures) + len(report.errors) + (skipped if strict else 0)
    for test, reason in report.skipped:
        print(f"skipped{', which counts as a failure here' if strict else ''}: {test.id()}: {reason}")
    if skipped and not strict:
        print(f"{skipped} skipped")
    print(f"{report.passed} passed, {failed} failed")
    return 1 if failed or not report.passed else 0


if __name__ == "__main__":
    sys.exit(main())
