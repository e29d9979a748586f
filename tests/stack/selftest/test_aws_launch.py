"""RunInstances and the life of an instance, as boto3 sees them."""

import base64
import multiprocessing
import time
import unittest

from botocore.exceptions import ClientError, ConnectionClosedError, EndpointConnectionError, HTTPClientError

from emulated import TYPE, ZONE_A, ZONE_B, EmulatorTest, wait_until


class ClientTokens(EmulatorTest):
    def setUp(self):
        super().setUp()
        self.ec2 = self.client("ec2")
        self.subnets, self.image = self.network(self.ec2)

    def go(self, token, zone=ZONE_A, **more):
        return self.launch(self.ec2, self.image, self.subnets[zone], ClientToken=token, **more)

    def test_same_token_and_parameters_give_the_same_reservation(self):
        first, second = self.go("t1"), self.go("t1")
        self.assertEqual(self.ids(first), self.ids(second))
        self.assertEqual(first["ReservationId"], second["ReservationId"])
        self.assertEqual(len(self.drover("GET", "instances")["instances"]), 1)

    def test_other_parameters_in_the_same_zone_are_refused(self):
        self.go("t1")
        self.refused("IdempotentParameterMismatch", self.go, "t1", InstanceType="m5.xlarge")
        tags = [{"ResourceType": "instance", "Tags": [{"Key": "a", "Value": "b"}]}]
        self.refused("IdempotentParameterMismatch", self.go, "t1", TagSpecifications=tags)
        self.assertEqual(len(self.drover("GET", "instances")["instances"]), 1)

    def test_same_token_in_another_zone_launches_again(self):
        first, second = self.go("t1", ZONE_A), self.go("t1", ZONE_B)
        self.assertNotEqual(self.ids(first), self.ids(second))
        self.assertEqual(self.ids(self.go("t1", ZONE_B)), self.ids(second))

    def test_another_token_launches_again(self):
        self.assertNotEqual(self.ids(self.go("t1")), self.ids(self.go("t2")))

    def test_lost_reply_then_same_token_launches_once(self):
        self.drover("POST", "faults", {"action": "RunInstances", "fault": "lost"})
        with self.assertRaises((ConnectionClosedError, EndpointConnectionError, HTTPClientError)):
            self.go("t1")
        launched = self.drover("GET", "instances")["instances"]
        self.assertEqual(len(launched), 1, "the call had acted")
        self.assertEqual(self.ids(self.go("t1")), [launched[0]["id"]])
        self.assertEqual(len(self.drover("GET", "instances")["instances"]), 1)

    def test_refused_launch_leaves_the_token_free(self):
        self.drover("POST", "settings", {"capacity": [{"limit": 0}]})
        self.refused("InsufficientInstanceCapacity", self.go, "t1")
        self.drover("POST", "settings", {"capacity": []})
        self.assertEqual(len(self.ids(self.go("t1"))), 1)

    def test_token_of_an_ended_instance_is_refused(self):
        self.drover("POST", "settings", {"clocks": {"shutting_down_s": 0}})
        self.ec2.terminate_instances(InstanceIds=self.ids(self.go("t1")))
        self.refused("IdempotentInstanceTerminated", self.go, "t1")

    def test_token_longer_than_64_characters_is_refused(self):
        self.refused("InvalidParameterValue", self.go, "x" * 65)

    def test_sixteen_processes_with_one_token_launch_once(self):
        arguments = (self.part.url, self.image, self.subnets[ZONE_A])
        context = multiprocessing.get_context("fork")
        with context.Pool(16) as pool:
            results = pool.map_async(race_one_token, [arguments] * 16).get(120)
        self.assertEqual(len(set(results)), 1, results)
        self.assertEqual(len(self.drover("GET", "instances")["instances"]), 1)

    def test_sixteen_processes_race_for_five_places(self):
        self.drover("POST", "settings", {"capacity": [{"type": TYPE, "limit": 5}]})
        arguments = [(self.part.url, self.image, self.subnets[ZONE_A], f"t{i}") for i in range(16)]
        context = multiprocessing.get_context("fork")
        with context.Pool(16) as pool:
            results = pool.map_async(race_for_capacity, arguments).get(120)
        self.assertEqual(sorted(results), ["InsufficientInstanceCapacity"] * 11 + ["launched"] * 5)


