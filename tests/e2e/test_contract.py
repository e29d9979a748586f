"""The contract suites of the ports on the real services: the same tests that the simulated world and SQLite pass.

They are written in C (tests/contract) and run in the test program with the adapters as the product wires them. What a
test needs besides the ports it asks of the small server here, one verb per line."""

import os
import pathlib
import re
import socketserver
import subprocess
import threading

from client.kube import is_unschedulable, wait_for
from world import ROOT, EndToEnd


class Verbs:
    """What may be asked for; returns when the world shows it."""

    def __init__(self, test):
        self.test = test

    def reset(self):
        self.test.start_anew()

    def worker(self, zone):
        test = self.test
        instance = test.launch(zone=int(zone), market="spot")
        test.stack.wait_joined([instance])
        # The node controller takes off its last taint a moment after Ready; a node that still changes is no node to test with.
        wait_for(lambda: not (test.stack.node_of(instance)["spec"].get("taints")), "no taints")
        return instance

    def deployment(self, name, replicas, cpu_milli):
        self.test.work.deployment(name, replicas=int(replicas), cpu=f"{cpu_milli}m")

        def look():
            pods = self.test.kube.pods("default", f"app={name}")
            return len(pods) == int(replicas) and all(is_unschedulable(p) or p["status"].get("phase") == "Running" for p in pods)
        wait_for(look, f"the pods of {name}")

    def budget(self, name, max_unavailable):
        self.test.work.budget(name, maxUnavailable=int(max_unavailable))
        self.test.work.wait_budget(name, disruptionsAllowed=int(max_unavailable))

    def no_capacity(self, zone):
        zone = self.test.account["subnets"][int(zone)]["zone"]
        self.test.settings(capacity=[{"type": "*", "zone": zone, "market": "*", "limit": 0}])

    def protect(self, instance):
        self.test.person("ec2").modify_instance_attribute(InstanceId=instance, DisableApiTermination={"Value": True})

    def touch(self, instance, protected):
        name = self.test.node_name(instance)
        self.test.kube.patch(f"/api/v1/nodes/{name}", {"metadata": {"annotations": {"drover.dev/protected": protected}}})

    def series(self, value):
        test = self.test
        test.stack.exporter.post("/series", {"name": "depth", "type": "gauge", "value": int(value)})
        wait_for(lambda: test.stack.query(f"count_over_time((depth == {value})[6s:1s]) >= 5"), "six seconds of the series")

    def interrupt(self, instance):
        self.test.stack.emulator.post("/drover/interrupt", {"instance": instance, "seconds": 120})


class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        name, *arguments = self.rfile.readline().decode().split()
        try:
            answer = getattr(self.server.verbs, name.replace("-", "_"))(*arguments)
            self.wfile.write(f"ok {answer or ''}".encode())
        except Exception as error:  # the test in C says what it was
            self.wfile.write(f"{type(error).__name__}: {error}".encode())


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True


class Contract(EndToEnd):
    def start_anew(self):
        self.doCleanups()
        self.setUp()
        self.file = self.program("contract", minWorkers=1).file
        # Every reset makes new keys: the tests in C find them where a profile has them.
        (self.dir / "credentials").write_text(f"[default]\naws_access_key_id = {self.keys['access_key_id']}\n"
                                              f"aws_secret_access_key = {self.keys['secret_access_key']}\n")

    def suite(self, name, environment, least):
        """Runs a suite of the test program, one test after the other."""
        program = pathlib.Path(os.environ.get("DROVER_TESTS", ROOT / "build/release/drover_tests"))
        self.assertTrue(program.exists(), f"no test program at {program}: run make build")
        done = subprocess.run([str(program), "--filter", name, "--jobs", "1"], capture_output=True, text=True, timeout=600,
                              env={**os.environ, **environment})
        self.assertEqual(done.returncode, 0, done.stdout[-6000:] + done.stderr[-2000:])
        passed = int(re.findall(r"(\d+) passed, 0 failed", done.stdout)[-1])
        self.assertGreaterEqual(passed, least, done.stdout)

    def test_compute_cluster_metrics_and_events_keep_their_contract(self):
        server = Server(("127.0.0.1", 0), Handler)
        server.verbs = Verbs(self)
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        self.start_anew()
        environment = {k: v for k, v in self.environment().items() if not k.endswith(("_KEY_ID", "_ACCESS_KEY"))}
        try:
            self.suite("world_stack", {**environment, "DROVER_TEST_WORLD": str(server.server_address[1]),
                                       "DROVER_TEST_CONFIG": str(self.file),
                                       "AWS_SHARED_CREDENTIALS_FILE": str(self.dir / "credentials")}, 21)
        finally:
            server.shutdown()
            server.server_close()

    def test_store_keeps_its_contract_on_dynoxide(self):
        self.suite("store_dynamodb", {**self.environment(), "DROVER_TEST_DYNAMODB": self.stack.env["STACK_DYNAMODB_URL"]}, 20)

    def test_store_keeps_its_contract_on_moto(self):
        self.settings(auth={"enforce": False})
        self.suite("store_dynamodb", {**self.environment(), "DROVER_TEST_DYNAMODB": self.stack.env["AWS_ENDPOINT_URL"]}, 20)

    def test_compute_keeps_its_contract_on_an_account_of_its_own(self):
        self.settings(auth={"enforce": False})
        self.suite("compute_ec2", {"DROVER_TEST_AWS": self.stack.env["AWS_ENDPOINT_URL"]}, 10)

    def test_queue_and_secrets_keep_their_contract(self):
        self.settings(auth={"enforce": False})
        self.suite("aws_events", {"DROVER_TEST_AWS": self.stack.env["AWS_ENDPOINT_URL"]}, 5)
