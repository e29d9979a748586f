"""What is exported: nodes in node-exporter's names, and series of one's own."""

import re

from aws import checked
from load import signals

MODES = {"user": 0.75, "system": 0.20, "softirq": 0.05, "iowait": 0.0, "irq": 0.0, "nice": 0.0, "steal": 0.0}
NAME = re.compile(r"^[a-zA-Z_:][a-zA-Z0-9_:]*$")
LABEL = re.compile(r"^[a-zA-Z_][a-zA-Z0-9_]*$")


def labels_text(labels):
    if not labels:
        return ""
    escaped = (f'{k}="{v}"' for k, v in ((k, v.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")) for k, v in labels.items()))
    return "{" + ",".join(escaped) + "}"


def check_labels(labels, name):
    for key in labels:
        if not LABEL.match(key):
            raise checked.Refused(f"{name}: '{key}' is not a label name")
    return labels


class Total:
    """A counter: the integral of a rate that may change. Exact at every change, however seldom it is read."""

    def __init__(self, rate, now):
        self.rate, self.at, self.total = rate, now, 0.0

    def change(self, rate, now):
        self.read(now)
        self.rate = rate

    def read(self, now):
        if now > self.at:
            self.total += self.rate.integral(self.at, now)
            self.at = now
        return self.total


class Node:
    """One machine: `cpu` and `memory` are the used shares, 0..1."""

    def __init__(self, name, now):
        self.name, self.born = name, now
        self.cpus, self.memory_bytes = 2, 8 * 1024**3
        self.labels, self.silent = {}, False
        self.memory = signals.Constant(0.0)
        self.busy = Total(signals.Constant(0.0), now)

    def update(self, fields, now):
        cpu = signals.read_signal(fields, "cpu", high=1.0)
        memory = signals.read_signal(fields, "memory", high=1.0)
        cpus = fields.number("cpus", self.cpus, low=1, high=1024, whole=True)
        memory_bytes = fields.number("memory_bytes", self.memory_bytes, low=1, whole=True)
        labels = check_labels(fields.strings("labels", self.labels), fields.name("labels"))
        silent = fields.boolean("silent", self.silent)
        fields.done()
        if cpu is not None:
            self.busy.change(cpu, now)
        self.memory = memory or self.memory
        self.cpus, self.memory_bytes, self.labels, self.silent = cpus, memory_bytes, labels, silent

    def samples(self, now):
        """(family, type, labels, value) of this node."""
        base = {"instance": self.name, **self.labels}
        busy, age = self.busy.read(now), now - self.born
        for cpu in range(self.cpus):
            yield "node_cpu_seconds_total", "counter", {**base, "cpu": str(cpu), "mode": "idle"}, age - busy
            for mode, share in MODES.items():
                yield "node_cpu_seconds_total", "counter", {**base, "cpu": str(cpu), "mode": mode}, busy * share
        free = self.memory_bytes * (1.0 - self.memory.value(now))
        yield "node_memory_MemTotal_bytes", "gauge", base, self.memory_bytes
        yield "node_memory_MemAvailable_bytes", "gauge", base, free
        yield "node_memory_MemFree_bytes", "gauge", base, free * 0.4
        yield "node_memory_Cached_bytes", "gauge", base, free * 0.5
        yield "node_memory_Buffers_bytes", "gauge", base, free * 0.1
        load = self.busy.rate.value(now) * self.cpus
        for family in ("node_load1", "node_load5", "node_load15"):
            yield family, "gauge", base, load
        yield "node_boot_time_seconds", "gauge", base, self.born
        yield "node_time_seconds", "gauge", base, now
        yield "node_uname_info", "gauge", {**base, "nodename": self.name, "sysname": "Linux"}, 1

    def shown(self, now):
        return {
            "cpu": self.busy.rate.shown(), "memory": self.memory.shown(), "cpus": self.cpus, "memory_bytes": self.memory_bytes,
            "labels": self.labels, "silent": self.silent, "cpu_now": self.busy.rate.value(now), "memory_now": self.memory.value(now),
        }


class Gauge:
    kind = "gauge"

    def __init__(self, signal):
        self.signal = signal

    def samples(self, name, labels, now):
        yield name, "gauge", labels, self.signal.value(now)

    def shown(self):
        return {"type": "gauge", "value": self.signal.shown()}


class Counter:
    kind = "counter"

    def __init__(self, rate, now):
        self.total = Total(rate, now)

    def samples(self, name, labels, now):
        yield name, "counter", labels, self.total.read(now)

    def shown(self):
        return {"type": "counter", "rate": self.total.rate.shown()}


class Histogram:
    """Requests at a rate; `shares` of them end in each bucket, the last share is beyond all bounds."""

    kind = "histogram"

    def __init__(self, rate, bounds, shares, now):
        self.total, self.bounds, self.shares, self.counts = Total(rate, now), bounds, shares, [0.0] * len(shares)
        self.sum, self.seen = 0.0, 0.0

    def settle(self, now):
        fresh = self.total.read(now) - self.seen
        self.seen += fresh
        edges = [0.0, *self.bounds]
        for i, share in enumerate(self.shares):
            self.counts[i] += fresh * share
            middle = (edges[i] + edges[i + 1]) / 2 if i + 1 < len(edges) else edges[-1]
            self.sum += fresh * share * middle

    def change(self, rate, shares, now):
        self.settle(now)
        self.total.change(rate, now)
        self.shares = shares

    def samples(self, name, labels, now):
        self.settle(now)
        below = 0.0
        for bound, count in zip([*map(repr, self.bounds), "+Inf"], self.counts):
            below += count
            yield f"{name}_bucket", "histogram", {**labels, "le": bound}, below
        yield f"{name}_sum", "histogram", labels, self.sum
        yield f"{name}_count", "histogram", labels, below

    def shown(self):
        return {"type": "histogram", "rate": self.total.rate.shown(), "buckets": self.bounds, "shares": self.shares}
