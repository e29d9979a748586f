#!/usr/bin/env python3
"""Load as an input of a test: one exporter that speaks for all nodes, scraped by the real Prometheus.

    GET    /metrics                  node-exporter's names, the node in the label `instance`; scrape with honor_labels
    POST   /nodes                    {"node": "n1", "cpu": 0.7, "memory": 0.4, "cpus": 2, "memory_bytes": N, "labels": {}, "silent": false}
    DELETE /nodes?node=n1            its series end, as when the machine is gone; without a name: all
    POST   /series                   {"name": "queue_depth", "type": "gauge", "labels": {}, "value": 12}
                                     {"name": "http_requests_total", "type": "counter", "labels": {"code": "500"}, "rate": 3}
                                     {"name": "request_seconds", "type": "histogram", "rate": 50, "buckets": [0.1, 1], "shares": [0.9, 0.09, 0.01]}
    DELETE /series?name=queue_depth  without a name: all
    GET    /state                    what is set
    POST   /reset                    nothing is exported
    GET    /ready

Shares are 0..1. Wherever a number stands (cpu, memory, value, rate) a curve may:
    {"curve": {"file": "trace.csv" | "csv": "time,value\\n...", "speed": 60, "loop": true, "peak": 0.9 | "scale": 0.01, "start_s": 0}}
The file has two columns: time (Unix seconds or YYYY-MM-DD HH:MM:SS) and value. A node in `POST /nodes` may be "*": all that are known.
Posting a known node or series changes only what is named; counters go on from where they are.
"""

import argparse
import json
import os
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [p for p in sys.path if os.path.abspath(p or ".") != HERE]
sys.path.insert(0, os.path.dirname(HERE))

from aws import checked, httpd  # noqa: E402
from load import series, signals  # noqa: E402

MAX_NODES, MAX_SERIES = 5000, 20000


class Exporter:
    def __init__(self):
        self.lock = threading.Lock()
        self.nodes, self.series = {}, {}
        self.routes = {
            ("GET", "ready"): lambda _: {"ready": True},
            ("GET", "state"): self.state,
            ("POST", "nodes"): self.set_node,
            ("DELETE", "nodes"): self.drop_node,
            ("POST", "series"): self.set_series,
            ("DELETE", "series"): self.drop_series,
            ("POST", "reset"): self.reset,
        }

    def serve(self, request):
        name = request.path.strip("/")
        if (request.method, name) == ("GET", "metrics"):
            return httpd.Reply(200, self.metrics().encode(), [("Content-Type", "text/plain; version=0.0.4; charset=utf-8")])
        route = self.routes.get((request.method, name))
        try:
            if route is None:
                known = ", ".join(sorted({f"{m} /{n}" for m, n in self.routes}))
                raise checked.Refused(f"no {request.method} /{name}; known: GET /metrics, {known}", 404)
            with self.lock:
                value = route(request)
            return httpd.Reply(200, (json.dumps(value) + "\n").encode())
        except checked.Refused as exc:
            return httpd.Reply(exc.status, (json.dumps({"error": str(exc)}) + "\n").encode())

    def set_node(self, request):
        now = time.time()
        fields = checked.Fields(checked.parse_object(request.body))
        name = fields.string("node", required=True, longest=253)
        targets = list(self.nodes.values()) if name == "*" else [self.nodes.get(name) or series.Node(name, now)]
        if len(self.nodes) >= MAX_NODES and name not in self.nodes and name != "*":
            raise checked.Refused(f"node: more than {MAX_NODES} nodes")
        for node in targets:
            node.update(fields, now)
            self.nodes[node.name] = node
        return {"nodes": [node.name for node in targets]}

    def drop_node(self, request):
        return {"removed": drop(self.nodes, request.argument("node"), "node")}

    def set_series(self, request):
        now = time.time()
        fields = checked.Fields(checked.parse_object(request.body))
        name = fields.string("name", required=True, longest=200)
        if not series.NAME.match(name):
            raise checked.Refused(f"name: '{name}' is not a metric name")
        kind = fields.string("type", required=True, choices=("gauge", "counter", "histogram"))
        labels = series.check_labels(fields.strings("labels", {}), "labels")
        family = self.series.get(name, {})
        known = next(iter(family.values()), (None, None))[1]
        if known is not None and known.kind != kind:
            raise checked.Refused(f"type: {name} is a {known.kind} already")
        key = tuple(sorted(labels.items()))
        before = family.get(key, (None, None))[1]
        made = READERS[kind](fields, before, now)
        if before is None and sum(map(len, self.series.values())) >= MAX_SERIES:
            raise checked.Refused(f"name: more than {MAX_SERIES} series")
        self.series.setdefault(name, {})[key] = (labels, made)
        return {"series": name + series.labels_text(labels)}

    def drop_series(self, request):
        return {"removed": drop(self.series, request.argument("name"), "name")}

    def reset(self, request):
        checked.Fields(checked.parse_object(request.body)).done()
        self.nodes.clear()
        self.series.clear()
        return {"reset": True}

    def state(self, _request):
        now = time.time()
        shown = [{"name": n, "labels": labels, **s.shown()} for n, family in self.series.items() for labels, s in family.values()]
        return {"nodes": {name: node.shown(now) for name, node in self.nodes.items()}, "series": shown}

    def metrics(self):
        """The text format: all samples of one name together, under its type."""
        families = {}
        with self.lock:
            now = time.time()
            samples = [s for node in self.nodes.values() if not node.silent for s in node.samples(now)]
            for name, family in self.series.items():
                samples += [s for labels, made in family.values() for s in made.samples(name, labels, now)]
        for name, kind, labels, value in samples:
            base = name.rsplit("_", 1)[0] if kind == "histogram" else name
            families.setdefault(base, (kind, []))[1].append(f"{name}{series.labels_text(labels)} {value!r}")
        lines = [line for base, (kind, rows) in families.items() for line in [f"# TYPE {base} {kind}", *rows]]
        return "\n".join(lines) + "\n"


