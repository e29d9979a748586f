"""Signatures, sessions and policies: what a wrong caller gets to see."""

import datetime
import json
import os
import subprocess
import sys
import time
import unittest
from unittest import mock

from emulated import IMAGE, REGION, ZONE_A, EmulatorTest, ask

ACCOUNT = "123456789012"


def allow(actions, resource="*", **condition):
    statement = {"Effect": "Allow", "Action": actions, "Resource": resource}
    if condition:
        statement["Condition"] = condition
    return statement


class Callers(EmulatorTest):
    """Auth is enforced after the world is set up."""

    def setUp(self):
        super().setUp()
        self.subnets, self.image = self.network(self.client("ec2"))

    def enforce(self):
        self.drover("POST", "settings", {"auth": {"enforce": True}})

    def caller(self, service, *statements, kind="user", session_s=3600, **override):
        made = self.drover(
            "POST",
            "credentials",
            {"name": "tester", "kind": kind, "session_s": session_s, "policies": [{"Version": "2012-10-17", "Statement": list(statements)}]},
        )
        keys = {"aws_access_key_id": made["access_key_id"], "aws_secret_access_key": made["secret_access_key"]}
        if "session_token" in made:
            keys["aws_session_token"] = made["session_token"]
        return self.client(service, **{**keys, **override})


class Signatures(Callers):
    def test_right_signature_is_accepted_by_every_protocol(self):
        self.enforce()
        everything = allow("*")
        self.caller("ec2", everything).describe_instances(Filters=[{"Name": "tag:a b", "Values": ["x*y+z %20 ü"]}])
        self.caller("ssm", everything).describe_parameters()
        self.caller("sns", everything).list_topics()
        self.caller("sqs", everything).list_queues()
        self.caller("cloudwatch", everything).put_metric_data(Namespace="N", MetricData=[{"MetricName": "m", "Value": 1}])
        self.caller("sts", everything).get_caller_identity()
        self.caller("iam", everything).list_users()

    def test_wrong_secret_is_refused(self):
        self.enforce()
        wrong = {"aws_secret_access_key": "wrong"}
        reply = self.refused("AuthFailure", self.caller("ec2", allow("*"), **wrong).describe_instances)
        self.assertEqual(reply["ResponseMetadata"]["HTTPStatusCode"], 401)
        self.refused("InvalidSignatureException", self.caller("ssm", allow("*"), **wrong).describe_parameters)
        self.refused("SignatureDoesNotMatch", self.caller("sns", allow("*"), **wrong).list_topics)

    def test_unknown_key_is_refused(self):
        self.enforce()
        self.refused("AuthFailure", self.client("ec2").describe_instances)
        self.refused("UnrecognizedClientException", self.client("ssm").describe_parameters)
        self.refused("InvalidClientTokenId", self.client("sns").list_topics)

    def test_unsigned_request_is_refused(self):
        self.enforce()
        status, text = ask(
            "POST", self.part.url + "/", b"Action=DescribeInstances&Version=2016-11-15", {"Content-Type": "application/x-www-form-urlencoded"}
        )
        self.assertEqual(status, 401)
        self.assertIn("<Code>AuthFailure</Code>", text)

    def test_old_signature_is_refused(self):
        self.enforce()
        client = self.caller("ssm", allow("*"))
        past = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(minutes=10)
        with mock.patch("botocore.auth.get_current_datetime", return_value=past.replace(tzinfo=None)):
            reply = self.refused("InvalidSignatureException", client.describe_parameters)
        self.assertIn("Signature expired", reply["Error"]["Message"])

    def test_changed_body_is_refused(self):
        self.enforce()
        client = self.caller("ec2", allow("*"))

        def tamper(request, **_):
            request.body = request.body.replace("MaxResults=5", "MaxResults=6")

        client.meta.events.register("before-send.ec2.DescribeInstances", tamper)
        self.refused("AuthFailure", client.describe_instances, MaxResults=5)

    def test_nothing_is_checked_until_enforced(self):
        self.client("ec2").describe_instances()

    def test_moto_switch_works_too(self):
        self.assertEqual(ask("POST", self.part.url + "/moto-api/reset-auth", b"0", {"Content-Type": "text/plain"})[0], 200)
        self.refused("AuthFailure", self.client("ec2").describe_instances)
        self.drover("POST", "reset")
        self.client("ec2").describe_instances()


