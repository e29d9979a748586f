"""AWS's Lambda runtime interface emulator with a small custom runtime."""

import os
import pathlib
import sys
import tempfile
import unittest

from build import Builder
from client.lambda_runtime import LambdaFunction

BOOTSTRAP = """#!@PYTHON@
import json, os, time, urllib.request
api = "http://" + os.environ["AWS_LAMBDA_RUNTIME_API"] + "/2018-06-01/runtime/invocation/"
while True:
    with urllib.request.urlopen(api + "next") as answer:
        request, event = answer.headers["Lambda-Runtime-Aws-Request-Id"], json.load(answer)
        deadline = answer.headers["Lambda-Runtime-Deadline-Ms"]
    if event.get("do") == "crash":
        os._exit(7)
    if event.get("do") == "hang":
        time.sleep(60)
    if event.get("do") == "fail":
        data, path = {"errorType": "Refused", "errorMessage": "told to fail"}, "/error"
    else:
        data, path = {"echo": event, "left_ms": int(deadline) - int(time.time() * 1000), "pid": os.getpid()}, "/response"
    urllib.request.urlopen(urllib.request.Request(api + request + path, json.dumps(data).encode())).close()
"""


class Lambda(unittest.TestCase):
    def setUp(self):
        builder = Builder()
        part = next(p for p in builder.parts if p.name == "lambda")
        if not builder.built(part):
            self.skipTest(f"lambda: not built: {part.package}; log: {builder.logs / 'lambda.log'}")
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.bootstrap = pathlib.Path(self.folder.name) / "bootstrap"
        self.bootstrap.write_text(BOOTSTRAP.replace("@PYTHON@", sys.executable))
        self.bootstrap.chmod(0o755)
        self.emulator = builder.dir / "lambda/aws-lambda-rie"

    def function(self, **options):
        function = LambdaFunction(self.emulator, self.bootstrap, pathlib.Path(self.folder.name) / "log", **options)
        self.addCleanup(function.close)
        return function

    def test_bootstrap_answers_events_in_one_process(self):
        function = self.function(timeout_sec=5)
        status, first = function.invoke({"n": 1})
        self.assertEqual((status, first["echo"]), (200, {"n": 1}))
        self.assertTrue(0 < first["left_ms"] <= 5000, first)
        status, second = function.invoke({"n": 2})
        self.assertEqual(second["echo"], {"n": 2})
        self.assertEqual(second["pid"], first["pid"])

    def test_error_of_the_function_reaches_the_caller(self):
        _, answer = self.function().invoke({"do": "fail"})
        self.assertEqual(answer["errorMessage"], "told to fail")

    def test_hanging_function_is_timed_out_and_the_next_event_works(self):
        function = self.function(timeout_sec=2)
        _, before = function.invoke({"n": 1})
        _, answer = function.invoke({"do": "hang"})
        self.assertIn("timed out after 2", str(answer))
        status, after = function.invoke({"n": 3})
        self.assertEqual((status, after["echo"]), (200, {"n": 3}))
        self.assertNotEqual(after["pid"], before["pid"])

    def test_emulator_survives_the_crash_of_the_function(self):
        function = self.function()
        _, answer = function.invoke({"do": "crash"})
        self.assertIn("exit status 7", str(answer))
        self.assertIsNone(function.process.poll())
        status, after = function.invoke({"n": 4})
        self.assertEqual((status, after["echo"]), (200, {"n": 4}))

    def test_closing_leaves_no_process(self):
        function = self.function()
        _, answer = function.invoke({})
        function.close()
        self.assertFalse(os.path.exists(f"/proc/{answer['pid']}"), "the bootstrap still runs")
