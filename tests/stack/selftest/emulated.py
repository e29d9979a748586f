"""Starts the emulator, the proxy or the exporter for a test, on a free port, and ends it by its pid."""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request

STACK = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
START_LIMIT_S = 60
REGION = "us-east-1"
ZONE_A, ZONE_B = "us-east-1a", "us-east-1b"
TYPE = "m5.large"
# One of the images that moto brings along.
IMAGE = "ami-12c6146b"


class Part:
    """One process of ours that prints `listening on http://127.0.0.1:PORT` when it is ready."""

    def __init__(self, script, *args):
        self.directory = tempfile.TemporaryDirectory()
        self.log = os.path.join(self.directory.name, "log")
        command = [sys.executable, os.path.join(STACK, script), *[a.replace("{dir}", self.directory.name) for a in args]]
        with open(self.log, "wb") as out:
            self.process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        self.ports = self._wait_for_ports()
        self.url = f"http://127.0.0.1:{self.ports[0]}"

    def _wait_for_ports(self):
        deadline = time.monotonic() + START_LIMIT_S
        while time.monotonic() < deadline:
            with open(self.log, encoding="utf-8") as log:
                text = log.read()
            if "listening on" in text and text.endswith("\n"):
                return [int(p) for p in re.findall(r"127\.0\.0\.1:(\d+)", text.split("listening on", 1)[1])]
            if self.process.poll() is not None:
                self.stop()
                raise RuntimeError(f"exit {self.process.returncode}: {text}")
            time.sleep(0.05)
        self.stop()
        raise RuntimeError(f"not ready after {START_LIMIT_S} s")

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait(10)
        self.directory.cleanup()


def ask(method, url, body=None, headers=None, timeout=30):
    """(status, parsed JSON or text)."""
    data = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(url, data=data, method=method, headers=headers or {})
    try:
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            status, text = answer.status, answer.read()
    except urllib.error.HTTPError as exc:
        status, text = exc.code, exc.read()
    try:
        return status, json.loads(text)
    except ValueError:
        return status, text.decode("utf-8", "replace")


def wait_until(what, probe, limit_s=10.0, step_s=0.05):
    """The first true value of probe(); fails with what was last seen."""
    deadline = time.monotonic() + limit_s
    while True:
        seen = probe()
        if seen:
            return seen
        if time.monotonic() >= deadline:
            raise AssertionError(f"waited {limit_s} s for {what}; last seen: {seen!r}")
        time.sleep(step_s)


class EmulatorTest(unittest.TestCase):
    """A fresh emulator for the class, reset before every test; a failure of moto fails the test that met it."""

    expects_failures = False

    @classmethod
    def setUpClass(cls):
        cls.part = Part("aws/emulator.py", "--port", "0", "--state-dir", "{dir}")
        cls.addClassCleanup(cls.part.stop)

    def setUp(self):
        self.drover("POST", "reset")
        self.drover("POST", "settings", {"throttle": {"enabled": False}})

    def tearDown(self):
        failures = self.drover("GET", "failures")["failures"]
        if not self.expects_failures:
            self.assertEqual(failures, [], "moto itself failed")

    def drover(self, method, name, body=None, expect=200):
        status, value = ask(method, f"{self.part.url}/drover/{name}", body)
        self.assertEqual(status, expect, value)
        return value

    def client(self, service, retries=0, **options):
        import boto3
        from botocore.config import Config

        keys = {"aws_access_key_id": "AKIAIOSFODNN7EXAMPLE", "aws_secret_access_key": "none", **options}
        config = Config(retries={"max_attempts": retries, "mode": "standard"}, connect_timeout=5, read_timeout=20)
        if retries == 0:
            config = config.merge(Config(retries={"total_max_attempts": 1}))
        session = boto3.session.Session()
        return session.client(service, endpoint_url=self.part.url, region_name=REGION, config=config, **keys)

    def refused(self, code, function, *args, **kwargs):
        """Asserts that the call fails with boto3's ClientError of this code; returns its response."""
        from botocore.exceptions import ClientError

        with self.assertRaises(ClientError) as caught:
            function(*args, **kwargs)
        self.assertEqual(caught.exception.response["Error"]["Code"], code)
        return caught.exception.response

    def network(self, ec2):
        """{zone: subnet id} of a VPC of our own, and the image to launch."""
        vpc = ec2.create_vpc(CidrBlock="10.1.0.0/16")["Vpc"]["VpcId"]
        subnets = {
            zone: ec2.create_subnet(VpcId=vpc, CidrBlock=f"10.1.{i}.0/24", AvailabilityZone=zone)["Subnet"]["SubnetId"]
            for i, zone in enumerate((ZONE_A, ZONE_B))
        }
        return subnets, IMAGE

    def launch(self, ec2, image, subnet, **more):
        """One RunInstances; {"Spot": price or None} asks for the spot market."""
        asked = {"ImageId": image, "SubnetId": subnet, "InstanceType": TYPE, "MinCount": 1, "MaxCount": 1}
        if "Spot" in more:
            options = {} if more["Spot"] is None else {"SpotOptions": {"MaxPrice": more["Spot"]}}
            asked["InstanceMarketOptions"] = {"MarketType": "spot", **options}
            del more["Spot"]
        return ec2.run_instances(**{**asked, **more})

    def ids(self, reservation):
        return [i["InstanceId"] for i in reservation["Instances"]]

    def state(self, ec2, instance):
        found = ec2.describe_instances(InstanceIds=[instance])["Reservations"]
        return found[0]["Instances"][0]["State"]["Name"]
