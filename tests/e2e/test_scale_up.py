"""Workers come: from waiting pods, from cpu, from the minimum; what EC2 answers to a launch."""

from client.kube import wait_for
from gate import Reply, service
from world import EndToEnd

LAUNCH = service("ec2", "RunInstances")


def refusal(code, status=400, message="said the test"):
    body = (f"<?xml version=\"1.0\" encoding=\"UTF-8\"?><Response><Errors><Error><Code>{code}</Code><Message>{message}</Message></Error>"
            "</Errors><RequestID>00000000-0000-0000-0000-000000000000</RequestID></Response>")
    return Reply(status, body.encode(), [("Content-Type", "text/xml;charset=UTF-8")])


class ScaleUp(EndToEnd):
    def served(self, count):
        """So many joined workers, nothing under way, every pod runs."""
        whole, open_work = self.settled()
        ready, waiting = len(self.nodes(ready=True)), self.unschedulable()
        return whole and ready == count and not waiting, f"{ready} ready, waiting {waiting}, {open_work}"

    def test_waiting_pods_bring_a_worker_that_joins(self):
        program = self.program()
        self.work.deployment("web", replicas=3)
        self.ticks(program, lambda: self.served(1), "one worker with the pods")
        self.work.wait_pods("web", 3)
        machine, = self.instances()
        self.assertEqual(machine["tags"]["drover.dev/cluster"], "drover")
        self.assertTrue(any(k.startswith("drover.dev/action") for k in machine["tags"]), machine["tags"])
        self.assertTrue(machine["client_token"])
        item = self.item()
        self.assertGreater(item["lastScaleEpoch"], 0)
        self.assertNotIn("scaleUpAttempts", item)
        self.assertEqual(program.tick().code, 0)
        self.assertEqual(len(self.instances()), 1, "a quiet tick launches nothing")

    def test_as_many_workers_as_the_waiting_pods_pack_on(self):
        program = self.program(scaleUp={"maxBatch": 3})
        self.work.deployment("big", replicas=3, cpu="1500m")
        self.ticks(program, lambda: self.served(3), "three workers")
        self.assertEqual(len(self.instances()), 3)
        self.assertEqual(len({i["zone"] for i in self.instances()}), 3, "one in each zone")

    def test_hazard_01_saturated_cpu_is_seen_and_brings_a_worker(self):
        """By the built-in query, on the names and modes of node-exporter: the mean over modes would read 14 %."""
        self.fleet(2, cpu=0.95)
        program = self.program(minWorkers=2, signals={"cpu": None})
        plan = program("plan", "-o", "json").json
        cpu = next(r for r in plan.get("plan", plan)["up"] if r["rule"] == "cpu")
        self.assertAlmostEqual(cpu["value"], 0.95, delta=0.04)
        self.ticks(program, lambda: (len(self.instances()) == 3, len(self.instances())), "a third worker")
        self.ticks(program, lambda: self.settled(), "the end of the action")

    def test_hazard_03_pods_that_no_worker_helps_bring_none(self):
        program = self.program()
        self.work.deployment("huge", cpu="64")
        self.work.deployment("elsewhere", selector={"disk": "none-has-it"})
        wait_for(lambda: len(self.unschedulable()) == 2, "two pods that wait")
        for _ in range(3):
            self.assertEqual(program.tick().code, 0)
        self.assertEqual(self.instances(), [])
        self.assertEqual(self.gates.aws.seen("RunInstances"), [])

    def test_hazard_20_lost_launch_reply_gives_exactly_one_instance(self):
        program = self.program()
        self.work.deployment("web")
        self.gates.aws.rule(LAUNCH, "lost", count=2)
        self.ticks(program, lambda: self.served(1), "one worker")
        sent = self.gates.aws.seen("RunInstances")
        self.assertGreaterEqual(len(sent), 3, "the launch was repeated")
        self.assertEqual(len({c.params["ClientToken"] for c in sent}), 1, "verbatim, with the same token")
        self.assertEqual(len(self.instances()), 1)

    def test_hazard_20_second_of_two_launches_fails_and_no_machine_is_forgotten(self):
        program = self.program()
        self.work.deployment("big", replicas=2, cpu="1500m")
        self.gates.aws.rule(LAUNCH, refusal("InternalError", 500), skip=1, count=2)
        self.ticks(program, lambda: self.served(2), "two workers")
        self.assertEqual(len(self.instances()), 2)

    def test_hazard_24_capacity_out_in_one_zone_takes_another(self):
        self.settings(capacity=[{"type": "*", "zone": "us-east-1a", "market": "*", "limit": 0}])
        program = self.program()
        self.work.deployment("web")
        self.ticks(program, lambda: self.served(1), "a worker elsewhere")
        self.assertNotEqual(self.instances()[0]["zone"], "us-east-1a")
        self.assertIn("stock/", str(self.item().get("avoid")))

    def test_hazard_24_capacity_out_in_spot_falls_back_to_on_demand(self):
        self.settings(capacity=[{"type": "*", "zone": "*", "market": "spot", "limit": 0}])
        program = self.program(launch={"spotPercent": 100})
        self.work.deployment("web")
        self.ticks(program, lambda: self.served(1), "an on-demand worker")
        self.assertEqual(self.instances()[0]["market"], "on-demand")
        first = self.gates.aws.seen("RunInstances")[0].params
        self.assertIn("InstanceMarketOptions.MarketType", first, "spot was tried first")

    def test_hazard_24_spot_price_too_low_falls_back(self):
        program = self.program(launch={"spotPercent": 100}, ec2={"spotMaxPrice": "0.0001"})
        self.work.deployment("web")
        self.ticks(program, lambda: self.served(1), "an on-demand worker")
        self.assertEqual(self.instances()[0]["market"], "on-demand")

    def test_capacity_out_everywhere_waits_and_launches_when_there_is_some(self):
        self.settings(capacity=[{"type": "*", "zone": "*", "market": "*", "limit": 0}])
        program = self.program(launch={"spotPercent": 50, "stockout": "3s"})
        self.work.deployment("web")
        wait_for(lambda: self.unschedulable(), "a waiting pod")
        self.ticks(program, lambda: len(self.gates.aws.seen("RunInstances")) >= 3, "tries in several places")
        self.assertEqual(self.instances(), [])
        self.settings(capacity=[])
        self.ticks(program, lambda: self.served(1), "a worker once there is stock")
        self.assertEqual(len(self.instances()), 1)

    def test_vcpu_quota_is_no_reason_for_a_storm(self):
        self.settings(quota={"on_demand_vcpus": 1, "spot_vcpus": 1})
        program = self.program()
        self.work.deployment("web")
        wait_for(lambda: self.unschedulable(), "a waiting pod")
        for _ in range(3):
            program.tick()
        self.assertEqual(self.instances(), [])
        self.assertLessEqual(len(self.gates.aws.seen("RunInstances")), 9)
        self.settings(quota={"on_demand_vcpus": 64, "spot_vcpus": 64})
        self.ticks(program, lambda: self.served(1), "a worker when the quota allows")

    def test_maximum_is_never_passed(self):
        program = self.program(maxWorkers=3, scaleUp={"maxBatch": 2})
        self.work.deployment("big", replicas=8, cpu="1500m")
        self.ticks(program, lambda: (len(self.nodes(ready=True)) == 3 and self.settled()[0], self.settled()), "three workers")
        for _ in range(3):
            self.assertEqual(program.tick().code, 0)
        self.assertEqual(len(self.instances()), 3)

    def test_instances_that_are_not_ours_do_not_count(self):
        """A server, a machine of another cluster, one without tags: none is a worker, none is touched."""
        server = self.launch(tags={"drover.dev/role": "server"})
        other = self.launch(tags={"drover.dev/cluster": "other", "stack.drover.dev/join": "never"})
        self.stack.wait_joined([server])
        program = self.program(minWorkers=1, maxWorkers=1)
        self.ticks(program, lambda: (len(self.living()) == 3 and self.settled()[0], self.living()), "one worker beside them")
        for _ in range(2):
            self.assertEqual(program.tick().code, 0)
        self.assertEqual(len(self.living()), 3)
        self.assertEqual(self.gates.aws.seen("TerminateInstances"), [])
        self.assertTrue({server, other} <= {i["id"] for i in self.living()})

    def test_hazard_21_instance_that_never_joins_is_ended_and_replaced(self):
        self.stack.glue.post("/never-join", {"count": 1})
        program = self.program(maxWorkers=2)
        self.work.deployment("web")
        self.ticks(program, lambda: (len(self.instances()) == 1, self.instances()), "the first machine")
        first, = self.instances()
        self.ticks(program, lambda: self.served(1), "another machine in its place", timeout=90, pause=1)
        self.ticks(program, lambda: ([i["id"] for i in self.living()] != [] and first["id"] not in {i["id"] for i in self.living()},
                                     self.living()), "its end")
        self.assertEqual(len(self.living()), 1)
        self.assertEqual(len(self.instances()), 2)

    def test_fresh_instance_unknown_to_describe_is_waited_for(self):
        self.settings(clocks={"visible_after_s": 4})
        program = self.program()
        self.work.deployment("web")
        self.ticks(program, lambda: self.served(1), "one worker")
        self.assertEqual(len(self.instances()), 1)

    def test_hazard_23_name_of_a_removed_node_comes_back(self):
        """The address, and so the name, of an ended machine is given out again; its Node is still there and refuses the join
        until drover removes it."""
        ids = self.fleet(1)
        name = self.node_name(ids[0])
        self.person("ec2").terminate_instances(InstanceIds=ids)
        wait_for(lambda: self.instances("terminated"), "its end")
        program = self.program(minWorkers=1)
        self.ticks(program, lambda: self.served(1), "a worker in its place", timeout=90)
        node, = self.nodes()
        self.assertEqual(node["metadata"]["labels"]["drover.dev/instance-id"], self.living()[0]["id"])
        self.assertTrue(name)
