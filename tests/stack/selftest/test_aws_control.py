"""Fault rules, the call log, failures of moto, and the control endpoints themselves."""

import socket
import subprocess
import time
import unittest

import botocore.exceptions
from botocore.parsers import ResponseParserError

from emulated import TYPE, ZONE_A, EmulatorTest, Part, ask

LOST = (botocore.exceptions.ConnectionClosedError, botocore.exceptions.EndpointConnectionError, botocore.exceptions.HTTPClientError)


class Faults(EmulatorTest):
    def setUp(self):
        super().setUp()
        self.ec2 = self.client("ec2")
        self.subnets, self.image = self.network(self.ec2)

    def rule(self, **rule):
        return self.drover("POST", "faults", rule)["ids"][0]

    def go(self, **more):
        return self.launch(self.ec2, self.image, self.subnets[ZONE_A], **more)

    def launched(self):
        return len(self.drover("GET", "instances")["instances"])

    def test_error_is_boto3s_own_exception_and_does_not_act(self):
        for code, status in (("UnauthorizedOperation", 403), ("RequestLimitExceeded", 503), ("InternalError", 500), ("Unsupported", 400)):
            self.rule(action="RunInstances", fault="error", code=code)
            reply = self.refused(code, self.go)
            self.assertEqual(reply["ResponseMetadata"]["HTTPStatusCode"], status)
        self.assertEqual(self.launched(), 0)

    def test_modelled_exceptions_of_json_services_arrive_as_their_class(self):
        ssm = self.client("ssm")
        self.rule(service="ssm", action="GetParameter", fault="error", code="ParameterNotFound")
        with self.assertRaises(ssm.exceptions.ParameterNotFound):
            ssm.get_parameter(Name="x")
        self.rule(service="ssm", action="GetParameter", fault="error", code="InternalServerError", status=500)
        with self.assertRaises(ssm.exceptions.InternalServerError):
            ssm.get_parameter(Name="x")

    def test_cut_does_not_act_and_lost_does(self):
        self.rule(action="RunInstances", fault="cut")
        self.assertRaises(LOST, self.go)
        self.assertEqual(self.launched(), 0)
        self.rule(action="RunInstances", fault="lost")
        self.assertRaises(LOST, self.go)
        self.assertEqual(self.launched(), 1)
        replies = [c["reply"] for c in self.drover("GET", "calls?action=RunInstances")["calls"]]
        self.assertEqual(replies, ["cut", "lost"])

    def test_corrupt_body_acts_and_cannot_be_parsed(self):
        self.rule(action="RunInstances", fault="corrupt")
        self.assertRaises(ResponseParserError, self.go)
        self.assertEqual(self.launched(), 1)

    def test_truncated_body_acts_and_ends_early(self):
        self.rule(action="RunInstances", fault="truncate", bytes=100)
        with self.assertRaises((ResponseParserError, *LOST)):
            self.go()
        self.assertEqual(self.launched(), 1)
        self.rule(action="DescribeInstances", fault="truncate")
        command = ["curl", "-sS", "-o", "/dev/null", "-d", "Action=DescribeInstances&Version=2016-11-15", self.part.url]
        curl = subprocess.run(command, capture_output=True, text=True, timeout=30)
        self.assertEqual(curl.returncode, 18, curl.stderr)

    def test_delay_waits_then_answers(self):
        self.rule(action="DescribeInstances", fault="delay", seconds=0.5, id="rule-1")
        begun = time.monotonic()
        self.ec2.describe_instances()
        self.assertGreaterEqual(time.monotonic() - begun, 0.5)
        self.ec2.describe_instances()
        faults = [c["fault"] for c in self.drover("GET", "calls?action=DescribeInstances")["calls"]]
        self.assertEqual(faults, ["rule-1" if i == 0 else None for i in range(2)], "it strikes once")

    def test_delay_past_the_clients_patience_is_a_time_out(self):
        self.rule(action="DescribeInstances", fault="delay", seconds=2)
        curl = subprocess.run(
            ["curl", "-sS", "-m", "0.5", "-d", "Action=DescribeInstances&Version=2016-11-15", self.part.url], capture_output=True, timeout=30
        )
        self.assertEqual(curl.returncode, 28)

    def test_skip_count_and_condition_choose_the_calls(self):
        self.rule(action="Describe*", skip=1, count=2, fault="error", code="InternalError")
        self.ec2.describe_vpcs()
        self.refused("InternalError", self.ec2.describe_vpcs)
        self.refused("InternalError", self.ec2.describe_subnets)
        self.ec2.describe_vpcs()
        self.rule(action="RunInstances", when={"param": {"InstanceType": "m5.x*"}}, fault="error", code="Unsupported", forever=True)
        self.go()
        for _ in range(3):
            self.refused("Unsupported", self.go, InstanceType="m5.xlarge")

    def test_rules_are_listed_and_removed(self):
        first = self.rule(action="A", fault="cut", id="mine")
        self.rule(action="DescribeVpcs", fault="cut")
        self.assertEqual(first, "mine")
        self.assertEqual(len(self.drover("GET", "faults")["rules"]), 2)
        self.drover("DELETE", "faults?id=mine")
        self.drover("DELETE", "faults?id=mine", expect=404)
        self.assertEqual(self.drover("DELETE", "faults")["removed"], 1)
        self.ec2.describe_vpcs()

    def test_next_call_on_the_same_connection_works_after_a_fault(self):
        self.rule(action="DescribeVpcs", fault="error", code="InternalError")
        self.refused("InternalError", self.ec2.describe_vpcs)
        self.ec2.describe_vpcs()


