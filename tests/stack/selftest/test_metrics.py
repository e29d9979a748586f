"""Load set at the exporter, read back by PromQL from the real Prometheus."""

import json
import subprocess
import urllib.parse

from client.kube import is_unschedulable, wait_for
from on_stack import StackTest

CPU = '1 - avg(rate(node_cpu_seconds_total{mode="idle"}[10s]))'
MEMORY = "1 - sum(node_memory_MemAvailable_bytes) / sum(node_memory_MemTotal_bytes)"


class Utilisation(StackTest):
    needs = ("prometheus", "exporter", "kube-state-metrics")

    def value(self, promql):
        found = self.stack.query(promql)
        return found[0][1] if len(found) == 1 else None

    def reads(self, promql, want, timeout=30, tolerance=0.01):
        """Waits until a query gives the wanted number, to 1 % of it."""
        def look():
            seen = self.value(promql)
            return seen is not None and abs(seen - want) <= tolerance * want, seen
        wait_for(look, f"{promql} to be {want}", timeout, every=0.2)

    def test_cpu_and_memory_are_what_was_set_to_one_percent(self):
        self.stack.load("a", cpu=0.9, memory=0.6, cpus=2)
        self.stack.load("b", cpu=0.1, memory=0.2, cpus=2)
        wait_for(lambda: len(self.stack.query('count_over_time(node_cpu_seconds_total{mode="idle"}[10s]) >= 9')) == 4,
                 "ten seconds of samples", 30)
        self.reads(CPU, 0.5, timeout=3)
        self.reads(MEMORY, 0.4, timeout=3)
        self.reads('1 - avg(rate(node_cpu_seconds_total{mode="idle",instance="a"}[10s]))', 0.9, timeout=3)

    def test_curl_gets_the_same_answer_through_the_fault_proxy(self):
        if "prometheus-proxy" in self.stack.missing:
            self.skipTest(f"prometheus-proxy: {self.stack.missing['prometheus-proxy']}")
        self.stack.load("a", cpu=0.7, memory=0.25)
        self.reads(MEMORY, 0.25)
        url = self.stack.env["PROMETHEUS_URL"] + "/api/v1/query?" + urllib.parse.urlencode({"query": MEMORY})
        done = subprocess.run(["curl", "-sS", "--fail", url], capture_output=True, text=True, check=True)
        self.assertAlmostEqual(float(json.loads(done.stdout)["data"]["result"][0]["value"][1]), 0.25, places=3)

    def test_changed_load_shows_and_an_ended_node_goes_stale(self):
        self.stack.load("a", cpu=0.2, memory=0.2)
        self.reads(MEMORY, 0.2)
        self.stack.load("a", memory=0.8)
        self.reads(MEMORY, 0.8)
        self.stack.exporter("DELETE", "/nodes?node=a")
        wait_for(lambda: (not self.stack.query("node_memory_MemTotal_bytes"), self.stack.query("node_memory_MemTotal_bytes")),
                 "the series to end", 15)

    def test_custom_series_is_scraped(self):
        self.stack.exporter.post("/series", {"name": "queue_depth", "type": "gauge", "value": 42})
        self.reads("queue_depth", 42)

    def test_reset_forgets_the_load_of_the_test_before(self):
        self.stack.load("a", cpu=0.5, memory=0.5)
        self.reads(MEMORY, 0.5)
        self.stack.reset()
        self.stack.load("a", cpu=0.5, memory=0.1)
        # Long before the window has passed: what was there before is gone, not only old.
        self.reads(f"max_over_time(({MEMORY})[60s:1s])", 0.1, timeout=10)

    def test_kube_state_metrics_tells_pending_pods_and_nodes(self):
        self.join(2)
        self.work.deployment("huge", 3, cpu="64")
        wait_for(lambda: sum(map(is_unschedulable, self.kube.pods("default"))) == 3, "three pending pods", 20)
        self.reads('sum(kube_pod_status_phase{phase="Pending"})', 3)
        self.reads("count(kube_node_info)", 2)
