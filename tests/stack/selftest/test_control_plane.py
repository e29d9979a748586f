"""Nodes, pods, evictions, budgets, permissions and tokens on the real control plane."""

import base64
import json
import subprocess
import time

from client.kube import Kube, condition, is_ready, is_unschedulable, wait_for
from on_stack import StackTest

CORE = ("apiserver", "controller-manager", "scheduler", "kwok", "aws", "glue")


class Nodes(StackTest):
    needs = CORE

    def test_instance_that_runs_becomes_a_ready_node_with_its_identity(self):
        (instance,), (node,) = self.join(zone=1)
        facts = self.stack.aws("ec2").describe_instances(InstanceIds=[instance])["Reservations"][0]["Instances"][0]
        shown = json.loads(self.stack.kubectl("get", "node", node["metadata"]["name"], "-o", "json").stdout)
        self.assertEqual(shown["spec"]["providerID"], f"aws:///us-east-1b/{instance}")
        labels = shown["metadata"]["labels"]
        self.assertEqual(labels["drover.dev/instance-id"], instance)
        self.assertEqual(labels["topology.kubernetes.io/zone"], "us-east-1b")
        self.assertEqual(labels["topology.kubernetes.io/region"], "us-east-1")
        self.assertEqual(labels["node.kubernetes.io/instance-type"], facts["InstanceType"])
        addresses = {a["type"]: a["address"] for a in shown["status"]["addresses"]}
        self.assertEqual(addresses["InternalIP"], facts["PrivateIpAddress"])
        self.assertEqual(addresses["Hostname"], shown["metadata"]["name"])
        self.assertRegex(shown["metadata"]["name"], r"^ip-10-0-2-\d+$")

    def test_boot_delay_holds_the_join_back(self):
        self.stack.glue.post("/settings", {"bootSeconds": 3})
        instance = self.stack.launch()[0]
        wait_for(lambda: self.machine(instance) is not None, "the glue to see the instance run", 10)
        begun = time.monotonic()
        self.stack.wait_joined([instance])
        self.assertGreater(time.monotonic() - begun, 2.0)

    def machine(self, instance):
        return next((m for m in self.stack.glue.get("/state")["instances"] if m["instance"] == instance), None)

    def never_joins(self, instance):
        """The glue has decided, a second instance has joined since, and there is still no Node."""
        wait_for(lambda: (self.machine(instance) or {}).get("state") == "never", f"{instance} told not to join", 10)
        self.assertIsNone(self.stack.node_of(instance))

    def test_instances_told_never_to_join_do_not(self):
        self.stack.glue.post("/settings", {"bootSeconds": 0})
        by_tag = self.stack.launch(tags={"stack.drover.dev/join": "never"})[0]
        self.never_joins(by_tag)
        self.stack.glue.post("/never-join", {"count": 1})
        first = self.stack.launch()[0]
        self.never_joins(first)
        second = self.stack.launch()[0]
        self.stack.wait_joined([second])
        self.assertIsNone(self.stack.node_of(first))
        self.assertIsNone(self.stack.node_of(by_tag))

    def test_node_of_an_ended_machine_stays_and_becomes_not_ready(self):
        (instance,), (node,) = self.join()
        self.stack.aws("ec2").terminate_instances(InstanceIds=[instance])
        grace = self.stack.options["node_grace_sec"]

        def unknown():
            seen = condition(self.stack.node_of(instance), "Ready")
            return seen[0] == "Unknown", seen
        wait_for(unknown, "the Node of the ended machine to be NotReady", grace + 30)

        def tainted():
            taints = [t["key"] for t in self.stack.node_of(instance)["spec"].get("taints", [])]
            return "node.kubernetes.io/unreachable" in taints, taints
        wait_for(tainted, "its taint")

    def test_name_of_a_dead_node_is_refused_until_the_node_is_deleted(self):
        (instance,), (node,) = self.join()
        name = node["metadata"]["name"]
        self.stack.glue.post("/pause")
        # The same machine name with another identity, as when an address is used again.
        self.kube.patch(f"/api/v1/nodes/{name}", {"metadata": {"labels": {"drover.dev/instance-id": "i-0gone"}}})
        self.stack.glue.post("/reset")
        wait_for(lambda: (self.machine(instance) or {}).get("refused") == name, "the join to be refused", 15)
        self.stack.kubectl("delete", "node", name)
        self.stack.wait_joined([instance])

    def test_node_reported_not_ready_comes_back(self):
        (instance,), _ = self.join()
        self.stack.glue.post("/not-ready", {"instance": instance})
        self.assertEqual(condition(self.stack.node_of(instance), "Ready"), ("False", "KubeletNotReady"))
        self.stack.glue.post("/ready-again", {"instance": instance})
        self.stack.wait_joined([instance])

    def test_spot_warning_arrives_in_the_queue_and_then_the_machine_ends(self):
        (instance,), _ = self.join(market="spot")
        self.stack.emulator.post("/drover/interrupt", {"instance": instance, "seconds": 1})
        sqs = self.stack.aws("sqs")
        body = wait_for(lambda: sqs.receive_message(QueueUrl=self.stack.account["queue_url"]).get("Messages"), "the warning", 10)
        event = json.loads(body[0]["Body"])
        self.assertEqual(event["detail-type"], "EC2 Spot Instance Interruption Warning")
        self.assertEqual(event["detail"], {"instance-id": instance, "instance-action": "terminate"})
        wait_for(lambda: (self.machine(instance)["state"] == "dead", self.machine(instance)), "the machine to end", 15)
        labels = self.stack.node_of(instance)["metadata"]["labels"]
        self.assertNotIn("stack.drover.dev/machine", labels)

    def test_server_of_the_cluster_is_a_tainted_control_plane_node(self):
        _, (node,) = self.join(tags={"drover.dev/role": "server"})
        self.assertEqual(node["metadata"]["labels"]["node-role.kubernetes.io/control-plane"], "true")
        self.assertIn("node-role.kubernetes.io/control-plane", {t["key"] for t in node["spec"]["taints"]})

    def test_wrong_orders_to_the_glue_are_refused_with_the_reason(self):
        for path, body, words in (("/settings", {"bootSeconds": -1}, "0..86400"), ("/settings", {"boot": 1}, "unknown setting boot"),
                                  ("/never-join", {}, "want instance, count or all"), ("/not-ready", {"instance": "i-none"}, "has no Node"),
                                  ("/nothing", {}, "no page")):
            with self.subTest(path=path, body=body), self.assertRaises(RuntimeError) as caught:
                self.stack.glue.post(path, body)
            self.assertIn(words, str(caught.exception))