def race_client(url):
    import boto3
    from botocore.config import Config

    config = Config(retries={"total_max_attempts": 1}, connect_timeout=10, read_timeout=60)
    return boto3.client(
        "ec2", endpoint_url=url, region_name="us-east-1", aws_access_key_id="AKIAIOSFODNN7EXAMPLE", aws_secret_access_key="x", config=config
    )


def race_one_token(arguments):
    url, image, subnet = arguments
    reply = race_client(url).run_instances(ImageId=image, SubnetId=subnet, InstanceType=TYPE, MinCount=1, MaxCount=1, ClientToken="race")
    return reply["Instances"][0]["InstanceId"]


def race_for_capacity(arguments):
    url, image, subnet, token = arguments
    try:
        race_client(url).run_instances(ImageId=image, SubnetId=subnet, InstanceType=TYPE, MinCount=1, MaxCount=1, ClientToken=token)
    except ClientError as exc:
        return exc.response["Error"]["Code"]
    return "launched"


class Clocks(EmulatorTest):
    def setUp(self):
        super().setUp()
        self.ec2 = self.client("ec2")
        self.subnets, self.image = self.network(self.ec2)

    def clocks(self, **values):
        self.drover("POST", "settings", {"clocks": values})

    def one(self, **more):
        return self.ids(self.launch(self.ec2, self.image, self.subnets[ZONE_A], **more))[0]

    def test_instance_goes_through_all_states_and_vanishes(self):
        self.clocks(pending_s=2.5, shutting_down_s=2.5, gone_after_s=4)
        name = self.one()
        self.assertEqual(self.state(self.ec2, name), "pending")
        wait_until("running", lambda: self.state(self.ec2, name) == "running", 20)
        ended = self.ec2.terminate_instances(InstanceIds=[name])["TerminatingInstances"][0]
        self.assertEqual((ended["PreviousState"]["Name"], ended["CurrentState"]["Name"]), ("running", "shutting-down"))
        self.assertEqual(self.state(self.ec2, name), "shutting-down")
        wait_until("terminated", lambda: self.state(self.ec2, name) == "terminated", 20)
        shown = self.ec2.describe_instances(InstanceIds=[name])["Reservations"][0]["Instances"][0]
        self.assertNotIn("PrivateIpAddress", shown)
        self.assertEqual(shown["StateReason"]["Code"], "Client.UserInitiatedShutdown")
        wait_until("gone", lambda: not self.ec2.describe_instances()["Reservations"], 20)
        self.refused("InvalidInstanceID.NotFound", self.ec2.describe_instances, InstanceIds=[name])

    def test_fresh_instance_is_unknown_for_a_moment(self):
        self.clocks(visible_after_s=3.0, pending_s=0)
        name = self.one()
        self.refused("InvalidInstanceID.NotFound", self.ec2.describe_instances, InstanceIds=[name])
        self.refused("InvalidInstanceID.NotFound", self.ec2.terminate_instances, InstanceIds=[name])
        self.assertEqual(self.ec2.describe_instances()["Reservations"], [])
        wait_until("visible", lambda: self.ec2.describe_instances()["Reservations"], 20)
        self.assertEqual(self.state(self.ec2, name), "running")

    def test_stale_describe_shows_the_past_and_terminate_does_not(self):
        self.clocks(pending_s=0, shutting_down_s=0)
        name = self.one()
        time.sleep(0.1)
        self.clocks(describe_lag_s=5)
        wait_until("the launch to be seen", lambda: self.ec2.describe_instances()["Reservations"], 20)
        self.ec2.terminate_instances(InstanceIds=[name])
        self.assertEqual(self.state(self.ec2, name), "running")
        again = self.ec2.terminate_instances(InstanceIds=[name])["TerminatingInstances"][0]
        self.assertEqual(again["PreviousState"]["Name"], "terminated")
        wait_until("terminated", lambda: self.state(self.ec2, name) == "terminated", 20)

    def test_filters_see_the_state_of_the_moment(self):
        self.clocks(pending_s=60)
        self.one()
        wanted = [{"Name": "instance-state-name", "Values": ["running"]}]
        self.assertEqual(self.ec2.describe_instances(Filters=wanted)["Reservations"], [])
        wanted[0]["Values"].append("pending")
        self.assertEqual(len(self.ec2.describe_instances(Filters=wanted)["Reservations"]), 1)

    def test_address_of_an_ended_instance_is_used_again(self):
        self.clocks(pending_s=0, shutting_down_s=0)
        name = self.one()
        address = self.ec2.describe_instances()["Reservations"][0]["Instances"][0]["PrivateIpAddress"]
        self.ec2.terminate_instances(InstanceIds=[name])
        self.ec2.describe_instances()
        fresh = self.launch(self.ec2, self.image, self.subnets[ZONE_A])["Instances"][0]
        self.assertEqual(fresh["PrivateIpAddress"], address)


