"""Processes that outlive the program that starts them, known by pid and start time.

A pid alone may be another process by now; pid and start time together are one process for ever
(until the machine boots, which the boot id tells).
"""

import os
import pathlib
import signal
import subprocess
import time

# The child itself writes who it is before it becomes the program, so that there is no moment in
# which a part runs and no file says so.
LAUNCH = 'echo "$$ $(cut -d" " -f22 /proc/$$/stat)" >"$0.tmp" && mv "$0.tmp" "$0" && exec "$@"'


def boot_id():
    return pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def start_ticks(pid):
    """The start time of a process in clock ticks since boot; None if it is gone or a zombie."""
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] == "Z" else int(fields[19])


def rss_bytes(pid):
    try:
        pages = int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError, ValueError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def started_at(ticks):
    """Seconds since the epoch at which a process with this start time began."""
    with open("/proc/uptime") as uptime:
        up = float(uptime.read().split()[0])
    return time.time() - up + ticks / os.sysconf("SC_CLK_TCK")


class Process:
    """One part's process as its pid file describes it."""

    def __init__(self, name, path):
        self.name, self.path = name, pathlib.Path(path)
        self.child = None

    def spawn(self, argv, log, env=None, cwd=None):
        with open(log, "ab") as out:
            self.child = subprocess.Popen(["/bin/sh", "-c", LAUNCH, str(self.path), *map(str, argv)], stdout=out,
                                          stderr=out, stdin=subprocess.DEVNULL, env=env, cwd=cwd, start_new_session=True)

    def identity(self):
        try:
            pid, ticks = self.path.read_text().split()
            return int(pid), int(ticks)
        except (OSError, ValueError):
            return None

    def pid(self):
        """The pid if that very process still runs, else None."""
        if self.child is not None:
            self.child.poll()
        known = self.identity()
        return known[0] if known and start_ticks(known[0]) == known[1] else None

    def exit_code(self):
        return None if self.child is None else self.child.poll()

    def end(self, signal_number):
        pid = self.pid()
        if pid is not None:
            try:
                os.kill(pid, signal_number)
            except ProcessLookupError:
                pass
        return pid


def stop_all(processes, patience_sec=8.0):
    """Ends processes in the given order: asks all of them, waits, then insists. Returns those insisted on."""
    insisted = []
    for process in processes:
        if process.child is not None and process.identity() is None:
            wait_for_identity(process)
        process.end(signal.SIGTERM)
    deadline = time.monotonic() + patience_sec
    for process in processes:
        while process.pid() is not None and time.monotonic() < deadline:
            time.sleep(0.02)
        if process.end(signal.SIGKILL) is not None:
            insisted.append(process)
    for process in insisted:
        while process.pid() is not None:
            time.sleep(0.02)
    for process in processes:
        end_group(process)
        process.path.unlink(missing_ok=True)
    return insisted


def wait_for_identity(process):
    """The moment between fork and the pid file is short but it exists."""
    deadline = time.monotonic() + 2
    while process.identity() is None and process.child.poll() is None and time.monotonic() < deadline:
        time.sleep(0.005)
    if process.identity() is None and process.child.poll() is None:
        process.child.kill()
        process.child.wait()


def end_group(process):
    """A part leads a session of its own; whatever it started there goes with it."""
    known = process.identity()
    if known is None:
        return
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        # A session id is not given to a new process while a member of it lives.
        if int(fields[3]) == known[0] and int(fields[19]) >= known[1] and int(entry.name) != known[0]:
            try:
                os.kill(int(entry.name), signal.SIGKILL)
            except ProcessLookupError:
                pass