class Pods(StackTest):
    needs = CORE

    def test_pod_that_fits_nowhere_is_pending_and_unschedulable(self):
        self.join()
        self.work.deployment("huge", cpu="64")

        def look():
            pods = self.kube.pods("default", "app=huge")
            return bool(pods) and is_unschedulable(pods[0]) and pods[0], [condition(p, "PodScheduled") for p in pods]
        pod = wait_for(look, "an unschedulable pod", 20)
        self.assertEqual(pod["status"]["phase"], "Pending")
        text = self.stack.kubectl("get", "pod", pod["metadata"]["name"], "-o",
                                  "jsonpath={.status.conditions[?(@.type=='PodScheduled')].message}").stdout
        self.assertIn("Insufficient cpu", text)

    def test_pending_pods_run_when_a_node_joins(self):
        self.work.deployment("web", 3)
        wait_for(lambda: [is_unschedulable(p) for p in self.kube.pods("default", "app=web")] == [True] * 3, "three pending pods", 20)
        self.join()
        self.work.wait_pods("web", 3)

    def test_pods_end_at_once_slowly_by_grace_or_never(self):
        _, (node,) = self.join()
        name = node["metadata"]["name"]
        self.work.pod("quick", node=name)
        self.work.pod("slow", node=name, ends_after_sec=4)
        self.work.pod("killed", node=name, ends_after_sec=600, grace_sec=2)
        self.work.pod("stuck", node=name, stuck=True)
        wait_for(lambda: sum(is_ready(p) for p in self.kube.pods("default")) == 4, "four ready pods", 20)
        begun, gone = time.monotonic(), {}
        for pod in ("quick", "slow", "killed", "stuck"):
            self.assertEqual(self.kube.evict("default", pod)[0], 201)

        def look():
            left = {p["metadata"]["name"] for p in self.kube.pods("default")}
            for pod in {"quick", "slow", "killed", "stuck"} - left - set(gone):
                gone[pod] = time.monotonic() - begun
            return left == {"stuck"}, left
        wait_for(look, "all pods but the stuck one to go", 20)
        # The API server keeps times in whole seconds.
        self.assertLess(gone["quick"], 2.0)
        self.assertTrue(1.0 < gone["killed"] < 4.0, gone)
        self.assertTrue(2.5 < gone["slow"] < 7.0, gone)
        self.work.unstick("stuck")
        wait_for(lambda: not self.kube.pods("default"), "the stuck pod to go", 10)

    def test_daemon_set_and_critical_pods_run_on_every_node_and_in_kube_system(self):
        _, nodes = self.join(2)
        self.work.daemon_set("agent")
        self.work.critical_pod("dns", node=nodes[0]["metadata"]["name"])
        pods = self.work.wait_pods("agent", 2, "kube-system")
        self.assertEqual({p["spec"]["nodeName"] for p in pods}, {n["metadata"]["name"] for n in nodes})
        self.assertEqual({p["metadata"]["ownerReferences"][0]["kind"] for p in pods}, {"DaemonSet"})
        critical = self.work.wait_pods("dns", 1, "kube-system")[0]
        self.assertEqual(critical["spec"]["priority"], 2000000000)