class Launching(EmulatorTest):
    def setUp(self):
        super().setUp()
        self.ec2 = self.client("ec2")
        self.subnets, self.image = self.network(self.ec2)

    def test_launches_up_to_max_count(self):
        reply = self.launch(self.ec2, self.image, self.subnets[ZONE_A], MinCount=1, MaxCount=3)
        self.assertEqual(len(reply["Instances"]), 3)

    def test_takes_what_is_in_stock_between_min_and_max(self):
        self.drover("POST", "settings", {"capacity": [{"type": TYPE, "limit": 2}]})
        reply = self.launch(self.ec2, self.image, self.subnets[ZONE_A], MinCount=1, MaxCount=3)
        self.assertEqual(len(reply["Instances"]), 2)

    def test_unknown_image_type_and_subnet_are_refused(self):
        self.refused("InvalidAMIID.NotFound", self.launch, self.ec2, "ami-00000000000000000", self.subnets[ZONE_A])
        self.refused("InvalidParameterValue", self.launch, self.ec2, self.image, self.subnets[ZONE_A], InstanceType="z9.huge")
        self.refused("InvalidSubnetID.NotFound", self.launch, self.ec2, self.image, "subnet-00000000000000000")
        self.assertEqual(self.drover("GET", "instances")["instances"], [])

    def test_dry_run_launches_nothing(self):
        self.refused("DryRunOperation", self.launch, self.ec2, self.image, self.subnets[ZONE_A], DryRun=True, ClientToken="d")
        self.assertEqual(self.drover("GET", "instances")["instances"], [])

    def test_full_subnet_is_refused(self):
        vpc = self.ec2.create_vpc(CidrBlock="10.9.0.0/16")["Vpc"]["VpcId"]
        small = self.ec2.create_subnet(VpcId=vpc, CidrBlock="10.9.0.0/28", AvailabilityZone=ZONE_A)["Subnet"]["SubnetId"]
        self.assertEqual(len(self.launch(self.ec2, self.image, small, MaxCount=11, MinCount=11)["Instances"]), 11)
        self.refused("InsufficientFreeAddressesInSubnet", self.launch, self.ec2, self.image, small)

    def test_template_gives_market_profile_groups_tags_and_user_data(self):
        iam = self.client("iam")
        iam.create_role(RoleName="worker", AssumeRolePolicyDocument="{}")
        iam.create_instance_profile(InstanceProfileName="worker")
        iam.add_role_to_instance_profile(InstanceProfileName="worker", RoleName="worker")
        vpc = self.ec2.describe_subnets(SubnetIds=[self.subnets[ZONE_A]])["Subnets"][0]["VpcId"]
        group = self.ec2.create_security_group(GroupName="w", Description="w", VpcId=vpc)["GroupId"]
        data = {
            "ImageId": self.image,
            "InstanceType": TYPE,
            "UserData": base64.b64encode(b"#!/bin/sh\n").decode(),
            "InstanceMarketOptions": {"MarketType": "spot", "SpotOptions": {"MaxPrice": "9"}},
            "IamInstanceProfile": {"Name": "worker"},
            "SecurityGroupIds": [group],
            "TagSpecifications": [{"ResourceType": "instance", "Tags": [{"Key": "pool", "Value": "w"}]}],
        }
        template = self.ec2.create_launch_template(LaunchTemplateName="w", LaunchTemplateData=data)["LaunchTemplate"]["LaunchTemplateId"]
        self.ec2.run_instances(
            LaunchTemplate={"LaunchTemplateId": template, "Version": "1"}, SubnetId=self.subnets[ZONE_B], MinCount=2, MaxCount=2
        )
        shown = self.ec2.describe_instances()["Reservations"][0]["Instances"]
        self.assertEqual(len(shown), 2)
        for instance in shown:
            self.assertEqual(instance["InstanceLifecycle"], "spot")
            self.assertTrue(instance["SpotInstanceRequestId"].startswith("sir-"))
            self.assertTrue(instance["IamInstanceProfile"]["Arn"].endswith("/worker"))
            self.assertEqual(instance["SecurityGroups"][0]["GroupId"], group)
            self.assertEqual(instance["Placement"]["AvailabilityZone"], ZONE_B)
            self.assertIn({"Key": "pool", "Value": "w"}, instance["Tags"])
        user_data = self.ec2.describe_instance_attribute(InstanceId=shown[0]["InstanceId"], Attribute="userData")
        self.assertEqual(base64.b64decode(user_data["UserData"]["Value"]), b"#!/bin/sh\n")

    def test_protected_instance_is_not_terminated(self):
        guarded = self.ids(self.launch(self.ec2, self.image, self.subnets[ZONE_A], DisableApiTermination=True))[0]
        same_zone = self.ids(self.launch(self.ec2, self.image, self.subnets[ZONE_A]))[0]
        other_zone = self.ids(self.launch(self.ec2, self.image, self.subnets[ZONE_B]))[0]
        self.refused("OperationNotPermitted", self.ec2.terminate_instances, InstanceIds=[other_zone, same_zone, guarded])
        ended = {i["id"]: i["ends_at"] is not None for i in self.drover("GET", "instances")["instances"]}
        self.assertEqual(ended, {guarded: False, same_zone: False, other_zone: True})
        self.ec2.modify_instance_attribute(InstanceId=guarded, DisableApiTermination={"Value": False})
        self.ec2.terminate_instances(InstanceIds=[guarded])

    def test_protection_set_later_holds_too(self):
        name = self.ids(self.launch(self.ec2, self.image, self.subnets[ZONE_A]))[0]
        self.ec2.modify_instance_attribute(InstanceId=name, DisableApiTermination={"Value": True})
        self.refused("OperationNotPermitted", self.ec2.terminate_instances, InstanceIds=[name])

    def test_unknown_and_malformed_ids_end_nothing(self):
        name = self.ids(self.launch(self.ec2, self.image, self.subnets[ZONE_A]))[0]
        self.refused("InvalidInstanceID.NotFound", self.ec2.terminate_instances, InstanceIds=[name, "i-0123456789abcdef0"])
        self.refused("InvalidInstanceID.Malformed", self.ec2.terminate_instances, InstanceIds=["worker-1"])
        self.assertIsNone(self.drover("GET", "instances")["instances"][0]["ends_at"])


if __name__ == "__main__":
    unittest.main()
