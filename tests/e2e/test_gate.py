"""The gate itself: what goes through is unchanged, and every rule does what it says."""

import unittest

from botocore.exceptions import BotoCoreError, ClientError

from client.account import Clients
from client.kube import Kube
from gate import Reply, kube_action, service
from world import EndToEnd


class Names(unittest.TestCase):
    def test_kubernetes_requests_are_named_as_rbac_names_them(self):
        for method, path, query, want in (
                ("GET", "/api/v1/nodes", {}, "list nodes"), ("GET", "/api/v1/pods", {"watch": "1"}, "watch pods"),
                ("PATCH", "/api/v1/nodes/n1", {}, "patch nodes"), ("GET", "/api/v1/namespaces/a/pods/p", {}, "get pods"),
                ("POST", "/api/v1/namespaces/a/pods/p/eviction", {}, "create pods/eviction"),
                ("GET", "/apis/policy/v1/poddisruptionbudgets", {}, "list poddisruptionbudgets"),
                ("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {}, "create selfsubjectaccessreviews")):
            self.assertEqual(kube_action(method, path, query), want)


class Passing(EndToEnd):
    def client(self, name):
        return Clients(self.gates.aws.url, self.gates.dynamodb.url, "us-east-1", self.keys["access_key_id"],
                       self.keys["secret_access_key"])(name)

    def test_signed_requests_pass_and_are_named(self):
        self.client("ec2").describe_instances()
        self.client("dynamodb").get_item(TableName="drover-state", Key={"pk": {"S": "x"}})
        self.assertEqual([(c.service, c.action, c.status) for c in self.gates.calls()],
                         [("ec2", "DescribeInstances", 200), ("dynamodb", "GetItem", 200)])
        self.assertEqual(self.gates.effects(), [])

    def test_rules_strike_as_often_as_they_say(self):
        throttled = Reply(400, {"__type": "com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException", "message": "slow"},
                          [("Content-Type", "application/x-amz-json-1.0")])
        self.gates.dynamodb.rule(service("dynamodb", "GetItem"), throttled, skip=1, count=None)
        table, key = self.client("dynamodb"), {"pk": {"S": "x"}}
        table.get_item(TableName="drover-state", Key=key)
        with self.assertRaises(ClientError):
            table.get_item(TableName="drover-state", Key=key)

    def test_shut_gate_refuses_and_opens_again_on_its_port(self):
        port = self.gates.prometheus.port
        self.gates.aws.shut()
        with self.assertRaises(BotoCoreError):
            self.client("ec2").describe_instances()
        self.gates.aws.listen()
        self.client("ec2").describe_instances()
        self.assertEqual(self.gates.prometheus.port, port)

    def test_token_of_the_shipped_role_passes_and_may_no_more(self):
        kube = Kube(self.stack.dir / "kubeconfig", token=self.shared.token_file.read_text(), server=self.gates.kubernetes.url)
        self.assertEqual(kube.items("/api/v1/nodes"), [])
        status, _, _ = kube.raw("GET", "/api/v1/secrets")
        self.assertEqual(status, 403)
        self.gates.forget()
