"""The client library and the runner themselves."""

import contextlib
import io
import os
import time
import unittest
from unittest import mock

import run
from client.kube import KubeError, read_kubeconfig, wait_for
from on_stack import StackTest


class Waiting(unittest.TestCase):
    def test_wait_that_fails_says_what_was_wanted_and_last_seen(self):
        values = iter(range(1000))
        with self.assertRaises(TimeoutError) as caught:
            wait_for(lambda: (False, f"reading {next(values)}"), "a green light", timeout=0.05, every=0.01)
        self.assertRegex(str(caught.exception), r"waited 0 s for a green light; last seen: reading [1-9]")

    def test_wait_goes_on_over_errors_and_tells_the_last_one(self):
        answers = iter([OSError("refused"), None, "there"])

        def look():
            answer = next(answers)
            if isinstance(answer, Exception):
                raise answer
            return answer
        self.assertEqual(wait_for(look, "something", timeout=2, every=0), "there")
        with self.assertRaisesRegex(TimeoutError, "last seen: OSError: refused"):
            wait_for(mock.Mock(side_effect=OSError("refused")), "something", timeout=0)


class Verdict(unittest.TestCase):
    def verdict(self, environment):
        report = run.Report()
        report.passed = 2
        report.skipped = [(self, "prometheus: not built")]
        out = io.StringIO()
        with mock.patch.dict(os.environ, environment, clear=True), contextlib.redirect_stdout(out):
            return run.verdict(report), out.getvalue()

    def test_skip_is_named_and_passes_by_hand(self):
        code, text = self.verdict({})
        self.assertEqual(code, 0)
        self.assertIn("prometheus: not built", text)
        self.assertEqual(text.splitlines()[-1], "2 passed, 0 failed")

    def test_skip_is_a_failure_in_ci(self):
        code, text = self.verdict({"CI": "1"})
        self.assertEqual(code, 1)
        self.assertEqual(text.splitlines()[-1], "2 passed, 1 failed")


class Reset(StackTest):
    needs = ("apiserver", "controller-manager", "scheduler", "kwok", "aws", "dynamodb", "glue")

    def fill(self):
        _, nodes = self.join(5)
        self.work.deployment("web", 20)
        self.work.deployment("slow", 3, ends_after_sec=600, grace_sec=600)
        self.work.pod("stuck", node=nodes[0]["metadata"]["name"], stuck=True)
        self.work.budget("web", minAvailable="100%")
        self.work.daemon_set("agent")
        self.work.wait_pods("web", 20)
        self.work.wait_pods("stuck", 1)
        self.stack.aws("sqs").send_message(QueueUrl=self.stack.account["queue_url"], MessageBody="{}")
        self.stack.aws("dynamodb").put_item(TableName=self.stack.account["state_table"], Item={"pk": {"S": "cluster"}})

    def test_reset_of_a_full_stack_empties_it_in_two_seconds(self):
        took = []
        # Other work on the machine may slow one reset down; it will not slow three.
        while not took or (min(took) >= 2.0 and len(took) < 3):
            self.fill()
            begun = time.monotonic()
            self.stack.reset()
            took.append(time.monotonic() - begun)
            self.assertEmpty()
        self.assertLess(min(took), 2.0, took)
        # The glue has forgotten them too: nothing comes back.
        fresh = self.stack.launch()
        self.stack.wait_joined(fresh)
        self.assertEqual(len(self.kube.nodes()), 1)

    def assertEmpty(self):
        self.assertEqual((self.kube.nodes(), self.kube.pods()), ([], []))
        self.assertEqual(self.kube.items("/apis/policy/v1/poddisruptionbudgets"), [])
        self.assertEqual(self.kube.items("/apis/apps/v1/deployments"), [])
        self.assertEqual(self.stack.emulator.get("/drover/instances")["instances"], [])
        self.assertEqual(self.stack.aws("dynamodb").scan(TableName=self.stack.account["state_table"])["Count"], 0)
        self.assertNotIn("Messages", self.stack.aws("sqs").receive_message(QueueUrl=self.stack.account["queue_url"]))

    def test_refused_call_carries_the_servers_own_words(self):
        with self.assertRaises(KubeError) as caught:
            self.kube.get("/api/v1/namespaces/default/pods/none")
        self.assertEqual((caught.exception.status, caught.exception.reason), (404, "NotFound"))
        self.assertIn('pods "none" not found', str(caught.exception))

    def test_file_that_is_no_kubeconfig_is_refused(self):
        with self.assertRaisesRegex(ValueError, "not a kubeconfig"):
            read_kubeconfig(os.devnull)
