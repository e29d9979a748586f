"""Hazards of the list in docs that need a test of their own on the real services; the others carry their number where they
belong (scale-up, scale-down, faults, daemon)."""

import time

from client.kube import wait_for
from world import EndToEnd


class Hazards(EndToEnd):
    def rule(self, program, name, direction="up"):
        """One rule of a plan: its truth and value."""
        result = program("plan", "-o", "json")
        self.assertEqual(result.code, 0, result)
        plan = result.json.get("plan", result.json)
        return next(r for r in plan[direction] if r["rule"] == name)

    def workers(self, program):
        result = program("plan", "-o", "json")
        self.assertEqual(result.code, 0, result)
        return result.json.get("plan", result.json)["workers"]

    def test_hazard_02_sustained_means_the_whole_window(self):
        """A series that began some seconds ago is high, but not yet for the whole window (less the largest gap allowed)."""
        self.fleet(2, zones=2, cpu=0.95)
        begun = time.time()
        program = self.program(minWorkers=2, signals={"maxGap": "4s"}, scaleUp={"cpu": {"for": "20s"}})
        self.assertEqual(program.tick().code, 0)
        self.assertEqual(self.gates.aws.seen("RunInstances"), [])
        self.ticks(program, lambda: self.gates.aws.seen("RunInstances"), "a launch in the end", pause=0.5)
        self.assertGreater(time.time() - begun, 10)

    def test_hazard_04_full_requests_bring_a_worker_at_low_cpu(self):
        self.fleet(2, zones=2, cpu=0.05)
        self.work.deployment("big", replicas=3, cpu="1500m")
        wait_for(lambda: len(self.unschedulable()) == 1, "one pod that finds no room")
        program = self.program(minWorkers=2)
        self.ticks(program, lambda: (len(self.nodes(ready=True)) == 3 and not self.unschedulable(), self.unschedulable()), "a third worker")

    def test_hazard_08_readings_far_apart_are_not_consecutive(self):
        self.fleet(2, zones=2, cpu=0.95)
        program = self.program(minWorkers=2, scaleUp={"cpu": {"for": "0s", "readings": 2}})
        self.assertEqual(program.tick().code, 0)
        time.sleep(14)  # more than 2.5 intervals
        self.assertEqual(program.tick().code, 0)
        self.assertEqual(self.gates.aws.seen("RunInstances"), [], "two readings, but not one after the other")
        time.sleep(3)
        self.assertEqual(program.tick().code, 0)
        self.assertEqual(len(self.gates.aws.seen("RunInstances")), 1)

    def test_hazard_09_workers_are_counted_by_identity(self):
        """A server, a dead Node and the host names of EC2: neither a pattern nor all minus one."""
        one, two = self.fleet(2, zones=2)
        server = self.launch(tags={"drover.dev/role": "server"})
        self.stack.wait_joined([server])
        program = self.program()
        seen = self.workers(program)
        self.assertEqual((seen["count"], seen["live"]), (2, 2))
        self.person("ec2").terminate_instances(InstanceIds=[one])
        wait_for(lambda: self.instances("terminated"), "its end")
        self.assertEqual(len(self.nodes()), 3, "its Node is still there")
        seen = self.workers(program)
        self.assertEqual((seen["count"], seen["live"]), (1, 1))
        self.assertIn(two, {i["id"] for i in self.living()})

    def hosts(self, address):
        """Load of two workers and a busy server, under names or addresses with a port; returns the program."""
        ids = [self.launch(zone=z) for z in (0, 1)] + [self.launch(tags={"drover.dev/role": "server"})]
        for node, cpu in zip(self.stack.wait_joined(ids), (0.05, 0.05, 1.0)):
            ip = next(a["address"] for a in node["status"]["addresses"] if a["type"] == "InternalIP")
            self.stack.load(f"{ip}:9100" if address else node["metadata"]["name"], cpu=cpu, memory=0.2, cpus=2)
        wait_for(lambda: len(self.stack.query('kube_node_role{role="control-plane"}')) == 1, "kube-state-metrics", timeout=40)
        wait_for(lambda: len(self.stack.query('rate(node_cpu_seconds_total{mode="idle"}[5m])')) == 6, "the load", timeout=40)
        return self.program(minWorkers=2, signals={"cpu": None})

    def test_hazard_10_busy_server_is_not_in_the_average_by_name(self):
        self.assertAlmostEqual(self.rule(self.hosts(address=False), "cpu")["value"], 0.05, delta=0.03)

    def test_hazard_10_busy_server_is_not_in_the_average_by_address(self):
        self.assertAlmostEqual(self.rule(self.hosts(address=True), "cpu")["value"], 0.05, delta=0.03)

    def test_hazard_22_join_is_known_by_identity_where_k3s_overwrites_the_provider_id(self):
        self.glue(providerId="k3s", bootSeconds=0)
        program = self.program()
        self.work.deployment("web")
        self.ticks(program, lambda: (len(self.nodes(ready=True)) == 1 and self.settled()[0], self.settled()), "one worker")
        self.assertTrue(self.nodes()[0]["spec"]["providerID"].startswith("k3s://"))
        self.assertEqual(len(self.instances()), 1)
