"""Workers go: only idle ones, only when their pods find a place, never at the price of a budget."""

import threading
import time

from client.kube import wait_for
from gate import Reply, service
from world import NOBODY, EndToEnd


class ScaleDown(EndToEnd):
    def place(self, name, instance, replicas=1, **options):
        """A deployment whose pods run on this machine now and may go elsewhere later."""
        here = self.node_name(instance)
        others = [n["metadata"]["name"] for n in self.nodes() if n["metadata"]["name"] != here]
        for other in others:
            self.kube.patch(f"/api/v1/nodes/{other}", {"spec": {"unschedulable": True}})
        self.work.deployment(name, replicas=replicas, **options)
        pods = self.work.wait_pods(name, replicas)
        for other in others:
            self.kube.patch(f"/api/v1/nodes/{other}", {"spec": {"unschedulable": None}})
        self.assertEqual({p["spec"]["nodeName"] for p in pods}, {here})
        return pods

    def protect(self, *instances):
        for instance in instances:
            self.kube.patch(f"/api/v1/nodes/{self.node_name(instance)}", {"metadata": {"annotations": {"drover.dev/protected": "true"}}})

    def left(self, count):
        whole, open_work = self.settled()
        return whole and len(self.living()) == count and len(self.nodes()) == count, f"{open_work}\n{self.picture()}"

    def test_idle_worker_is_drained_ended_and_its_node_removed(self):
        keep, go = self.fleet(2, zones=2)
        self.protect(keep)
        self.place("web", go, replicas=3)
        program = self.program(minWorkers=1)
        self.ticks(program, lambda: self.left(1), "one worker left")
        self.assertEqual([i["id"] for i in self.living()], [keep])
        self.assertEqual(len(self.work.wait_pods("web", 3)), 3)
        ended, = self.gates.aws.seen("TerminateInstances")
        self.assertEqual(ended.params["InstanceId.1"], go)
        order = [c.action for c in self.gates.effects() if c.service in ("kubernetes", "ec2")]
        self.assertEqual(order[0], "patch nodes")
        self.assertLess(order.index("create pods/eviction"), order.index("TerminateInstances"))
        self.assertIn("delete nodes", order)
        for _ in range(2):
            self.assertEqual(program.tick().code, 0)
        self.assertEqual(len(self.living()), 1, "the minimum stays")

    def test_hazard_27_budget_that_blocks_for_a_while_is_waited_for(self):
        keep, go = self.fleet(2, zones=2)
        self.protect(keep)
        self.place("web", go, replicas=2)
        self.work.budget("web", maxUnavailable=1)
        self.work.wait_budget("web", disruptionsAllowed=1)

        def allow(count):
            self.kube.patch("/apis/policy/v1/namespaces/default/poddisruptionbudgets/web", {"spec": {"maxUnavailable": count}})

        def block(_request):
            """Between the plan and the first eviction the budget is closed, for four seconds."""
            allow(0)
            self.work.wait_budget("web", disruptionsAllowed=0)
            threading.Timer(4, allow, (1,)).start()
        self.gates.kubernetes.rule(service("kubernetes", "create pods/eviction"), block)
        program = self.program(minWorkers=1)
        self.ticks(program, lambda: self.left(1), "one worker left")
        statuses = [c.status for c in self.gates.kubernetes.seen("create pods/eviction")]
        self.assertEqual(statuses.count(201), 2)
        self.assertIn(429, statuses)
        self.work.wait_pods("web", 2)

    def test_hazard_27_first_refusals_of_an_eviction_do_not_end_the_drain(self):
        keep, go = self.fleet(2, zones=2)
        self.protect(keep)
        self.place("web", go, replicas=2)
        refused = Reply(429, {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "TooManyRequests", "code": 429,
                              "message": "Cannot evict pod as it would violate the pod's disruption budget.",
                              "details": {"causes": [{"reason": "DisruptionBudget", "message": "said the test"}]}},
                        [("Content-Type", "application/json")])
        self.gates.kubernetes.rule(service("kubernetes", "create pods/eviction"), refused, count=3)
        program = self.program(minWorkers=1)
        self.ticks(program, lambda: self.left(1), "one worker left")
        statuses = [c.status for c in self.gates.kubernetes.seen("create pods/eviction")]
        self.assertEqual((statuses.count(429), statuses.count(201)), (3, 2))
        self.work.wait_pods("web", 2)

    def test_hazard_29_budget_that_never_allows_keeps_the_worker_untouched(self):
        keep, go = self.fleet(2, zones=2)
        self.protect(keep)
        self.place("web", go)
        self.work.budget("web", maxUnavailable="0%")
        self.work.wait_budget("web", disruptionsAllowed=0)
        program = self.program(minWorkers=1)
        for _ in range(4):
            self.assertEqual(program.tick().code, 0)
            time.sleep(0.7)
        self.assertEqual([c for c in self.gates.effects() if c.service != "dynamodb"], [])
        self.assertEqual(len(self.living()), 2)

    def test_hazard_25_critical_pod_is_seen_before_anything_is_cordoned(self):
        keep, go = self.fleet(2, zones=2)
        self.protect(keep)
        self.work.critical_pod("dns", node=self.node_name(go))
        wait_for(lambda: self.kube.find("/api/v1/namespaces/kube-system/pods/dns")["status"].get("phase") == "Running", "the pod")
        program = self.program(minWorkers=1)
        for _ in range(4):
            self.assertEqual(program.tick().code, 0)
            time.sleep(0.7)
        self.assertEqual([c for c in self.gates.effects() if c.service != "dynamodb"], [])
        self.assertEqual(len(self.living()), 2)

    def test_hazard_18_stuck_pod_ends_nothing_and_the_worker_is_given_back(self):
        keep, go = self.fleet(2, zones=2)
        self.protect(keep)
        self.place("web", go, stuck=True)
        before = self.item().get("lastScaleEpoch", 0)
        program = self.program(minWorkers=1, scaleDown={"drainTimeout": "10s"})
        self.ticks(program, lambda: self.gates.kubernetes.seen("create pods/eviction"), "an eviction")
        self.ticks(program, lambda: self.settled(), "the drain given up", timeout=60)
        self.assertEqual(self.gates.aws.seen("TerminateInstances"), [])
        self.assertEqual(len(self.living()), 2)
        self.assertEqual(self.cordoned(), [])
        self.assertEqual(self.item().get("lastScaleEpoch", 0), before, "no success was announced")
        self.assertIn(f"victim/{go}", str(self.item().get("avoid")))

    def test_hazard_28_drain_longer_than_a_pass_goes_on_in_the_next(self):
        keep, go = self.fleet(2, zones=2)
        self.protect(keep)
        self.place("web", go, replicas=2, ends_after_sec=9, grace_sec=30)
        self.work.budget("web", maxUnavailable=1)
        self.work.wait_budget("web", disruptionsAllowed=1)
        program = self.program(minWorkers=1, tickLimit="14s", scaleDown={"drainTimeout": "1m"})
        self.ticks(program, lambda: self.left(1), "one worker left", timeout=90)
        passes = (self.dir / "commands.log").read_text().count("drover tick")
        self.assertGreater(passes, 2)
        self.work.wait_pods("web", 2)

    def test_hazard_11_full_requests_at_low_use_keep_the_workers(self):
        one, two = self.fleet(2, zones=2)
        self.work.deployment("big", replicas=2, cpu="1500m")
        self.work.wait_pods("big", 2)
        program = self.program(minWorkers=1)
        for _ in range(4):
            self.assertEqual(program.tick().code, 0)
            time.sleep(0.7)
        self.assertEqual([c for c in self.gates.effects() if c.service != "dynamodb"], [])
        self.assertEqual({i["id"] for i in self.living()}, {one, two})

    def test_hazard_14_nothing_goes_while_pods_wait(self):
        self.fleet(2, zones=2)
        self.work.deployment("elsewhere", selector={"disk": "none-has-it"})
        self.work.deployment("fits-none", cpu="1950m")
        wait_for(lambda: len(self.unschedulable()) == 2, "pods that wait")
        program = self.program(minWorkers=1, maxWorkers=2)
        for _ in range(4):
            self.assertEqual(program.tick().code, 0)
            time.sleep(0.7)
        self.assertEqual(self.gates.aws.seen("TerminateInstances", "RunInstances"), [])

    def test_hazard_05_missing_series_is_not_idleness(self):
        self.fleet(2, zones=2)
        self.stack.exporter.post("/reset")
        wait_for(lambda: not self.stack.query("node_cpu_seconds_total"), "no series", timeout=30)
        program = self.program(minWorkers=1)
        for _ in range(4):
            self.assertEqual(program.tick().code, 0)
            time.sleep(0.7)
        self.assertEqual([c for c in self.gates.effects() if c.service != "dynamodb"], [])

    def test_hazard_26_oldest_that_never_joined_does_not_stop_the_rest(self):
        self.stack.glue.post("/never-join", {"count": 1})
        dead = self.launch()
        wait_for(lambda: self.instances("running"), "a machine that runs but never joins")
        keep, go = self.fleet(2, zones=2)
        self.protect(keep)
        program = self.program(minWorkers=1)
        self.ticks(program, lambda: (len([i for i in self.living() if i["id"] != dead]) == 1 and self.settled()[0], self.living()),
                   "one joined worker left")
        self.assertIn(keep, {i["id"] for i in self.living()})
        self.assertNotIn(go, {i["id"] for i in self.living()})

    def test_pressure_during_a_drain_gives_the_worker_back(self):
        keep, go = self.fleet(2, zones=2)
        self.protect(keep)
        self.place("slow", go, ends_after_sec=8, grace_sec=30)

        def pods_come(_request):
            self.work.deployment("burst", cpu="1850m")
        self.gates.kubernetes.rule(service("kubernetes", "create pods/eviction"), pods_come, after=True)
        program = self.program(minWorkers=1, maxWorkers=2)
        self.ticks(program, lambda: (self.gates.kubernetes.seen("create pods/eviction") and self.settled()[0], self.settled()),
                   "the worker given back")
        self.assertEqual(self.gates.aws.seen("TerminateInstances"), [])
        self.assertEqual(len(self.living()), 2)
        self.work.wait_pods("burst", 1)

    def test_termination_protection_is_refused_and_said(self):
        keep, go = self.fleet(2, zones=2)
        self.protect(keep)
        self.person("ec2").modify_instance_attribute(InstanceId=go, DisableApiTermination={"Value": True})
        program = self.program(minWorkers=1)
        self.ticks(program, lambda: (go in (self.item().get("refusedInstanceIds") or []) and not self.cordoned(), self.item()),
                   "the refusal in the item")
        self.assertEqual(len(self.living()), 2)

    def test_surplus_above_the_maximum_goes_whatever_the_load(self):
        self.fleet(3, cpu=0.6)
        program = self.program(minWorkers=1, maxWorkers=2)
        self.ticks(program, lambda: self.left(2), "the surplus gone")

    def test_mark_on_a_machine_that_vanished_is_taken_off(self):
        """Nobody looked for an hour: EC2 no longer knows the machine, and denies us to end what carries no tag of ours."""
        self.fleet(1)
        program = self.program(minWorkers=1)
        self.assertEqual(program.tick().code, 0)
        self.person("dynamodb").update_item(
            TableName=self.account["state_table"], Key={"pk": {"S": self.account["cluster"]}},
            UpdateExpression="SET terminatingInstanceIds = :ids, #r = if_not_exists(#r, :one)", ExpressionAttributeNames={"#r": "revision"},
            ExpressionAttributeValues={":ids": {"L": [{"S": NOBODY}]}, ":one": {"N": "1"}})
        self.ticks(program, lambda: (not self.item().get("terminatingInstanceIds"), self.item()), "no mark", timeout=20)
        self.assertEqual(len(self.living()), 1)
