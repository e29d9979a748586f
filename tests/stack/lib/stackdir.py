"""One stack: its directory, its ports, starting and ending it."""

import errno
import json
import os
import pathlib
import random
import shlex
import shutil
import socket
import subprocess
import sys
import time

import certs
from build import Builder, hold
from parts import Context, all_parts, quiet_python
from pins import STACK, StackError, cache_dir
from process import Process, boot_id, stop_all

READY_SEC = 60.0
FIRST_PORT, LAST_PORT = 20000, 31999  # below the range from which the kernel gives out ports by itself
KEPT = ("logs", "lock")  # what `down` leaves: why it ended is still of interest


class PortTaken(StackError):
    pass


class Stack:
    def __init__(self, directory):
        self.dir = pathlib.Path(directory).resolve()
        self.pids = self.dir / "pids"
        self.logs = self.dir / "logs"
        self.parts = all_parts()

    # -- what is known about it ---------------------------------------------------------------

    def facts(self):
        """What the last start wrote down; None if there is no stack here."""
        try:
            return json.loads((self.dir / "stack.json").read_text())
        except (OSError, ValueError):
            return None

    def process(self, name):
        return Process(name, self.pids / f"{name}.pid")

    def running(self):
        """Names of the parts that run, by pid file, whatever stack.json says."""
        if not self.pids.is_dir() or not self._same_boot():
            return []
        return sorted(p.stem for p in self.pids.glob("*.pid") if self.process(p.stem).pid() is not None)

    def _same_boot(self):
        try:
            return (self.pids / "boot").read_text() == boot_id()
        except OSError:
            return False

    # -- lock ---------------------------------------------------------------------------------

    def lock(self):
        try:
            self.dir.mkdir(parents=True, exist_ok=True)
            handle = open(self.dir / "lock", "a+")
        except OSError as error:
            raise StackError(f"cannot use {self.dir} for a stack: {error.strerror}") from None
        hold(handle, f"the stack in {self.dir}")
        return handle

    # -- down ---------------------------------------------------------------------------------

    def down(self):
        """Ends everything that a pid file here names. Returns how many processes that were."""
        names = self.running()
        order = [p.name for p in reversed(self.parts)]
        names.sort(key=lambda n: order.index(n) if n in order else -1)
        # The API server waits for its watchers and cannot end well without etcd: both come last. The
        # data goes anyway, so there is no reason to be patient with them.
        base = [n for n in names if n in ("apiserver", "etcd")]
        for process in stop_all([self.process(n) for n in names if n not in base]):
            print(f"{process.name} did not end when asked and was killed", file=sys.stderr)
        for name in base:
            stop_all([self.process(name)], patience_sec=2.0)
        self._clean()
        return len(names)

    def _clean(self):
        for path in self.dir.iterdir() if self.dir.is_dir() else []:
            if path.name in KEPT:
                continue
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)

    # -- up -----------------------------------------------------------------------------------

    def up(self, options, fixed_ports):
        """Starts a stack and returns its facts. On any failure nothing is left running."""
        begun = time.monotonic()
        if self.running():
            facts = self.facts()
            if facts and set(self.running()) == set(facts["parts"]):
                facts["already"] = True
                if facts["options"] != options or any(facts["ports"].get(n) != p for n, p in fixed_ports.items()):
                    print("it runs with other options; to change them end it first", file=sys.stderr)
                return facts
            print(f"the stack in {self.dir} is not whole: it is ended and started anew", file=sys.stderr)
        self.down()
        check_disk(self.dir)
        for attempt in range(3):
            try:
                return self._start(options, fixed_ports, begun)
            except PortTaken as taken:
                self.down()
                if attempt == 2 or fixed_ports:
                    raise
                print(f"{taken}; trying other ports", file=sys.stderr)
            except OSError as error:
                self.down()
                if error.errno == errno.ENOSPC:
                    raise StackError(f"no space left on the disk of {self.dir}") from None
                raise
            except BaseException:
                self.down()
                raise
        raise AssertionError("unreachable")

    def _start(self, options, fixed_ports, begun):
        shutil.rmtree(self.logs, ignore_errors=True)
        for folder in (self.pids, self.logs):
            folder.mkdir(parents=True, exist_ok=True)
        (self.pids / "boot").write_text(boot_id())
        ctx = Context(self.dir, cache_dir(), choose_ports(self.parts, fixed_ports), options)
        certs.make(self.dir / "pki")
        server = ctx.url("apiserver", "https")
        certs.kubeconfig(self.dir / "kubeconfig", server, self.dir / "pki", "admin")
        missing = self._missing()
        through = "apiserver" if "apiserver-proxy" in missing else "apiserver-proxy"
        certs.kubeconfig(self.dir / "kubeconfig.proxy", ctx.url(through, "https"), self.dir / "pki", "admin")
        for client in ("controller-manager", "scheduler"):
            certs.kubeconfig(self.dir / f"{client}.kubeconfig", server, self.dir / "pki", client)
        self._run_parts(ctx, [p for p in self.parts if p.name not in missing])
        facts = {"dir": str(self.dir), "cache": str(ctx.cache), "ports": ctx.ports, "options": options, "missing": missing,
                 "parts": [p.name for p in self.parts if p.name not in missing], "since": time.time()}
        write_outputs(ctx, facts)
        facts["start_sec"] = round(time.monotonic() - begun, 1)
        temporary = self.dir / "stack.json.tmp"
        temporary.write_text(json.dumps(facts, indent=1))
        os.rename(temporary, self.dir / "stack.json")
        return facts

    def _missing(self):
        """Parts that cannot start, with the reason: not built, or resting on one that is missing."""
        builder = Builder()
        unbuilt = {p.name: p for p in builder.missing()}
        missing = {}
        for part in self.parts:
            lost = [n for n in part.needs if n in unbuilt]
            if lost:
                missing[part.name] = f"not built: {unbuilt[lost[0]].package}; log: {builder.logs / (lost[0] + '.log')}"
            elif part.program is not None and not part.program.exists():
                missing[part.name] = f"{part.program.relative_to(STACK.parent.parent)} does not exist"
        grown = True
        while grown:
            grown = False
            for part in self.parts:
                lost = [n for n in part.after if n in missing and part.name not in missing]
                if lost:
                    missing[part.name] = f"needs {lost[0]}, which is missing"
                    grown = True
        return missing

    def _run_parts(self, ctx, parts):
        """Starts each part as soon as those it rests on are ready; waits until all are."""
        started, ready, seen, account = {}, {}, {}, None
        deadline = time.monotonic() + ctx.options["ready_sec"]
        while len(ready) < len(parts):
            for part in parts:
                if part.name not in started and all(n in ready for n in part.after):
                    process = self.process(part.name)
                    process.spawn(part.argv(ctx), self.logs / f"{part.name}.log",
                                  env=part.env(ctx) if part.env else None, cwd=self.dir)
                    started[part.name] = process
                    deadline = time.monotonic() + ctx.options["ready_sec"]
                elif part.name in started and part.name not in ready:
                    if started[part.name].exit_code() is not None:
                        self._failed(ctx, part, f"ended with {started[part.name].exit_code()} while starting")
                    yes, seen[part.name] = part.ready(ctx)
                    if yes:
                        ready[part.name] = True
                        tell(f"{part.name} ready", len(ready), len(parts))
            if account is None and {"aws", "dynamodb"} <= set(ready):
                account = self._begin_account(ctx)
            if time.monotonic() > deadline:
                late = [p for p in parts if p.name in started and p.name not in ready]
                self._failed(ctx, late[0], f"not ready after {ctx.options['ready_sec']:.0f} s; "
                                           f"last seen: {seen.get(late[0].name, 'nothing')}")
            time.sleep(0.05)
        for part in parts:
            if started[part.name].exit_code() is not None:
                self._failed(ctx, part, f"ended with {started[part.name].exit_code()} soon after its start")
        if account is not None:
            finish_account(account, self.logs / "account.log")

    def _failed(self, ctx, part, reason):
        log = self.logs / f"{part.name}.log"
        text = log.read_text(errors="replace") if log.exists() else ""
        end = "\n".join(f"  | {line[:240]}" for line in text.splitlines()[-8:])
        if "address already in use" in text.lower():
            used = [p for p in part.ports if str(ctx.ports[p]) in text] or part.ports
            raise PortTaken(f"port {ctx.ports[used[0]]} for {part.name} was taken while it started\n{end}")
        # A part that cannot write its log cannot tell why it ended either.
        if "no space left on device" in text.lower() or shutil.disk_usage(self.dir).free < 1 << 20:
            reason = f"no space left on the disk of {self.dir}"
        raise StackError(f"part {part.name}: {reason}\n  log: {log}\n{end}")

    def _begin_account(self, ctx):
        """What a person has before drover comes: a network, a launch template, a queue, tables. Made
        while the slower parts still start."""
        process = self.process("account")
        process.spawn([ctx.python, STACK / "client/account.py", "--aws", ctx.url("aws"), "--dynamodb", ctx.url("dynamodb"),
                       "--region", ctx.options["region"], "--out", self.dir / "account.json"],
                      self.logs / "account.log", env=quiet_python(ctx), cwd=self.dir)
        return process