class Sessions(Callers):
    def test_session_works_and_an_expired_one_does_not(self):
        self.enforce()
        self.caller("ec2", allow("*"), kind="role").describe_instances()
        ec2 = self.caller("ec2", allow("*"), kind="role", session_s=1)
        ssm = self.caller("ssm", allow("*"), kind="role", session_s=1)
        time.sleep(1.1)
        self.refused("RequestExpired", ec2.describe_instances)
        self.refused("ExpiredTokenException", ssm.describe_parameters)

    def test_stale_session_token_is_refused(self):
        self.enforce()
        ec2 = self.caller("ec2", allow("*"), kind="role", aws_session_token="of-yesterday")
        self.refused("AuthFailure", ec2.describe_instances)
        sns = self.caller("sns", allow("*"), kind="role", aws_session_token=None)
        self.refused("InvalidClientTokenId", sns.list_topics)

    def test_assumed_role_has_the_roles_permissions(self):
        iam = self.client("iam")
        trust = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"AWS": f"arn:aws:iam::{ACCOUNT}:user/tester"}, "Action": "sts:AssumeRole"}]}
        for name, document in (("reader", trust), ("closed", {**trust, "Statement": [{**trust["Statement"][0], "Principal": {"AWS": "arn:aws:iam::1:root"}}]})):
            iam.create_role(RoleName=name, AssumeRolePolicyDocument=json.dumps(document))
            iam.put_role_policy(RoleName=name, PolicyName="p", PolicyDocument=json.dumps({**trust, "Statement": [allow("ec2:Describe*")]}))
        self.enforce()
        sts = self.caller("sts", allow("sts:AssumeRole"))
        keys = sts.assume_role(RoleArn=f"arn:aws:iam::{ACCOUNT}:role/reader", RoleSessionName="session")["Credentials"]
        ec2 = self.client(
            "ec2", aws_access_key_id=keys["AccessKeyId"], aws_secret_access_key=keys["SecretAccessKey"], aws_session_token=keys["SessionToken"]
        )
        ec2.describe_instances()
        self.refused("UnauthorizedOperation", ec2.create_vpc, CidrBlock="10.3.0.0/16")
        self.refused("AccessDenied", sts.assume_role, RoleArn=f"arn:aws:iam::{ACCOUNT}:role/closed", RoleSessionName="session")


