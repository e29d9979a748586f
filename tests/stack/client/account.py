"""The AWS account as a person has it before drover comes: a network with three zones, an image, a
launch template for workers, an instance profile, a queue for events, the two tables."""

import argparse
import json
import pathlib
import sys
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import boto3
from botocore.config import Config

CONFIG = Config(retries={"max_attempts": 2, "mode": "standard"}, connect_timeout=3, read_timeout=20)
STATE_TABLE, LOGS_TABLE, QUEUE = "drover-state", "drover-logs", "drover-events"
TEMPLATE, PROFILE = "drover-worker", "drover-worker"
CLUSTER_TAG = "drover.dev/cluster"


class Clients:
    """boto3 clients of one stack, made once: making one costs more than a call."""

    def __init__(self, aws, dynamodb, region, key="stack", secret="stack", token=None):
        self.aws, self.dynamodb_url, self.region = aws, dynamodb, region
        self.session = boto3.session.Session(aws_access_key_id=key, aws_secret_access_key=secret, aws_session_token=token,
                                             region_name=region)
        self.made = {}

    def __call__(self, service):
        if service not in self.made:
            url = self.dynamodb_url if service == "dynamodb" else self.aws
            self.made[service] = self.session.client(service, endpoint_url=url, config=CONFIG)
        return self.made[service]


def make_network(ec2, region):
    vpc = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    subnets = []
    for index, letter in enumerate("abc", 1):
        zone = f"{region}{letter}"
        subnet = ec2.create_subnet(VpcId=vpc, CidrBlock=f"10.0.{index}.0/24", AvailabilityZone=zone)["Subnet"]["SubnetId"]
        subnets.append({"id": subnet, "zone": zone})
    group = ec2.create_security_group(GroupName="drover-worker", Description="workers of the stack", VpcId=vpc)["GroupId"]
    return vpc, subnets, group


def make_queue(clients):
    """A queue, and the emulator told to send EC2's warnings into it, as an EventBridge rule would."""
    url = clients("sqs").create_queue(QueueName=QUEUE, Attributes={"MessageRetentionPeriod": "86400"})["QueueUrl"]
    body = json.dumps({"events": {"queue": QUEUE}}).encode()
    request = urllib.request.Request(clients.aws + "/drover/settings", body, {"Content-Type": "application/json"})
    urllib.request.urlopen(request, timeout=10).close()
    return url


def make_profile(iam):
    trust = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com"},
                                                      "Action": "sts:AssumeRole"}]}
    iam.create_role(RoleName=PROFILE, AssumeRolePolicyDocument=json.dumps(trust))
    iam.create_instance_profile(InstanceProfileName=PROFILE)
    iam.add_role_to_instance_profile(InstanceProfileName=PROFILE, RoleName=PROFILE)


def make_template(ec2, image, group, cluster):
    tags = [{"Key": CLUSTER_TAG, "Value": cluster}, {"Key": "drover.dev/role", "Value": "worker"}]
    answer = ec2.create_launch_template(LaunchTemplateName=TEMPLATE, LaunchTemplateData={
        "ImageId": image, "InstanceType": "t3.medium", "SecurityGroupIds": [group],
        "IamInstanceProfile": {"Name": PROFILE}, "MetadataOptions": {"HttpTokens": "required", "HttpEndpoint": "enabled"},
        "TagSpecifications": [{"ResourceType": "instance", "Tags": tags}]})
    return answer["LaunchTemplate"]["LaunchTemplateId"]


def make_tables(dynamodb):
    """Both tables, empty: a table that is there already is replaced."""
    shapes = {
        STATE_TABLE: [("pk", "HASH")],
        LOGS_TABLE: [("pk", "HASH"), ("sk", "RANGE")],
    }
    for name in dynamodb.list_tables()["TableNames"]:
        dynamodb.delete_table(TableName=name)
    for name, keys in shapes.items():
        dynamodb.create_table(TableName=name, BillingMode="PAY_PER_REQUEST",
                              KeySchema=[{"AttributeName": k, "KeyType": t} for k, t in keys],
                              AttributeDefinitions=[{"AttributeName": k, "AttributeType": "S"} for k, _ in keys])


def make_account(clients, cluster="drover"):
    """Makes everything in an empty account and returns its names and ids."""
    with ThreadPoolExecutor(2) as pool:
        tables = pool.submit(make_tables, clients("dynamodb"))
        queue = make_queue(clients)
        ec2 = clients("ec2")
        vpc, subnets, group = make_network(ec2, clients.region)
        image = ec2.register_image(Name="drover-worker", RootDeviceName="/dev/xvda", Architecture="x86_64",
                                   VirtualizationType="hvm")["ImageId"]
        make_profile(clients("iam"))
        template = make_template(ec2, image, group, cluster)
        tables.result()
    return {"cluster": cluster, "cluster_tag": CLUSTER_TAG, "vpc": vpc, "subnets": subnets, "security_group": group,
            "image": image, "launch_template": template, "instance_profile": PROFILE, "queue_url": queue,
            "state_table": STATE_TABLE, "logs_table": LOGS_TABLE}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("aws", "dynamodb", "region", "out"):
        parser.add_argument(f"--{name}", required=True)
    args = parser.parse_args()
    account = make_account(Clients(args.aws, args.dynamodb, args.region))
    pathlib.Path(args.out).write_text(json.dumps(account, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