def finish_account(process, log):
    if process.child.wait() != 0:
        end = "\n".join(f"  | {line[:240]}" for line in log.read_text(errors="replace").splitlines()[-6:])
        raise StackError(f"setting up the AWS account failed\n  log: {log}\n{end}")
    process.path.unlink(missing_ok=True)


def tell(text, count, total):
    if sys.stderr.isatty():
        print(f"\r\033[K[{count}/{total}] {text}", end="\n" if count == total else "", file=sys.stderr, flush=True)


def check_disk(directory):
    free = shutil.disk_usage(directory).free
    if free < 300 << 20:
        raise StackError(f"no room to start: {directory} has {free >> 20} MiB free, a stack needs 300 MiB")


def holder_of(port):
    """Who listens on a port, as far as this user may know."""
    try:
        done = subprocess.run(["ss", "-Hltnp", f"sport = :{port}"], capture_output=True, text=True, timeout=5)
    except (OSError, subprocess.SubprocessError):
        return "another process"
    _, found, rest = done.stdout.partition('users:((')
    return rest.split("))")[0] if found else "another process"


def port_is_free(port):
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def choose_ports(parts, fixed):
    names = [port for part in parts for port in part.ports]
    unknown = sorted(set(fixed) - set(names))
    if unknown:
        raise StackError(f"no part has a port called {unknown[0]}; there are: {', '.join(names)}")
    chosen = {}
    for name, port in fixed.items():
        if port in chosen.values():
            raise StackError(f"port {port} was asked for twice")
        if not port_is_free(port):
            raise PortTaken(f"port {port} for {name} is taken by {holder_of(port)}")
        chosen[name] = port
    generator = random.SystemRandom()
    for name in names:
        for _ in range(1000):
            if name in chosen:
                break
            port = generator.randint(FIRST_PORT, LAST_PORT)
            if port not in chosen.values() and port_is_free(port):
                chosen[name] = port
        else:
            if name not in chosen:
                raise PortTaken(f"no free port between {FIRST_PORT} and {LAST_PORT} for {name}")
    return chosen