class CredentialSources(Callers):
    """boto3 finds its keys by itself, as on a machine with a role."""

    def identity(self, **environment):
        code = (
            "import boto3,os;c=boto3.client('sts',endpoint_url=os.environ['URL'],region_name='us-east-1');"
            "print(c.get_caller_identity()['Arn'])"
        )
        base = {"PATH": os.environ["PATH"], "HOME": self.part.directory.name, "URL": self.part.url}
        done = subprocess.run([sys.executable, "-c", code], env={**base, **environment}, capture_output=True, text=True, timeout=60)
        return done.stdout.strip() or done.stderr.strip().splitlines()[-1]

    def serve(self, session_s):
        policies = [{"Version": "2012-10-17", "Statement": [allow("*")]}]
        self.drover("POST", "credentials", {"name": "worker", "kind": "role", "serve": True, "session_s": session_s, "policies": policies})

    def test_metadata_service_gives_keys_that_work(self):
        self.serve(3600)
        self.enforce()
        arn = self.identity(AWS_EC2_METADATA_SERVICE_ENDPOINT=self.part.url)
        self.assertIn(f"arn:aws:sts::{ACCOUNT}:assumed-role/worker/", arn)

    def test_container_endpoint_gives_keys_that_work(self):
        self.serve(3600)
        self.enforce()
        arn = self.identity(AWS_CONTAINER_CREDENTIALS_FULL_URI=self.part.url + "/drover/container-credentials")
        self.assertIn(":assumed-role/worker/", arn)

    def test_without_a_role_there_are_no_keys(self):
        self.assertIn("NoCredentialsError", self.identity(AWS_EC2_METADATA_SERVICE_ENDPOINT=self.part.url))
        self.drover("GET", "container-credentials", expect=404)

    def test_metadata_needs_a_token(self):
        self.serve(3600)
        path = f"{self.part.url}/latest/meta-data/iam/security-credentials/"
        self.assertEqual(ask("GET", path)[0], 401)
        self.assertEqual(ask("PUT", f"{self.part.url}/latest/api/token", b"")[0], 400)
        status, token = ask("PUT", f"{self.part.url}/latest/api/token", b"", {"X-aws-ec2-metadata-token-ttl-seconds": "60"})
        self.assertEqual(status, 200)
        self.assertEqual(ask("GET", path, None, {"X-aws-ec2-metadata-token": token}), (200, "worker"))

    def test_keys_are_renewed_before_they_expire(self):
        self.serve(8)
        first = self.drover("GET", "container-credentials")
        self.assertEqual(self.drover("GET", "container-credentials")["AccessKeyId"], first["AccessKeyId"])
        time.sleep(4.1)
        self.assertNotEqual(self.drover("GET", "container-credentials")["AccessKeyId"], first["AccessKeyId"])