class CallsAndFailures(EmulatorTest):
    def test_every_call_is_logged_with_time_parameters_and_outcome(self):
        ec2 = self.client("ec2")
        before = self.drover("GET", "calls")["last"]
        begun = time.time()
        self.refused("InvalidInstanceID.NotFound", ec2.terminate_instances, InstanceIds=["i-0123456789abcdef0"])
        self.client("ssm").describe_parameters(MaxResults=5)
        calls = self.drover("GET", f"calls?since={before}")["calls"]
        self.assertEqual([(c["service"], c["action"], c["status"]) for c in calls], [("ec2", "TerminateInstances", 400), ("ssm", "DescribeParameters", 200)])
        self.assertEqual(calls[0]["params"]["InstanceId.1"], "i-0123456789abcdef0")
        self.assertEqual(calls[0]["error"], "InvalidInstanceID.NotFound")
        self.assertEqual(calls[0]["caller"], "AKIAIOSFODNN7EXAMPLE")
        self.assertEqual(calls[1]["params"], {"MaxResults": 5})
        self.assertLess(abs(calls[0]["time"] - begun), 5)
        self.drover("DELETE", "calls")
        self.assertEqual(self.drover("GET", "calls")["calls"], [])

    def test_reset_is_quick_and_forgets_everything(self):
        ec2 = self.client("ec2")
        subnets, image = self.network(ec2)
        self.launch(ec2, image, subnets[ZONE_A], MinCount=50, MaxCount=50)
        self.drover("POST", "settings", {"capacity": [{"limit": 0}]})
        self.drover("POST", "faults", {"action": "*", "fault": "cut", "forever": True})
        begun = time.monotonic()
        self.drover("POST", "reset")
        self.assertLess(time.monotonic() - begun, 1.0)
        self.assertEqual(ec2.describe_instances()["Reservations"], [])
        self.assertEqual(self.drover("GET", "settings")["capacity"], [])
        self.assertEqual(len(self.drover("GET", "calls")["calls"]), 1)


class MotoFails(EmulatorTest):
    expects_failures = True

    def test_unknown_filter_is_reported(self):
        ec2 = self.client("ec2")
        subnets, image = self.network(ec2)
        self.launch(ec2, image, subnets[ZONE_A])
        self.refused("InternalError", ec2.describe_instances, Filters=[{"Name": "colour", "Values": ["red"]}])
        failures = self.drover("GET", "failures")["failures"]
        self.assertEqual([(f["service"], f["action"]) for f in failures], [("ec2", "DescribeInstances")])
        self.assertIn("colour", failures[0]["detail"])
        self.drover("DELETE", "failures")
        self.assertEqual(self.drover("GET", "failures")["failures"], [])

    def test_bad_page_token_is_reported(self):
        self.refused("InternalError", self.client("ec2").describe_instances, NextToken="nonsense")
        self.assertEqual(len(self.drover("GET", "failures")["failures"]), 1)

    def test_own_500_of_capacity_is_no_failure(self):
        ec2 = self.client("ec2")
        subnets, image = self.network(ec2)
        self.drover("POST", "settings", {"capacity": [{"limit": 0}]})
        self.refused("InsufficientInstanceCapacity", self.launch, ec2, image, subnets[ZONE_A])
        self.assertEqual(self.drover("GET", "failures")["failures"], [])