def environment(ctx, facts):
    """The variables that a shell or a test needs to talk to this stack."""
    account = {}
    if (ctx.dir / "account.json").exists():
        account = json.loads((ctx.dir / "account.json").read_text())

    def through(name):
        """What drover uses goes through the fault proxy, if there is one."""
        return name if f"{name}-proxy" in facts["missing"] else f"{name}-proxy"

    values = {
        "KUBECONFIG": ctx.dir / "kubeconfig",
        "AWS_ENDPOINT_URL": ctx.url("aws"),
        "AWS_ENDPOINT_URL_DYNAMODB": ctx.url(through("dynamodb")),
        "AWS_REGION": facts["options"]["region"],
        "AWS_DEFAULT_REGION": facts["options"]["region"],
        "AWS_ACCESS_KEY_ID": "stack",
        "AWS_SECRET_ACCESS_KEY": "stack",
        "AWS_EC2_METADATA_DISABLED": "true",
        "PROMETHEUS_URL": ctx.url(through("prometheus")),
        "STATE_TABLE": account.get("state_table", ""),
        "LOGS_TABLE": account.get("logs_table", ""),
        "STACK_DIR": ctx.dir,
        "STACK_CACHE": ctx.cache,
        "STACK_PYTHON": ctx.python,
        "STACK_QUEUE_URL": account.get("queue_url", ""),
        "STACK_LAUNCH_TEMPLATE": account.get("launch_template", ""),
        "STACK_SUBNETS": ",".join(s["id"] for s in account.get("subnets", [])),
        "STACK_LAMBDA_RIE": ctx.program("lambda", "aws-lambda-rie"),
    }
    for port in ctx.ports:
        scheme = "https" if port in ("apiserver", "apiserver-proxy", "controller-manager", "scheduler") else "http"
        values[f"STACK_{port.upper().replace('-', '_')}_URL"] = ctx.url(port, scheme)
    return {name: str(value) for name, value in values.items()}


def write_outputs(ctx, facts):
    values = environment(ctx, facts)
    facts["env"] = values
    lines = [f"export {name}={shlex.quote(value)}" for name, value in values.items()]
    lines.append(f"export PATH={shlex.quote(str(ctx.cache / 'kubernetes'))}:\"$PATH\"")
    (ctx.dir / "env").write_text("\n".join(lines) + "\n")
    text = (STACK / "drover.yaml.in").read_text()
    for name, value in sorted(values.items(), key=lambda item: -len(item[0])):
        text = text.replace(f"@{name}@", value)
    (ctx.dir / "drover.yaml").write_text(text)
