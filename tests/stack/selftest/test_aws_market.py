"""Spot market, prices, interruptions, capacity, quotas and throttling, as boto3 sees them."""

import datetime
import json
import sys
import time
import unittest
from unittest import mock

from emulated import STACK, TYPE, ZONE_A, ZONE_B, EmulatorTest, wait_until

sys.path[:0] = [p for p in (STACK,) if p not in sys.path]
from aws import errors, throttle  # noqa: E402


class Market(EmulatorTest):
    def setUp(self):
        super().setUp()
        self.ec2 = self.client("ec2")
        self.subnets, self.image = self.network(self.ec2)

    def settings(self, **values):
        self.drover("POST", "settings", values)

    def go(self, zone=ZONE_A, **more):
        return self.launch(self.ec2, self.image, self.subnets[zone], **more)


class Stock(Market):
    def test_capacity_is_counted_by_type_zone_and_market(self):
        self.settings(capacity=[{"type": TYPE, "zone": ZONE_A, "market": "spot", "limit": 1}])
        self.go(Spot=None)
        reply = self.refused("InsufficientInstanceCapacity", self.go, Spot=None)
        self.assertEqual(reply["ResponseMetadata"]["HTTPStatusCode"], 500)
        self.go()
        self.go(ZONE_B, Spot=None)
        self.go(Spot=None, InstanceType="m5.xlarge")

    def test_ended_instance_gives_its_place_back(self):
        self.settings(capacity=[{"limit": 1}])
        name = self.ids(self.go())[0]
        self.refused("InsufficientInstanceCapacity", self.go)
        self.ec2.terminate_instances(InstanceIds=[name])
        self.go()

    def test_vcpu_quota_on_demand(self):
        self.settings(quota={"on_demand_vcpus": 4})
        self.go(MinCount=2, MaxCount=2)
        reply = self.refused("VcpuLimitExceeded", self.go)
        self.assertIn("vCPU limit of 4", reply["Error"]["Message"])
        self.go(Spot=None)

    def test_spot_quota(self):
        self.settings(quota={"spot_vcpus": 2})
        self.go(Spot=None)
        self.refused("MaxSpotInstanceCountExceeded", self.go, Spot=None)
        self.go()

    def test_quota_limits_max_count(self):
        self.settings(quota={"on_demand_vcpus": 7})
        self.assertEqual(len(self.go(MinCount=1, MaxCount=10)["Instances"]), 3)


class Throttling(Market):
    def test_run_instances_has_a_burst_of_five_and_two_a_second(self):
        rules = self.drover("GET", "settings")["throttle"]["rules"]
        self.assertEqual(rules[0], {"service": "ec2", "actions": ["RunInstances"], "rate": 2.0, "burst": 5.0})
        now = [100.0]
        buckets, call = throttle.Buckets(lambda: now[0]), mock.Mock(service="ec2", action="RunInstances", region="r")
        for _ in range(5):
            buckets.check(rules, call)
        self.assertRaises(errors.AwsError, buckets.check, rules, call)
        now[0] += 0.5
        buckets.check(rules, call)
        self.assertRaises(errors.AwsError, buckets.check, rules, call)
        buckets.check(rules, mock.Mock(service="ec2", action="TerminateInstances", region="r"))
        buckets.check(rules, mock.Mock(service="ec2", action="RunInstances", region="elsewhere"))

    def test_empty_bucket_is_a_request_limit_exceeded(self):
        self.settings(throttle={"enabled": True, "rules": [{"actions": ["Run*"], "rate": 0, "burst": 2}]})
        self.go()
        self.go()
        reply = self.refused("RequestLimitExceeded", self.go)
        self.assertEqual(reply["ResponseMetadata"]["HTTPStatusCode"], 503)
        self.ec2.describe_instances()

    def test_boto3_retries_a_throttled_call_by_itself(self):
        self.settings(throttle={"rules": [{"actions": ["DescribeInstances"], "rate": 0.5, "burst": 1}], "enabled": True})
        patient = self.client("ec2", retries=6)
        for _ in range(2):
            patient.describe_instances()
        throttled = self.drover("GET", "calls?error=RequestLimitExceeded")["calls"]
        self.assertGreater(len(throttled), 0)

    def test_json_services_get_their_own_code(self):
        self.settings(throttle={"rules": [{"service": "ssm", "actions": ["*"], "rate": 0, "burst": 1}], "enabled": True})
        ssm = self.client("ssm")
        ssm.describe_parameters()
        self.refused("ThrottlingException", ssm.describe_parameters)


