"""The product's binary as a process: one command to its end, or the daemon with start, signals and kill -9."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

MEASURE = """
import os, sys, time
null = os.open(os.devnull, os.O_RDWR)
begun = time.monotonic()
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, null, fd) for fd in range(3)])
_, status, usage = os.wait4(pid, 0)
print(os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime, usage.ru_maxrss, time.monotonic() - begun)
"""
DONE, FAILED, USAGE, REFUSED = 0, 1, 2, 3


class Result:
    """A finished command."""

    def __init__(self, arguments, code, out, err, seconds):
        self.arguments, self.code, self.out, self.err, self.seconds = arguments, code, out, err, seconds

    @property
    def json(self):
        try:
            return json.loads(self.out)
        except ValueError:
            raise AssertionError(f"not one JSON document: {self}") from None

    def __str__(self):
        return f"drover {' '.join(self.arguments)}: exit {self.code} after {self.seconds:.1f} s\n{self.out[-3000:]}\n{self.err[-3000:]}"


class Daemon:
    """`drover run`. Its log is kept in a file and read as JSON lines."""

    def __init__(self, command, environment, log):
        self.log = pathlib.Path(log)
        self.begun = time.monotonic()
        with open(self.log, "ab") as out:
            self.process = subprocess.Popen(command, stdout=out, stderr=out, stdin=subprocess.DEVNULL, env=environment)

    @property
    def pid(self):
        return self.process.pid

    def alive(self):
        return self.process.poll() is None

    def lines(self):
        return self.log.read_text(errors="replace").splitlines()

    def records(self):
        found = []
        for line in self.lines():
            try:
                found.append(json.loads(line))
            except ValueError:
                found.append({"msg": line})
        return found

    def signal(self, number):
        if self.alive():
            os.kill(self.pid, number)

    def kill(self):
        """kill -9: no chance to say anything."""
        self.signal(signal.SIGKILL)
        return self.process.wait(10)

    def stop(self, timeout=30):
        """SIGTERM; returns the exit code."""
        self.signal(signal.SIGTERM)
        try:
            return self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"drover run did not end within {timeout} s of SIGTERM: {self.tail()}") from None

    def freeze(self):
        self.signal(signal.SIGSTOP)

    def thaw(self):
        self.signal(signal.SIGCONT)

    def tail(self, count=30):
        return "\n".join(self.lines()[-count:])


class Program:
    """Runs the binary with one configuration and one environment; knows what runs, so that a gate may kill it."""

    def __init__(self, binary, directory, configuration, environment):
        self.binary, self.dir, self.environment = str(binary), pathlib.Path(directory), environment
        self.file = self.dir / "drover.yaml"
        # JSON is YAML.
        self.file.write_text(json.dumps(configuration, indent=1))
        self.lock, self.running, self.daemons = threading.Lock(), [], []

    def command(self, *arguments, configuration=True):
        return [self.binary, *arguments, *(["-c", str(self.file)] if configuration else [])]

    def __call__(self, *arguments, timeout=90, configuration=True, environment=None):
        begun = time.monotonic()
        values = {**self.environment, **(environment or {})}
        process = subprocess.Popen(self.command(*arguments, configuration=configuration), stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, env=values)
        with self.lock:
            self.running.append(process)
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            raise AssertionError(f"drover {' '.join(arguments)} did not end within {timeout} s\n{out[-2000:]}\n{err[-2000:]}") from None
        finally:
            with self.lock:
                self.running.remove(process)
        result = Result(arguments, process.returncode, out, err, time.monotonic() - begun)
        with open(self.dir / "commands.log", "a") as log:
            log.write(f"{time.strftime('%H:%M:%S')} {result}\n")
        return result

    def tick(self, **options):
        """One pass. Whatever comes of it, unless it is killed it tells a plan."""
        result = self("tick", "-o", "json", **options)
        if result.code == DONE:
            assert "plan" in result.json, result
        return result

    def measured(self, *arguments):
        """Runs a command and returns (exit code, seconds of processor time, peak memory in bytes, seconds)."""
        # A small process starts it: after exec the kernel still counts the memory of the one that it was forked from.
        done = subprocess.run([sys.executable, "-IS", "-c", MEASURE, *self.command(*arguments)], capture_output=True, text=True,
                              env=self.environment, timeout=90)
        code, cpu, memory, seconds = done.stdout.split()
        return int(code), float(cpu), int(memory) * 1024, float(seconds)

    def kill_running(self):
        """kill -9 of every command that runs now; for gates."""
        with self.lock:
            for process in self.running:
                process.kill()

    def run(self, name="daemon", environment=None):
        daemon = Daemon(self.command("run"), {**self.environment, **(environment or {})}, self.dir / f"{name}.log")
        self.daemons.append(daemon)
        return daemon

    def end_all(self):
        for daemon in self.daemons:
            if daemon.alive():
                daemon.signal(signal.SIGCONT)
                daemon.kill()
        self.kill_running()
