"""The fault proxy in front of an HTTP server and of a TLS server, with boto3 and curl."""

import http.server
import json
import os
import shutil
import socket
import ssl
import subprocess
import tempfile
import threading
import time
import unittest

import boto3
import botocore.exceptions
from botocore.config import Config

from emulated import Part, ask

LOST = (botocore.exceptions.ConnectionClosedError, botocore.exceptions.EndpointConnectionError, botocore.exceptions.HTTPClientError)


class Behind(http.server.BaseHTTPRequestHandler):
    """Answers like DynamoDB's ListTables or like Prometheus, and counts what reached it."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.answer({"status": "success", "data": {"path": self.path, "host": self.headers["Host"]}})

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.bodies.append(body)
        self.answer({"TableNames": ["t"]})

    def answer(self, value):
        self.server.acted += 1
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/x-amz-json-1.0")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def start_behind(certificate=None):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Behind)
    server.acted, server.bodies = 0, []
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def stop_behind(server):
    server.shutdown()
    server.server_close()


def curl(url, *more):
    return subprocess.run(["curl", "-sS", "-m", "10", *more, url], capture_output=True, text=True, timeout=30)


class ProxyTest(unittest.TestCase):
    extra = ()
    certificate = None

    def setUp(self):
        self.behind = start_behind(self.certificate)
        self.addCleanup(stop_behind, self.behind)
        target = f"127.0.0.1:{self.behind.server_port}"
        self.part = Part("proxy/proxy.py", "--listen", "0", "--control", "0", "--target", target, *self.extra)
        self.addCleanup(self.part.stop)
        self.control_url = f"http://127.0.0.1:{self.part.ports[1]}"

    def control(self, method, name, body=None, expect=200):
        status, value = ask(method, f"{self.control_url}/{name}", body)
        self.assertEqual(status, expect, value)
        return value

    def rule(self, **rule):
        self.control("POST", "faults", rule)


class HttpRules(ProxyTest):
    def setUp(self):
        super().setUp()
        config = Config(retries={"total_max_attempts": 1}, connect_timeout=5, read_timeout=10)
        self.dynamodb = boto3.client(
            "dynamodb", endpoint_url=self.part.url, region_name="us-east-1", aws_access_key_id="a", aws_secret_access_key="b", config=config
        )

    def test_without_rules_everything_passes_unchanged(self):
        self.assertEqual(self.dynamodb.list_tables(Limit=3)["TableNames"], ["t"])
        self.assertEqual(json.loads(self.behind.bodies[0]), {"Limit": 3})
        status, value = ask("GET", self.part.url + "/api/v1/query?query=up%7B%7D")
        self.assertEqual((status, value["data"]["path"]), (200, "/api/v1/query?query=up%7B%7D"))
        self.assertEqual(value["data"]["host"], self.part.url.split("/")[2], "the Host header is signed: it must not change")

    def test_error_by_target_header_is_boto3s_own_exception(self):
        self.rule(when={"header": {"X-Amz-Target": "DynamoDB_*.PutItem"}}, fault="error", code="ConditionalCheckFailedException")
        self.dynamodb.list_tables()
        with self.assertRaises(self.dynamodb.exceptions.ConditionalCheckFailedException):
            self.dynamodb.put_item(TableName="t", Item={"a": {"S": "b"}})
        self.assertEqual(self.behind.acted, 1)
        self.rule(service="dynamodb", action="ListTables", fault="error", code="ProvisionedThroughputExceededException")
        with self.assertRaises(self.dynamodb.exceptions.ProvisionedThroughputExceededException):
            self.dynamodb.list_tables()

    def test_error_by_path_looks_like_prometheus(self):
        self.rule(when={"path": "/api/v1/query", "method": "GET"}, fault="error", status=503, code="timeout", message="query timed out")
        status, value = ask("GET", self.part.url + "/api/v1/query?query=up")
        self.assertEqual((status, value["errorType"]), (503, "timeout"))
        self.assertEqual(ask("GET", self.part.url + "/api/v1/query?query=up")[0], 200)

    def test_body_and_headers_of_the_error_may_be_given(self):
        self.rule(fault="error", status=429, body="slow down", headers={"Retry-After": "7", "Content-Type": "text/plain"})
        answer = curl(self.part.url + "/x", "-i")
        self.assertIn("429", answer.stdout.splitlines()[0])
        self.assertIn("Retry-After: 7", answer.stdout)
        self.assertTrue(answer.stdout.endswith("slow down"))

    def test_cut_does_not_act_and_lost_does(self):
        self.rule(fault="cut")
        self.assertRaises(LOST, self.dynamodb.list_tables)
        self.assertEqual(self.behind.acted, 0)
        self.rule(fault="lost")
        self.assertRaises(LOST, self.dynamodb.list_tables)
        self.assertEqual(self.behind.acted, 1)
        self.assertEqual([c["reply"] for c in self.control("GET", "calls")["calls"]], ["cut", "lost"])

    def test_corrupt_and_truncated_bodies(self):
        self.rule(fault="corrupt")
        answer = subprocess.run(["curl", "-sS", self.part.url + "/x"], capture_output=True, timeout=30)
        self.assertEqual(answer.returncode, 0)
        self.assertRaises(ValueError, json.loads, answer.stdout)
        self.rule(fault="truncate", bytes=5)
        answer = curl(self.part.url + "/x")
        self.assertEqual((answer.returncode, len(answer.stdout)), (18, 5))
        self.assertEqual(self.behind.acted, 2)

    def test_delay_waits(self):
        self.rule(fault="delay", seconds=0.5)
        begun = time.monotonic()
        self.dynamodb.list_tables()
        self.assertGreaterEqual(time.monotonic() - begun, 0.5)

    def test_refuse_resets_the_connection(self):
        self.rule(fault="refuse")
        # The reset may meet curl while it connects (7), sends (55) or reads (56).
        self.assertIn(curl(self.part.url).returncode, (7, 55, 56))
        self.assertEqual(curl(self.part.url).returncode, 0)

    def test_shut_door_refuses_until_opened(self):
        self.control("POST", "listening", {"open": False})
        self.assertEqual(curl(self.part.url).returncode, 7)
        self.control("POST", "listening", {"open": True})
        self.assertEqual(curl(self.part.url).returncode, 0)

    def test_dead_server_behind_is_a_cut(self):
        stop_behind(self.behind)
        self.assertEqual(curl(self.part.url).returncode, 52)
        self.behind = start_behind()

    def test_reset_forgets_rules_and_opens_the_door(self):
        self.rule(fault="cut", forever=True)
        self.control("POST", "listening", {"open": False})
        self.control("POST", "reset")
        self.assertEqual(curl(self.part.url).returncode, 0)
        self.assertEqual(len(self.control("GET", "calls")["calls"]), 1)

    def test_bad_rules_are_refused(self):
        for rule, message in (
            ({"fault": "explode"}, "not one of"),
            ({"fault": "refuse", "when": {"path": "/x"}}, "only skip and count"),
            ({"fault": "cut", "bytes": 3}, "does not go with fault cut"),
            ({"fault": "cut", "pathh": "x"}, "unknown key"),
        ):
            self.assertIn(message, self.control("POST", "faults", rule, expect=400)["error"])
        self.control("POST", "listening", {"open": "no"}, expect=400)
        self.control("GET", "nothing", expect=404)
        self.control("GET", "reset", expect=405)


class TlsRules(ProxyTest):
    extra = ("--tls",)

    @classmethod
    def setUpClass(cls):
        if shutil.which("openssl") is None:
            raise unittest.SkipTest("no openssl")
        cls.directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.directory.cleanup)
        key, cert = (os.path.join(cls.directory.name, n) for n in ("key", "cert"))
        command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", cert, "-days", "2"]
        subprocess.run([*command, "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True, timeout=60)
        cls.certificate = (cert, key)

    def get(self):
        return curl(self.part.url.replace("http:", "https:") + "/readyz", "--cacert", self.certificate[0])

    def test_certificate_and_bytes_pass_through(self):
        answer = self.get()
        self.assertEqual(answer.returncode, 0, answer.stderr)
        self.assertEqual(json.loads(answer.stdout)["status"], "success")

    def test_refuse_and_cut_strike_connections(self):
        self.rule(fault="refuse")
        self.assertNotEqual(self.get().returncode, 0)
        self.rule(fault="cut")
        self.assertNotEqual(self.get().returncode, 0)
        self.rule(fault="cut", bytes=100)
        self.assertNotEqual(self.get().returncode, 0)
        self.assertEqual(self.behind.acted, 0)
        self.assertEqual(self.get().returncode, 0)
        self.assertEqual([c["reply"] for c in self.control("GET", "calls")["calls"]][:3], ["refused", "cut", "cut"])

    def test_delay_waits(self):
        self.rule(fault="delay", seconds=0.5)
        begun = time.monotonic()
        self.assertEqual(self.get().returncode, 0)
        self.assertGreaterEqual(time.monotonic() - begun, 0.5)

    def test_open_connections_can_be_cut(self):
        context = ssl.create_default_context(cafile=self.certificate[0])
        with socket.create_connection(("127.0.0.1", self.part.ports[0]), 10) as plain:
            with context.wrap_socket(plain, server_hostname="127.0.0.1") as secure:
                secure.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                self.assertIn(b"200 OK", secure.recv(4096))
                self.assertEqual(self.control("DELETE", "connections")["cut"], 1)
                self.assertTrue(self.ends(secure))

    @staticmethod
    def ends(connection):
        """True when the connection is over after at most the rest of one answer."""
        for _ in range(3):
            try:
                if connection.recv(4096) == b"":
                    return True
            except OSError as exc:
                return not isinstance(exc, TimeoutError)
        return False

    def test_conditions_are_refused(self):
        answer = self.control("POST", "faults", {"fault": "cut", "when": {"path": "/x"}}, expect=400)
        self.assertIn("only skip and count", answer["error"])
        self.control("POST", "faults", {"fault": "lost"}, expect=400)


del ProxyTest
if __name__ == "__main__":
    unittest.main()
