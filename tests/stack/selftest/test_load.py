"""The exporter: what is set comes out of the real Prometheus, to one per cent."""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.parse

from emulated import STACK, Part, ask, wait_until

sys.path[:0] = [p for p in (STACK, os.path.join(STACK, "lib")) if p not in sys.path]
from aws import checked  # noqa: E402
from load import signals  # noqa: E402


def find_prometheus():
    from pins import cache_dir

    kept = cache_dir() / "prometheus" / "prometheus"
    return str(kept) if kept.exists() else shutil.which("prometheus")


class ExporterTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.part = Part("load/exporter.py", "--port", "0")
        cls.addClassCleanup(cls.part.stop)

    def post(self, name, body, expect=200):
        status, value = ask("POST", f"{self.part.url}/{name}", body)
        self.assertEqual(status, expect, value)
        return value

    def metrics(self):
        """{sample with labels: value}"""
        status, text = ask("GET", self.part.url + "/metrics")
        self.assertEqual(status, 200)
        lines = [line for line in text.splitlines() if line and not line.startswith("#")]
        return {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in lines}


class Exporting(ExporterTest):
    def setUp(self):
        self.post("reset", {})

    def test_counters_grow_by_what_was_set_and_never_fall(self):
        self.post("nodes", {"node": "n1", "cpu": 0.5, "cpus": 1})
        first = self.metrics()
        time.sleep(0.5)
        self.post("nodes", {"node": "n1", "cpu": 0.0})
        second = self.metrics()
        time.sleep(0.3)
        third = self.metrics()
        idle, user = 'node_cpu_seconds_total{instance="n1",cpu="0",mode="idle"}', 'node_cpu_seconds_total{instance="n1",cpu="0",mode="user"}'
        self.assertGreaterEqual(second[user] - first[user], 0.5 * 0.5 * 0.75 * 0.99)
        self.assertAlmostEqual(third[user], second[user], delta=0.02)
        self.assertGreaterEqual(third[idle] - second[idle], 0.3)
        for name in (n for n in first if n.startswith("node_cpu")):
            self.assertLessEqual(first[name], second[name])
            self.assertLessEqual(second[name], third[name])

    def test_all_modes_of_a_cpu_add_up_to_the_time(self):
        self.post("nodes", {"node": "n1", "cpu": 0.37, "cpus": 2})
        time.sleep(0.3)
        now = self.metrics()
        age = now['node_time_seconds{instance="n1"}'] - now['node_boot_time_seconds{instance="n1"}']
        for cpu in "01":
            total = sum(v for k, v in now.items() if k.startswith("node_cpu") and f'cpu="{cpu}"' in k)
            self.assertAlmostEqual(total, age, delta=1e-3)

    def test_silent_and_removed_nodes_have_no_series(self):
        self.post("nodes", {"node": "n1", "cpu": 0.5})
        self.post("nodes", {"node": "n2", "cpu": 0.5})
        self.post("nodes", {"node": "n2", "silent": True})
        self.assertFalse([k for k in self.metrics() if '"n2"' in k])
        self.assertEqual(ask("DELETE", self.part.url + "/nodes?node=n1")[0], 200)
        self.assertEqual(self.metrics(), {})
        self.assertEqual(ask("DELETE", self.part.url + "/nodes?node=n1")[0], 404)

    def test_star_sets_all_nodes(self):
        for name in ("n1", "n2"):
            self.post("nodes", {"node": name, "cpus": 3})
        self.post("nodes", {"node": "*", "memory": 0.25})
        state = ask("GET", self.part.url + "/state")[1]["nodes"]
        self.assertEqual({n: (s["memory"], s["cpus"]) for n, s in state.items()}, {"n1": (0.25, 3), "n2": (0.25, 3)})

    def test_histogram_is_cumulative(self):
        self.post("series", {"name": "lat", "type": "histogram", "rate": 1000, "buckets": [0.1, 1], "shares": [0.5, 0.3, 0.2]})
        time.sleep(0.2)
        now = self.metrics()
        self.assertAlmostEqual(now['lat_bucket{le="0.1"}'] / now["lat_count"], 0.5, delta=1e-6)
        self.assertAlmostEqual(now['lat_bucket{le="1.0"}'] / now["lat_count"], 0.8, delta=1e-6)
        self.assertEqual(now['lat_bucket{le="+Inf"}'], now["lat_count"])
        self.assertGreater(now["lat_sum"], 0)

    def test_labels_are_escaped(self):
        self.post("series", {"name": "q", "type": "gauge", "value": 1, "labels": {"a": 'x"y\\z\n'}})
        self.assertIn('q{a="x\\"y\\\\z\\n"} 1.0', ask("GET", self.part.url + "/metrics")[1])

    def test_bad_requests_are_refused(self):
        for name, body, message in (
            ("nodes", {"cpu": 0.5}, "node: is required"),
            ("nodes", {"node": "n", "cpu": 50}, "cpu: 50 is outside 0..1"),
            ("nodes", {"node": "n", "cpuu": 0.5}, "cpuu: unknown key"),
            ("nodes", {"node": "n", "cpu": {"curve": {}}}, "give either file or csv"),
            ("nodes", {"node": "n", "cpu": {"curve": {"csv": "t,v\n1,2\nx,3\n"}}}, "line 3: 'x' is neither"),
            ("nodes", {"node": "n", "cpu": {"curve": {"file": "/nonexistent"}}}, "cannot read"),
            ("nodes", {"node": "n", "cpu": {"curve": {"csv": "1,2", "peak": 1, "scale": 1}}}, "exclude each other"),
            ("series", {"name": "1x", "type": "gauge", "value": 1}, "not a metric name"),
            ("series", {"name": "x", "type": "gauge"}, "value: is required"),
            ("series", {"name": "x", "type": "gauge", "value": 1, "rate": 1}, "rate: unknown key"),
            ("series", {"name": "x", "type": "histogram", "rate": 1, "buckets": [1, 1], "shares": [1, 0, 0]}, "buckets: must grow"),
            ("series", {"name": "x", "type": "histogram", "rate": 1, "buckets": [1], "shares": [1, 1]}, "add up to 1"),
        ):
            with self.subTest(body=body):
                self.assertIn(message, self.post(name, body, expect=400)["error"])
        self.assertEqual(self.metrics(), {}, "a refused node must not appear")
        self.post("nothing", {}, expect=404)