class Spot(Market):
    def test_spot_instance_has_a_request(self):
        instance = self.go(Spot="0.5")["Instances"][0]
        self.assertEqual(instance["InstanceLifecycle"], "spot")
        request = self.ec2.describe_spot_instance_requests(SpotInstanceRequestIds=[instance["SpotInstanceRequestId"]])
        shown = request["SpotInstanceRequests"][0]
        self.assertEqual((shown["State"], shown["Status"]["Code"]), ("active", "fulfilled"))
        self.assertEqual((shown["InstanceId"], float(shown["SpotPrice"])), (instance["InstanceId"], 0.5))
        self.ec2.terminate_instances(InstanceIds=[instance["InstanceId"]])
        shown = self.ec2.describe_spot_instance_requests()["SpotInstanceRequests"][0]
        self.assertEqual((shown["State"], shown["Status"]["Code"]), ("closed", "instance-terminated-by-user"))

    def test_price_above_the_maximum_is_refused(self):
        self.settings(prices=[{"type": TYPE, "zone": ZONE_A, "points": [[-60, 0.10]]}])
        self.refused("SpotMaxPriceTooLow", self.go, Spot="0.09")
        self.go(Spot="0.10")
        self.go(Spot=None)

    def test_on_demand_instance_has_no_request(self):
        instance = self.go()["Instances"][0]
        self.assertNotIn("SpotInstanceRequestId", instance)
        self.assertNotIn("InstanceLifecycle", instance)

    def test_price_history_is_the_series_newest_first(self):
        self.settings(
            prices=[
                {"type": TYPE, "zone": ZONE_A, "points": [[-7200, 0.01], [-3600, 0.02], [-60, 0.03], [3600, 9]]},
                {"type": TYPE, "zone": ZONE_B, "points": [[-100, 0.5]]},
            ]
        )
        asked = {"InstanceTypes": [TYPE], "ProductDescriptions": ["Linux/UNIX"], "AvailabilityZone": ZONE_A}
        start = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(seconds=3000)
        rows = self.ec2.describe_spot_price_history(StartTime=start, **asked)["SpotPriceHistory"]
        self.assertEqual([float(r["SpotPrice"]) for r in rows], [0.03, 0.02])
        now = self.ec2.describe_spot_price_history(**asked)["SpotPriceHistory"]
        self.assertEqual([float(r["SpotPrice"]) for r in now], [0.03])
        del asked["AvailabilityZone"]
        both = self.ec2.describe_spot_price_history(
            Filters=[{"Name": "availability-zone", "Values": [ZONE_A, ZONE_B]}], **asked
        )["SpotPriceHistory"]
        self.assertEqual({r["AvailabilityZone"] for r in both}, {ZONE_A, ZONE_B})

    def test_price_history_without_a_series_moves_by_the_hour(self):
        start = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(hours=48)
        pages = self.ec2.get_paginator("describe_spot_price_history").paginate(
            InstanceTypes=[TYPE], ProductDescriptions=["Linux/UNIX"], AvailabilityZone=ZONE_A, StartTime=start, PaginationConfig={"PageSize": 10}
        )
        rows = [r for page in pages for r in page["SpotPriceHistory"]]
        self.assertIn(len(rows), (48, 49, 50))
        self.assertGreater(len({r["SpotPrice"] for r in rows}), 10)


