"""The log of every call, and the list of answers that moto itself got wrong."""

import collections
import json
import os
import threading
import time

MAX_KEPT = 20000
MAX_FILE_BYTES = 64 * 1024 * 1024


class CallLog:
    """Calls in the order of their arrival, numbered from 1; also one JSON line each in calls.jsonl."""

    def __init__(self, directory):
        self.lock = threading.Lock()
        self.entries = collections.deque(maxlen=MAX_KEPT)
        self.number = 0
        self.path = os.path.join(directory, "calls.jsonl")
        self.file = open(self.path, "a", encoding="utf-8")

    def begin(self, call):
        with self.lock:
            self.number += 1
            entry = {
                "n": self.number,
                "time": time.time(),
                "service": call.service,
                "region": call.region,
                "action": call.action,
                "params": call.params,
                "caller": call.caller,
                "agent": call.request.headers.get("user-agent"),
                "status": None,
                "error": None,
                "fault": None,
                "reply": "open",
            }
            self.entries.append(entry)
        return entry

    def end(self, entry, **outcome):
        """`outcome`: status, error, fault, and reply: sent, cut, lost, corrupt, truncated."""
        entry.update(outcome)
        entry["ms"] = round((time.time() - entry["time"]) * 1000, 1)
        with self.lock:
            self.file.write(json.dumps(entry, default=str) + "\n")
            self.file.flush()
            if self.file.tell() > MAX_FILE_BYTES:
                self._turn_over()

    def _turn_over(self):
        """One older file is kept."""
        self.file.close()
        os.replace(self.path, self.path + ".1")
        self.file = open(self.path, "a", encoding="utf-8")

    def select(self, service=None, action=None, since=0, error=None):
        with self.lock:
            kept = list(self.entries)
        return [
            e
            for e in kept
            if e["n"] > since
            and (service is None or e["service"] == service)
            and (action is None or e["action"] == action)
            and (error is None or e["error"] == error)
        ]

    def clear(self):
        with self.lock:
            count = len(self.entries)
            self.entries.clear()
        return count


class Failures:
    """Crashes and HTML answers of moto: either our client sent nonsense or moto cannot do it; a test must fail on both."""

    def __init__(self, directory):
        self.lock = threading.Lock()
        self.entries = []
        self.path = os.path.join(directory, "failures.log")

    def add(self, call, what, detail):
        entry = {"time": time.time(), "service": call.service, "action": call.action, "params": call.params, "what": what, "detail": detail}
        with self.lock:
            if len(self.entries) < 1000:
                self.entries.append(entry)
            with open(self.path, "a", encoding="utf-8") as out:
                out.write(json.dumps(entry, default=str) + "\n")

    def as_list(self):
        with self.lock:
            return list(self.entries)

    def clear(self):
        with self.lock:
            count = len(self.entries)
            self.entries.clear()
        return count