class Curves(unittest.TestCase):
    def test_both_time_formats_give_the_same_curve(self):
        unix = signals.parse_csv("ts,value\n1397088240,94.0\n1397088540,0\n1397089140,187.5")
        dates = signals.parse_csv("timestamp,value\n2014-04-10 00:04:00,94.0\n2014-04-10 00:09:00,0\n2014-04-10 00:19:00,187.5\n")
        self.assertEqual(unix, dates)
        self.assertEqual(len(unix), 3)

    def test_value_holds_over_gaps_and_the_integral_agrees(self):
        curve = signals.Curve([(0, 0.0), (10, 1.0), (100, 0.5), (110, 0.0)], 1000.0, 1.0, False, 0.0, 1.0)
        self.assertEqual([curve.value(1000 + t) for t in (0, 9.9, 10, 99, 100, 109, 500)], [0, 0, 1, 1, 0.5, 0.5, 0])
        self.assertAlmostEqual(curve.integral(1000, 1120), 90 + 5)
        self.assertAlmostEqual(curve.integral(1005, 1055), 45)
        steps = [(1000 + t / 10, 1000 + (t + 1) / 10) for t in range(0, 3000)]
        self.assertAlmostEqual(sum(curve.integral(a, b) for a, b in steps), curve.integral(1000, 1300), places=6)

    def test_loop_and_speed(self):
        curve = signals.Curve([(0, 0.0), (60, 1.0)], 0.0, 60.0, True, 0.0, 1.0)
        self.assertEqual([curve.value(t) for t in (0.5, 1.5, 2.5, 3.5)], [0, 1, 0, 1])
        self.assertAlmostEqual(curve.integral(0, 10), 5)

    def test_unsorted_and_repeated_times(self):
        self.assertEqual(signals.parse_csv("3,1\n1,5\n3,2\n"), [(1.0, 5.0), (3.0, 2.0)])

    def test_bad_files_name_the_line(self):
        for text, message in (("", "no points"), ("time,value\n", "no points"), ("1,2\n3\n", "line 2: needs two"), ("1,2\n3,nan\n", "line 2: value nan")):
            with self.assertRaisesRegex(checked.Refused, message):
                signals.parse_csv(text)


