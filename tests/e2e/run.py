#!/usr/bin/env python3
"""Runs the end-to-end tests and ends with the line `N passed, N failed`.

Uses the stack of --dir: one that runs is used and left up, otherwise one is started and ended afterwards. With
--all the stack's tests of itself and the contract suites on the real services run before them. A skip counts as a
failure where CI is set in the environment.
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
STACK = HERE.parent / "stack"
sys.path[:0] = [str(HERE), str(STACK), str(STACK / "lib"), str(STACK / "selftest")]

from selftest.run import Report, cases, verdict  # noqa: E402


def load(folder, pattern="test_*.py"):
    return list(cases(unittest.TestLoader().discover(str(folder), pattern, top_level_dir=str(folder))))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("patterns", nargs="*", metavar="PATTERN", help="only tests whose name holds one of these")
    parser.add_argument("--dir", default=str(HERE.parent.parent / "build/e2e"), help="directory of the stack (default build/e2e)")
    parser.add_argument("--program", default=str(HERE.parent.parent / "build/drover"), help="the binary under test")
    parser.add_argument("--all", action="store_true", help="also the stack's tests of itself")
    parser.add_argument("--list", action="store_true", help="name the tests, run none")
    parser.add_argument("--keep", action="store_true", help="leave the stack up")
    args = parser.parse_args()
    os.environ.update(STACK_DIR=args.dir, DROVER=args.program)
    chosen = (load(STACK / "selftest") if args.all else []) + load(HERE)
    if args.patterns:
        chosen = [c for c in chosen if any(fnmatch.fnmatch(c.id(), f"*{p}*") for p in args.patterns)]
    if args.list:
        print("\n".join(c.id() for c in chosen))
        return 0
    if not chosen:
        print(f"no test is called {' or '.join(args.patterns)}", file=sys.stderr)
        return 2
    if not os.access(args.program, os.X_OK):
        print(f"no program at {args.program}: run make build", file=sys.stderr)
        return 2

    from client.stack import run_program
    begun, report = time.monotonic(), Report()
    said = run_program("up", "--dir", args.dir).strip()
    found_up = "is already up" in said
    print(said.splitlines()[0], flush=True)
    try:
        unittest.TestSuite(chosen).run(report)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    finally:
        if not args.keep and not found_up:
            print(run_program("down", "--dir", args.dir).strip(), flush=True)
    print(f"{time.monotonic() - begun:.0f} s")
    return verdict(report)


if __name__ == "__main__":
    sys.exit(main())