class Evictions(StackTest):
    needs = CORE

    def test_eviction_is_granted_refused_by_a_budget_and_not_found(self):
        self.join()
        self.work.deployment("web", 2)
        self.work.budget("web", minAvailable=2)
        pods = self.work.wait_pods("web", 2)
        self.work.wait_budget("web", currentHealthy=2, disruptionsAllowed=0)
        name = pods[0]["metadata"]["name"]
        status, body = self.kube.evict("default", name)
        self.assertEqual(status, 429)
        self.assertEqual(body["details"]["causes"][0]["reason"], "DisruptionBudget")
        self.kube.delete("/apis/policy/v1/namespaces/default/poddisruptionbudgets/web")
        self.assertEqual(self.kube.evict("default", name)[0], 201)
        self.assertEqual(self.kube.evict("default", "no-such-pod")[0], 404)

    def test_eviction_with_the_uid_of_another_pod_is_a_conflict(self):
        self.join()
        self.work.pod("one")
        self.work.wait_pods("one", 1)
        self.assertEqual(self.kube.evict("default", "one", uid="00000000-0000-0000-0000-000000000000")[0], 409)

    def test_budget_in_percent_allows_the_rounded_number(self):
        self.join()
        # Full node, slow ends: no successor can become ready between the evictions.
        self.work.deployment("web", 5, cpu="350m", ends_after_sec=25)
        self.work.budget("web", maxUnavailable="30%")
        pods = self.work.wait_pods("web", 5)
        # 30 % of 5 is 1.5; Kubernetes rounds up.
        self.work.wait_budget("web", expectedPods=5, disruptionsAllowed=2, desiredHealthy=3)
        answers = [self.kube.evict("default", p["metadata"]["name"])[0] for p in pods[:3]]
        self.assertEqual(answers, [201, 201, 429])

    def test_kubectl_drain_empties_a_node(self):
        _, nodes = self.join(2)
        self.work.deployment("web", 4)
        self.work.wait_pods("web", 4)
        leaving = nodes[0]["metadata"]["name"]
        self.stack.kubectl("drain", leaving, "--ignore-daemonsets", "--timeout=30s")
        pods = self.work.wait_pods("web", 4)
        self.assertEqual({p["spec"]["nodeName"] for p in pods}, {nodes[1]["metadata"]["name"]})


class Identities(StackTest):
    needs = CORE

    def account(self, name, verbs):
        """A service account that may do these verbs on pods of the default namespace."""
        return self.work.service_account(name, [{"apiGroups": [""], "resources": ["pods"], "verbs": verbs}])

    def test_rbac_allows_what_the_role_says_and_refuses_the_rest(self):
        self.account("reader", ["get", "list"])
        token = self.kube.token_for("default", "reader")
        wait_for(lambda: self.stack.kubectl("get", "pods", token=token, check=False).returncode == 0, "the role to be known", 10)
        for arguments in (("get", "nodes"), ("delete", "pod", "any"), ("get", "pods", "-n", "kube-system")):
            done = self.stack.kubectl(*arguments, token=token, check=False)
            self.assertEqual(done.returncode, 1, arguments)
            self.assertIn("Forbidden", done.stderr)

    def forged(self, account, expires_in_sec):
        """A token signed with the cluster's own key: all that may be wrong with it is its time."""
        now = int(time.time())
        claims = {"iss": "https://kubernetes.default.svc", "aud": ["https://kubernetes.default.svc"], "iat": now - 7200,
                  "nbf": now - 7200, "exp": now + expires_in_sec, "sub": f"system:serviceaccount:default:{account['metadata']['name']}",
                  "kubernetes.io": {"namespace": "default", "serviceaccount": {"name": account["metadata"]["name"],
                                                                                "uid": account["metadata"]["uid"]}}}
        genuine = self.kube.token_for("default", account["metadata"]["name"])
        head = genuine.split(".")[0]
        signed = head + "." + encode(json.dumps(claims).encode())
        done = subprocess.run(["openssl", "dgst", "-sha256", "-sign", str(self.stack.dir / "pki/sa.key")], input=signed.encode(),
                              capture_output=True, check=True)
        return signed + "." + encode(done.stdout)

    def status_with(self, token):
        kube = Kube(self.stack.dir / "kubeconfig", token=token)
        return kube.raw("GET", "/api/v1/namespaces/default/pods")[0]

    def test_bearer_token_works_and_an_expired_or_broken_one_does_not(self):
        account = self.account("reader", ["get", "list"])
        token = self.stack.kubectl("create", "token", "reader").stdout.strip()
        wait_for(lambda: self.status_with(token) == 200, "the token to be accepted", 10)
        self.assertEqual(self.status_with(self.forged(account, 600)), 200)
        self.assertEqual(self.status_with(self.forged(account, -3600)), 401)
        self.assertEqual(self.status_with(token[:-8] + "AAAAAAAA"), 401)

    def test_connection_speaks_http2_and_is_verified_by_the_ca(self):
        ca = str(self.stack.dir / "pki/ca.crt")
        url = self.stack.env["STACK_APISERVER_URL"] + "/version"
        done = subprocess.run(["curl", "-sS", "--cacert", ca, "-o", "/dev/null", "-w", "%{http_version} %{http_code}", url],
                              capture_output=True, text=True)
        self.assertEqual(done.stdout.split()[0], "2", done.stderr)
        without = subprocess.run(["curl", "-sS", "-o", "/dev/null", url], capture_output=True, text=True)
        self.assertEqual(without.returncode, 60, without.stderr)


def encode(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