class Interruption(Market):
    def setUp(self):
        super().setUp()
        self.sqs = self.client("sqs")
        self.queue = self.sqs.create_queue(QueueName="interruptions")["QueueUrl"]
        self.settings(events={"queue": "interruptions"}, clocks={"pending_s": 0, "shutting_down_s": 0.3})

    def events(self):
        got = self.sqs.receive_message(QueueUrl=self.queue, MaxNumberOfMessages=10).get("Messages", [])
        return [json.loads(m["Body"]) for m in got]

    def test_warning_reaches_the_queue_then_the_machine_ends(self):
        name = self.ids(self.go(Spot=None))[0]
        self.drover("POST", "interrupt", {"instance": name, "seconds": 3.0})
        event = self.events()[0]
        self.assertEqual(event["source"], "aws.ec2")
        self.assertEqual(event["detail-type"], "EC2 Spot Instance Interruption Warning")
        self.assertEqual(event["detail"], {"instance-id": name, "instance-action": "terminate"})
        self.assertEqual(event["resources"], [f"arn:aws:ec2:{ZONE_A}:instance/{name}"])
        self.assertEqual(self.state(self.ec2, name), "running")
        wait_until("the end", lambda: self.state(self.ec2, name) == "terminated", 20)
        shown = self.ec2.describe_instances(InstanceIds=[name])["Reservations"][0]["Instances"][0]
        self.assertEqual(shown["StateReason"]["Code"], "Server.SpotInstanceTermination")
        request = self.ec2.describe_spot_instance_requests()["SpotInstanceRequests"][0]
        self.assertEqual(request["Status"]["Code"], "instance-terminated-no-capacity")

    def test_rebalance_hint_ends_nothing(self):
        name = self.ids(self.go(Spot=None))[0]
        self.drover("POST", "interrupt", {"instance": name, "kind": "rebalance"})
        event = self.events()[0]
        self.assertEqual(event["detail-type"], "EC2 Instance Rebalance Recommendation")
        self.assertEqual(event["detail"], {"instance-id": name})
        self.assertIsNone(self.drover("GET", "instances")["instances"][0]["ends_at"])

    def test_second_warning_is_sent_and_does_not_delay_the_end(self):
        name = self.ids(self.go(Spot=None))[0]
        first = self.drover("POST", "interrupt", {"instance": name, "seconds": 30})
        second = self.drover("POST", "interrupt", {"instance": name, "seconds": 60})
        self.assertEqual(first["ends_at"], second["ends_at"])
        self.assertEqual(len(self.events()), 2)

    def test_event_goes_through_an_eventbridge_rule(self):
        self.drover("POST", "reset")
        self.settings(throttle={"enabled": False})
        self.subnets, self.image = self.network(self.ec2)
        queue = self.sqs.create_queue(QueueName="by-rule")["QueueUrl"]
        arn = self.sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
        bridge = self.client("events")
        pattern = {"source": ["aws.ec2"], "detail-type": ["EC2 Spot Instance Interruption Warning"]}
        bridge.put_rule(Name="spot", EventPattern=json.dumps(pattern))
        bridge.put_targets(Rule="spot", Targets=[{"Id": "q", "Arn": arn}])
        name = self.ids(self.go(Spot=None))[0]
        self.assertEqual(self.drover("POST", "interrupt", {"instance": name, "kind": "rebalance"})["targets"], 0)
        self.assertEqual(self.drover("POST", "interrupt", {"instance": name, "seconds": 60})["targets"], 1)
        got = self.sqs.receive_message(QueueUrl=queue)["Messages"]
        self.assertEqual(json.loads(got[0]["Body"])["detail"]["instance-id"], name)

    def test_price_rise_takes_the_instance_back(self):
        self.settings(reclaim={"notice_s": 0.5}, prices=[{"type": TYPE, "points": [[-60, 0.02], [5.0, 0.9]]}])
        cheap = self.ids(self.go(Spot="0.05"))[0]
        rich = self.ids(self.go(Spot="1.0"))[0]
        wait_until("the end", lambda: self.state(self.ec2, cheap) == "terminated", 30)
        self.assertEqual(self.state(self.ec2, rich), "running")
        self.assertEqual([e["detail"]["instance-id"] for e in self.events()], [cheap])
        codes = {r["InstanceId"]: r["Status"]["Code"] for r in self.ec2.describe_spot_instance_requests()["SpotInstanceRequests"]}
        self.assertEqual(codes, {cheap: "instance-terminated-by-price", rich: "fulfilled"})

    def test_state_changes_are_told_when_asked_for(self):
        self.settings(events={"queue": "interruptions", "state_changes": True}, clocks={"pending_s": 0.4})
        name = self.ids(self.go())[0]
        seen = []

        def both():
            seen.extend((e["detail-type"], e["detail"]["state"]) for e in self.events() if e["detail"]["instance-id"] == name)
            return len(seen) >= 2 and seen

        wait_until("two state changes", both, 20)
        self.assertEqual([s for _, s in seen], ["pending", "running"])

    def test_wrong_targets_are_refused(self):
        self.drover("POST", "interrupt", {"instance": "i-0123456789abcdef0"}, expect=404)
        plain = self.ids(self.go())[0]
        self.drover("POST", "interrupt", {"instance": plain}, expect=409)
        spot = self.ids(self.go(Spot=None))[0]
        self.drover("POST", "interrupt", {"instance": spot, "queue": "nowhere"}, expect=404)
        self.drover("POST", "interrupt", {"instance": spot, "kind": "hint"}, expect=400)
        self.assertEqual(self.events(), [])

    def test_long_poll_is_woken_by_the_event(self):
        name = self.ids(self.go(Spot=None))[0]
        self.drover("POST", "faults", {"service": "sqs", "action": "ReceiveMessage", "fault": "delay", "seconds": 0.1})
        begun = time.monotonic()
        self.assertNotIn("Messages", self.sqs.receive_message(QueueUrl=self.queue, WaitTimeSeconds=1))
        self.assertGreater(time.monotonic() - begun, 0.9)
        self.drover("POST", "interrupt", {"instance": name, "seconds": 60})
        self.assertEqual(len(self.sqs.receive_message(QueueUrl=self.queue, WaitTimeSeconds=5)["Messages"]), 1)


del Market
if __name__ == "__main__":
    unittest.main()