class ThroughPrometheus(ExporterTest):
    """One Prometheus for all questions; it needs some seconds of samples."""

    @classmethod
    def setUpClass(cls):
        program = find_prometheus()
        if program is None:
            raise unittest.SkipTest("prometheus: not in the cache and not installed")
        super().setUpClass()
        directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(directory.cleanup)
        config = os.path.join(directory.name, "prometheus.yml")
        with open(config, "w", encoding="utf-8") as out:
            out.write(
                "global: {scrape_interval: 1s, scrape_timeout: 1s}\n"
                "scrape_configs:\n- job_name: node\n  honor_labels: true\n"
                f"  static_configs: [{{targets: ['127.0.0.1:{cls.part.ports[0]}']}}]\n"
            )
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        cls.url = f"http://127.0.0.1:{port}"
        command = [program, f"--config.file={config}", f"--storage.tsdb.path={directory.name}/data", f"--web.listen-address=127.0.0.1:{port}"]
        cls.log = open(os.path.join(directory.name, "log"), "wb")
        cls.addClassCleanup(cls.log.close)
        process = subprocess.Popen(command, stdout=cls.log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        cls.addClassCleanup(cls.end, process)

    @staticmethod
    def end(process):
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(10)

    def query(self, promql):
        try:
            status, value = ask("GET", f"{self.url}/api/v1/query?query={urllib.parse.quote(promql)}")
        except OSError:
            return None
        return value["data"]["result"] if status == 200 else None

    def number(self, promql):
        rows = self.query(promql)
        self.assertEqual(len(rows), 1, f"{promql}: {rows}")
        return float(rows[0]["value"][1])

    def test_what_is_set_comes_out_to_one_per_cent(self):
        csv = "time,value\n" + "\n".join(f"{t},{40 if t % 2 else 80}" for t in range(0, 600))
        self.post("nodes", {"node": "ip-10-0-1-5", "cpu": 0.73, "memory": 0.61, "cpus": 4, "labels": {"zone": "a"}})
        self.post("nodes", {"node": "ip-10-0-2-5", "cpu": 0.11, "memory": 0.30, "cpus": 2})
        self.post("nodes", {"node": "curved", "cpu": {"curve": {"csv": csv, "scale": 0.01, "speed": 4}}})
        self.post("series", {"name": "queue_depth", "type": "gauge", "value": 17})
        self.post("series", {"name": "http_requests_total", "type": "counter", "rate": 90, "labels": {"code": "200"}})
        self.post("series", {"name": "http_requests_total", "type": "counter", "rate": 10, "labels": {"code": "500"}})
        self.post("series", {"name": "latency_seconds", "type": "histogram", "rate": 40, "buckets": [0.1, 0.5, 2], "shares": [0.8, 0.15, 0.05, 0]})
        wait_until("twelve seconds of samples", lambda: self.query('count_over_time(queue_depth[1m]) >= 13'), 60, 0.5)
        used = '100 * (1 - avg by (instance) (rate(node_cpu_seconds_total{{mode="idle",instance="{}"}}[10s])))'
        memory = '100 * (1 - node_memory_MemAvailable_bytes{{instance="{0}"}} / node_memory_MemTotal_bytes{{instance="{0}"}})'
        for promql, wanted in (
            (used.format("ip-10-0-1-5"), 73), (used.format("ip-10-0-2-5"), 11), (used.format("curved"), 60),
            (memory.format("ip-10-0-1-5"), 61), (memory.format("ip-10-0-2-5"), 30),
        ):
            self.assertAlmostEqual(self.number(promql), wanted, delta=1.0, msg=promql)
        whole = '100 * (1 - sum(rate(node_cpu_seconds_total{mode="idle",instance=~"ip.*"}[10s])) / sum(rate(node_cpu_seconds_total{instance=~"ip.*"}[10s])))'
        self.assertAlmostEqual(self.number(whole), (4 * 73 + 2 * 11) / 6, delta=1.0)
        self.assertEqual(self.number("queue_depth"), 17)
        self.assertAlmostEqual(self.number("sum(rate(http_requests_total[10s]))"), 100, delta=1.0)
        errors = '100 * sum(rate(http_requests_total{code="500"}[10s])) / sum(rate(http_requests_total[10s]))'
        self.assertAlmostEqual(self.number(errors), 10, delta=0.1)
        self.assertAlmostEqual(self.number("histogram_quantile(0.8, rate(latency_seconds_bucket[10s]))"), 0.1, delta=0.001)
        self.assertEqual(self.number('count(node_cpu_seconds_total{zone="a"})'), 4 * 8)


del ExporterTest
if __name__ == "__main__":
    unittest.main()