class Policies(Callers):
    def run_once(self, ec2, **more):
        return self.launch(ec2, IMAGE, self.subnets[ZONE_A], **more)

    def test_action_outside_the_policy_is_refused(self):
        self.enforce()
        ec2 = self.caller("ec2", allow("ec2:Describe*"))
        ec2.describe_instances()
        reply = self.refused("UnauthorizedOperation", self.run_once, ec2)
        self.assertEqual(reply["ResponseMetadata"]["HTTPStatusCode"], 403)
        self.assertIn("ec2:RunInstances", reply["Error"]["Message"])
        self.refused("AccessDeniedException", self.caller("ssm", allow("ec2:*")).describe_parameters)
        self.refused("AccessDenied", self.caller("sns", allow("ec2:*")).list_topics)
        self.assertEqual(self.drover("GET", "instances")["instances"], [])

    def test_explicit_denial_wins(self):
        self.enforce()
        ec2 = self.caller("ec2", allow("*"), {"Effect": "Deny", "Action": "ec2:RunInstances", "Resource": "*"})
        ec2.describe_instances()
        self.refused("UnauthorizedOperation", self.run_once, ec2)

    def test_terminate_only_what_carries_the_tag(self):
        admin = self.client("ec2")
        tags = [{"ResourceType": "instance", "Tags": [{"Key": "drover/pool", "Value": "w"}]}]
        ours = self.ids(self.run_once(admin, TagSpecifications=tags))[0]
        others = self.ids(self.run_once(admin))[0]
        self.enforce()
        condition = {"StringEquals": {"aws:ResourceTag/drover/pool": "w"}}
        ec2 = self.caller("ec2", allow("ec2:TerminateInstances", f"arn:aws:ec2:*:{ACCOUNT}:instance/*", **condition))
        self.refused("UnauthorizedOperation", ec2.terminate_instances, InstanceIds=[others])
        self.refused("UnauthorizedOperation", ec2.terminate_instances, InstanceIds=[ours, others])
        ec2.terminate_instances(InstanceIds=[ours])

    def test_launch_with_tags_needs_create_tags_and_the_right_tags(self):
        self.enforce()
        run = allow("ec2:RunInstances")
        tag = allow("ec2:CreateTags", "arn:aws:ec2:*:*:instance/*", StringEquals={"ec2:CreateAction": "RunInstances", "aws:RequestTag/pool": "w"})
        tags = [{"ResourceType": "instance", "Tags": [{"Key": "pool", "Value": "w"}]}]
        wrong = [{"ResourceType": "instance", "Tags": [{"Key": "pool", "Value": "x"}]}]
        without = self.caller("ec2", run)
        self.refused("UnauthorizedOperation", self.run_once, without, TagSpecifications=tags)
        having = self.caller("ec2", run, tag)
        self.refused("UnauthorizedOperation", self.run_once, having, TagSpecifications=wrong)
        self.run_once(having, TagSpecifications=tags)

    def test_launch_is_checked_on_every_resource(self):
        self.enforce()
        base = f"arn:aws:ec2:{REGION}"
        made = [f"{base}:{ACCOUNT}:{kind}/*" for kind in ("instance", "volume", "network-interface")]
        narrow = allow("ec2:RunInstances", made + [f"{base}::image/*"])
        self.refused("UnauthorizedOperation", self.run_once, self.caller("ec2", narrow))
        subnet = allow("ec2:RunInstances", f"{base}:{ACCOUNT}:subnet/{self.subnets[ZONE_A]}")
        ec2 = self.caller("ec2", narrow, subnet)
        self.run_once(ec2)
        self.refused("UnauthorizedOperation", self.run_once, ec2, Spot=None)

    def test_instance_profile_needs_pass_role(self):
        iam = self.client("iam")
        arn = iam.create_role(RoleName="worker", AssumeRolePolicyDocument="{}")["Role"]["Arn"]
        iam.create_instance_profile(InstanceProfileName="worker")
        iam.add_role_to_instance_profile(InstanceProfileName="worker", RoleName="worker")
        self.enforce()
        profile = {"IamInstanceProfile": {"Name": "worker"}}
        run = allow("ec2:RunInstances")
        self.refused("UnauthorizedOperation", self.run_once, self.caller("ec2", run), **profile)
        passing = allow("iam:PassRole", arn, StringEquals={"iam:PassedToService": "ec2.amazonaws.com"})
        self.run_once(self.caller("ec2", run, passing), **profile)

    def test_queue_parameter_and_namespace_are_compared(self):
        queue = self.client("sqs").create_queue(QueueName="mine")["QueueUrl"]
        other = self.client("sqs").create_queue(QueueName="other")["QueueUrl"]
        self.client("ssm").put_parameter(Name="/drover/token", Value="v", Type="SecureString")
        self.enforce()
        sqs = self.caller("sqs", allow("sqs:ReceiveMessage", f"arn:aws:sqs:{REGION}:{ACCOUNT}:mine"))
        sqs.receive_message(QueueUrl=queue)
        self.refused("AccessDeniedException", sqs.receive_message, QueueUrl=other)
        ssm = self.caller("ssm", allow("ssm:GetParameter", "arn:aws:ssm:*:*:parameter/drover/*"))
        ssm.get_parameter(Name="/drover/token", WithDecryption=True)
        self.refused("AccessDeniedException", ssm.get_parameter, Name="/other")

    def test_permission_of_a_single_message_covers_the_batch(self):
        queue = self.client("sqs").create_queue(QueueName="mine")["QueueUrl"]
        self.client("sqs").send_message(QueueUrl=queue, MessageBody="x")
        self.enforce()
        sqs = self.caller("sqs", allow(["sqs:ReceiveMessage", "sqs:DeleteMessage"]))
        message = sqs.receive_message(QueueUrl=queue)["Messages"][0]
        entry = {"Id": "1", "ReceiptHandle": message["ReceiptHandle"]}
        self.assertEqual(len(sqs.delete_message_batch(QueueUrl=queue, Entries=[entry])["Successful"]), 1)
        self.refused("AccessDeniedException", sqs.send_message_batch, QueueUrl=queue, Entries=[{"Id": "1", "MessageBody": "x"}])

    def test_caller_is_in_the_log(self):
        ec2 = self.caller("ec2", allow("*"))
        ec2.describe_instances()
        logged = self.drover("GET", "calls?action=DescribeInstances")["calls"][-1]
        self.assertEqual(logged["caller"], ec2._request_signer._credentials.access_key)


del Callers
if __name__ == "__main__":
    unittest.main()
