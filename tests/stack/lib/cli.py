"""The command line of tests/stack/stack. Exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted."""

import argparse
import json
import os
import signal
import sys

import status
from build import Builder
from pins import CLONE, STACK, StackError, cache_dir
from stackdir import READY_SEC, Stack

EPILOG = """The built parts are kept in ${XDG_CACHE_HOME:-~/.cache}/drover/stack, one folder per set of pins
(tests/stack/versions). A stack lives in one directory; several run side by side with --dir."""


def port_option(text):
    name, sign, value = text.partition("=")
    if not sign or not value.isdigit() or not 1 <= int(value) <= 65535:
        raise argparse.ArgumentTypeError(f"want PORT-NAME=NUMBER, got {text}")
    return name, int(value)


def bounded(low, high):
    def convert(text):
        try:
            value = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"want a whole number, got {text}") from None
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(f"{value} is not between {low} and {high}")
        return value
    return convert


def parser():
    top = argparse.ArgumentParser(prog="stack", description=sys.modules["__main__"].__doc__, epilog=EPILOG,
                                  formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(name, text, directory=True):
        sub = commands.add_parser(name, help=text, description=text)
        if directory:
            sub.add_argument("--dir", default=str(CLONE / "build/stack"), help="directory of the stack (default build/stack)")
        return sub

    build = command("build", "build the parts that are missing from the cache", directory=False)
    build.add_argument("--only", action="append", metavar="PART", help="build this part alone; may be repeated")
    up = command("up", "build what is missing, start a stack, wait until it is ready, say how to use it")
    up.add_argument("--port", action="append", type=port_option, default=[], metavar="NAME=N",
                    help="use this port instead of a free one; may be repeated")
    up.add_argument("--no-build", action="store_true", help="start with what is built; say what is missing")
    up.add_argument("--boot-seconds", type=bounded(0, 3600), default=3, help="from running to a joined Node (default 3)")
    up.add_argument("--node-grace", type=bounded(8, 600), default=20,
                    help="seconds without a heartbeat until a Node is NotReady (default 20; Kubernetes itself: 50)")
    up.add_argument("--scrape", type=bounded(1, 60), default=1, help="seconds between scrapes of Prometheus (default 1)")
    up.add_argument("--region", default="us-east-1", help="AWS region (default us-east-1)")
    up.add_argument("--ready-timeout", type=bounded(5, 600), default=int(READY_SEC),
                    help="seconds a part may take to become ready (default 60)")
    command("down", "end a stack and remove its data; its logs stay")
    show = command("status", "say what runs, on which port, since when, with which memory")
    show.add_argument("-o", "--output", choices=("text", "json"), default="text")
    command("test", "run the stack's tests of itself, on a stack of their own (stack test --help)", directory=False)
    env = command("env", "print the variables of a running stack, for: eval \"$(tests/stack/stack env)\"")
    env.add_argument("-o", "--output", choices=("text", "json"), default="text")
    return top


def cmd_build(args):
    builder = Builder()
    names = [p.name for p in builder.parts]
    for name in args.only or []:
        if name not in names:
            raise StackError(f"no part is called {name}; there are: {', '.join(names)}")
    failed = builder.build(args.only)
    if failed:
        print(builder.explain(failed), file=sys.stderr)
        return 1
    print(f"all parts are built: {builder.dir}")
    return 0


def cmd_up(args):
    stack = Stack(args.dir)
    options = {"boot_sec": args.boot_seconds, "node_grace_sec": args.node_grace, "scrape_sec": args.scrape,
               "region": args.region, "ready_sec": args.ready_timeout}
    with stack.lock():
        if not args.no_build:
            builder = Builder()
            failed = builder.build()
            if failed:
                print(builder.explain(failed), file=sys.stderr)
        facts = stack.up(options, dict(args.port))
        state = status.collect(stack)
    print(summary(stack, facts, state))
    return 0


def summary(stack, facts, state):
    env = facts["env"]
    lines = [f"the stack in {stack.dir} " + ("is already up" if facts.get("already") else f"is up after {facts['start_sec']:.1f} s")
             + f": {state['running']} parts, {state['total_rss_bytes'] / 1e9:.2f} GB of memory",
             f"  KUBECONFIG      {env['KUBECONFIG']}",
             f"  API server      {env['STACK_APISERVER_URL']}   through the fault proxy: {env['STACK_APISERVER_PROXY_URL']}",
             f"  AWS             {env['AWS_ENDPOINT_URL']}",
             f"  DynamoDB        {env['STACK_DYNAMODB_URL']}   through the fault proxy: {env['STACK_DYNAMODB_PROXY_URL']}",
             f"  Prometheus      {env['STACK_PROMETHEUS_URL']}   through the fault proxy: {env['STACK_PROMETHEUS_PROXY_URL']}",
             f"  load exporter   {env['STACK_EXPORTER_URL']}",
             f"  boot glue       {env['STACK_GLUE_URL']}",
             f"  environment     . {stack.dir}/env",
             f"  configuration   {stack.dir}/drover.yaml"]
    for name, reason in facts["missing"].items():
        lines.append(f"  MISSING         {name}: {reason}")
    return "\n".join(lines)


def cmd_down(args):
    stack = Stack(args.dir)
    if not stack.dir.is_dir():
        print(f"no stack in {stack.dir}")
        return 0
    with stack.lock():
        count = stack.down()
    print(f"ended {count} processes of the stack in {stack.dir}" if count else f"no stack was running in {stack.dir}")
    return 0


def cmd_status(args):
    state = status.collect(Stack(args.dir))
    print(status.as_json(state) if args.output == "json" else status.text(state))
    whole = state["up"] and state["running"] == len(state["parts"])
    return 0 if whole else 1


def cmd_test(arguments):
    builder = Builder()
    failed = builder.build()
    if failed:
        print(builder.explain(failed), file=sys.stderr)
    if any(p.name == "python" for p in failed):
        return 1
    # The tests take over this process: they use the Python environment of the stack.
    python = str(cache_dir() / "python/bin/python")
    os.execv(python, [python, str(STACK / "selftest/run.py"), *arguments])


def cmd_env(args):
    stack = Stack(args.dir)
    facts = stack.facts()
    if facts is None:
        raise StackError(f"no stack in {stack.dir}; start one with: tests/stack/stack up")
    if args.output == "json":
        print(json.dumps(facts["env"], indent=1))
    else:
        print((stack.dir / "env").read_text(), end="")
    return 0


def main(argv):
    # Everything after `test` is for the program that runs the tests.
    tests = argv[1:] if argv[:1] == ["test"] else None
    args = parser().parse_args(argv if tests is None else ["test"])
    # A closed terminal or a stopped job ends the work the same way as Ctrl-C: cleanly.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    try:
        return {"build": cmd_build, "up": cmd_up, "down": cmd_down, "status": cmd_status,
                "test": lambda _: cmd_test(tests), "env": cmd_env}[args.command](args)
    except StackError as error:
        print(f"stack: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:  # the reader of our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print("stack: interrupted; nothing is left behind", file=sys.stderr)
        return 130