def drop(table, name, key):
    if name is None:
        count = len(table)
        table.clear()
        return count
    if name not in table:
        raise checked.Refused(f"{key}: no '{name}'", 404)
    del table[name]
    return 1


def read_gauge(fields, _before, _now):
    value = signals.read_signal(fields, "value", low=-1e15, high=1e15, required=True)
    fields.done()
    return series.Gauge(value)


def read_counter(fields, before, now):
    rate = signals.read_signal(fields, "rate", required=True)
    fields.done()
    if before is None:
        return series.Counter(rate, now)
    before.total.change(rate, now)
    return before


def read_histogram(fields, before, now):
    rate = signals.read_signal(fields, "rate", required=True)
    bounds = [checked.check_number(b, "buckets", 1e-9, 1e9) for b in fields.array("buckets", required=True, longest=100)]
    shares = [checked.check_number(s, "shares", 0, 1) for s in fields.array("shares", required=True, longest=101)]
    fields.done()
    if not bounds or bounds != sorted(set(bounds)):
        raise checked.Refused("buckets: must grow")
    if len(shares) != len(bounds) + 1 or abs(sum(shares) - 1) > 1e-6:
        raise checked.Refused(f"shares: must be {len(bounds) + 1} numbers that add up to 1")
    if before is None:
        return series.Histogram(rate, bounds, shares, now)
    if before.bounds != bounds:
        raise checked.Refused("buckets: cannot change while the series lives")
    before.change(rate, shares, now)
    return before


READERS = {"gauge": read_gauge, "counter": read_counter, "histogram": read_histogram}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, required=True, help="0 takes a free one and prints it")
    args = parser.parse_args()
    try:
        server = httpd.Server(args.port, Exporter().serve)
    except OSError as exc:
        sys.exit(f"exporter: cannot listen on 127.0.0.1:{args.port}: {exc.strerror}")
    print(f"exporter: listening on http://127.0.0.1:{server.server_port}", flush=True)
    try:
        server.serve_forever(poll_interval=0.2)
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