class ControlRequests(EmulatorTest):
    def test_bad_requests_are_refused_with_the_name_of_the_key(self):
        cases = [
            ("settings", {"clock": {}}, "clock: unknown key"),
            ("settings", {"clocks": {"pending": 1}}, "clocks.pending: unknown key"),
            ("settings", {"clocks": {"pending_s": -1}}, "clocks.pending_s: -1 is outside"),
            ("settings", {"clocks": {"pending_s": "1"}}, "clocks.pending_s: must be a number"),
            ("settings", {"capacity": [{"type": TYPE}]}, "capacity[0].limit: is required"),
            ("settings", {"capacity": {"limit": 1}}, "capacity: must be a list"),
            ("settings", {"capacity": [{"market": "free", "limit": 1}]}, "capacity[0].market: 'free' is not one of"),
            ("settings", {"quota": {"vcpus": 1}}, "quota.vcpus: unknown key"),
            ("settings", {"prices": [{"type": TYPE, "points": [[1]]}]}, "prices[0].points[0]"),
            ("settings", {"throttle": {"rules": [{"actions": [], "rate": 1, "burst": 1}]}}, "throttle.rules[0].actions"),
            ("faults", {"action": "X"}, "rules[0].fault: is required"),
            ("faults", {"fault": "explode"}, "rules[0].fault: 'explode' is not one of"),
            ("faults", {"fault": "delay"}, "rules[0].seconds: is required"),
            ("faults", {"fault": "error"}, "rules[0].code: an error needs"),
            ("faults", {"fault": "cut", "code": "X"}, "rules[0].code: only goes with fault error"),
            ("faults", {"fault": "cut", "wen": {}}, "rules[0].wen: unknown key"),
            ("faults", {"fault": "cut", "when": {"param": "x"}}, "rules[0].when.param: must be an object of strings"),
            ("faults", {"fault": "cut", "count": 0}, "rules[0].count: 0 is outside"),
            ("interrupt", {}, "instance: is required"),
            ("interrupt", {"instance": "i-1", "sec": 1}, "sec: unknown key"),
            ("credentials", {"name": "x", "policies": ["p"]}, "policies[0]: must be a policy"),
            ("reset", {"really": True}, "really: unknown key"),
        ]
        for name, body, message in cases:
            with self.subTest(name=name, body=body):
                answer = self.drover("POST", name, body, expect=400)
                self.assertIn(message, answer["error"])

    def test_refused_settings_change_nothing(self):
        before = self.drover("GET", "settings")
        self.drover("POST", "settings", {"quota": {"spot_vcpus": 1}, "clocks": {"x": 1}}, expect=400)
        self.assertEqual(self.drover("GET", "settings"), before)

    def test_not_json_unknown_path_and_wrong_method(self):
        status, answer = ask("POST", f"{self.part.url}/drover/settings", b"{")
        self.assertEqual(status, 400)
        self.assertIn("not JSON", answer["error"])
        self.assertEqual(ask("POST", f"{self.part.url}/drover/settings", b"[]")[0], 400)
        self.assertEqual(ask("GET", f"{self.part.url}/drover/nothing")[0], 404)
        self.assertEqual(ask("GET", f"{self.part.url}/drover/reset")[0], 405)
        self.assertEqual(ask("GET", f"{self.part.url}/drover/calls?since=x")[0], 400)

    def test_taken_port_is_a_clear_message(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            with self.assertRaisesRegex(RuntimeError, "cannot listen"):
                Part("aws/emulator.py", "--port", str(taken.getsockname()[1]), "--state-dir", "{dir}")


if __name__ == "__main__":
    unittest.main()
