"""`drover run`: woken by waiting pods and by the queue; signals; two at once; interruptions."""

import json
import signal
import time
import urllib.request

from client.kube import is_ready, wait_for
from client.lambda_runtime import free_port
from gate import service
from world import LEASE_SEC, EndToEnd


class Run(EndToEnd):
    def daemon(self, name="daemon", **changes):
        program = self.program(name, **changes)
        daemon = program.run(name)
        wait_for(lambda: (self.gates.dynamodb.seen(), daemon.tail()), f"the first pass of {name}")
        self.assertTrue(daemon.alive(), daemon.tail())
        return daemon

    def wait(self, check, message, *daemons, timeout=60):
        def look():
            for daemon in daemons:
                assert daemon.alive(), f"drover run ended with {daemon.process.returncode}: {daemon.tail()}"
            result = check()
            return result[0] if isinstance(result, tuple) else result, f"{result}\n{self.picture()}\n" + "\n".join(d.tail(8) for d in daemons)
        return wait_for(look, message, timeout)

    def fleet_is(self, count):
        whole, open_work = self.settled()
        ready = len(self.nodes(ready=True))
        return whole and ready == count == len(self.nodes()) and len(self.living()) == count, f"{ready} ready; {open_work}"


class Daemon(Run):
    def test_waiting_pod_wakes_it_before_the_timer(self):
        daemon = self.daemon(interval="10m", scaleUp={"pending": {"for": "0s"}})
        time.sleep(2)  # the first pass is over; the next by the timer would be in ten minutes
        self.work.deployment("web")
        begun = time.monotonic()
        self.wait(lambda: self.gates.aws.seen("RunInstances"), "a launch", daemon, timeout=20)
        self.assertLess(time.monotonic() - begun, 10)
        self.assertEqual(daemon.stop(), 0)

    def test_whole_circle_up_and_down(self):
        daemon = self.daemon(minWorkers=1)
        self.work.deployment("big", replicas=2, cpu="1500m")
        self.wait(lambda: self.fleet_is(2), "two workers", daemon)
        self.set_cpu(0.05)
        self.work.scale("big", 0)
        self.wait(lambda: self.fleet_is(1), "one worker left", daemon, timeout=90)
        self.assertEqual(daemon.stop(), 0)
        self.assertFalse(self.lease_held(), "the lease is given back")

    def test_sigterm_ends_it_between_effects_and_another_goes_on(self):
        self.gates.aws.rule(service("ec2", "RunInstances"), ("delay", 2))
        daemon = self.daemon(minWorkers=2)
        self.wait(lambda: self.gates.aws.seen("RunInstances"), "a launch under way")
        begun = time.monotonic()
        self.assertEqual(daemon.stop(15), 0, daemon.tail())
        self.assertLess(time.monotonic() - begun, 12)
        self.assertFalse(self.lease_held())
        other = self.daemon("other", minWorkers=2)
        self.wait(lambda: self.fleet_is(2), "two workers", other)
        self.assertEqual(len(self.instances()), 2)

    def test_sighup_takes_a_good_configuration_and_refuses_a_bad_one(self):
        program = self.program(minWorkers=1)
        daemon = program.run()
        self.wait(lambda: self.fleet_is(1), "one worker", daemon)
        good = program.file.read_text()
        program.file.write_text("minWorkers: many\n")
        daemon.signal(signal.SIGHUP)
        self.wait(lambda: "many" in daemon.tail(200), "the refusal in the log", daemon)
        wanted = json.loads(good)
        wanted["minWorkers"] = 2
        program.file.write_text(json.dumps(wanted))
        daemon.signal(signal.SIGHUP)
        self.wait(lambda: self.fleet_is(2), "two workers", daemon)

    def test_health_answers_on_loopback_and_moves_with_the_configuration(self):
        port, other = free_port(), free_port()
        program = self.program(health={"listen": f"127.0.0.1:{port}"})
        daemon = program.run()

        def ask(path, port=port):
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=3) as answer:
                    return answer.status
            except urllib.error.HTTPError as error:
                return error.code
            except OSError:
                return None
        self.wait(lambda: ask("/readyz") == 200, "readiness", daemon)
        self.assertEqual(ask("/healthz"), 200)
        self.assertEqual(ask("/nothing"), 404)
        program.file.write_text(program.file.read_text().replace(f"127.0.0.1:{port}", f"127.0.0.1:{other}"))
        daemon.signal(signal.SIGHUP)
        self.wait(lambda: ask("/readyz", other) == 200, "readiness at the new place", daemon)
        self.assertIsNone(ask("/healthz"))

    def test_hazard_17_dead_machines_node_is_removed_and_the_minimum_restored(self):
        """A Node whose machine is gone does not count."""
        one, two = self.fleet(2, zones=2)
        daemon = self.daemon(minWorkers=2)
        self.person("ec2").terminate_instances(InstanceIds=[one])
        self.wait(lambda: (self.fleet_is(2)[0] and self.stack.node_of(one) is None, self.fleet_is(2)), "a worker in its place", daemon)
        self.assertEqual(len(self.instances()), 3)
        self.assertIn(two, {i["id"] for i in self.living()})


class Two(Run):
    def test_hazard_32_two_daemons_act_as_one(self):
        one = self.daemon("one", minWorkers=2, maxWorkers=4)
        two = self.daemon("two", minWorkers=2, maxWorkers=4)
        self.work.deployment("big", replicas=3, cpu="1500m")
        self.wait(lambda: self.fleet_is(3), "three workers", one, two, timeout=90)
        self.assertEqual(len(self.instances()), 3)
        self.assertEqual(one.stop(), 0)
        self.assertEqual(two.stop(), 0)

    def test_standby_takes_over_after_kill_9(self):
        """The real time of a lease: the only test that waits for it."""
        self.gates.aws.rule(service("ec2", "RunInstances"), "hang", count=1)
        one = self.daemon("one", minWorkers=1)
        self.wait(lambda: self.gates.aws.seen("RunInstances"), "a launch under way", one)
        two = self.daemon("two", minWorkers=1)
        one.kill()
        self.assertTrue(self.lease_held())
        self.wait(lambda: self.fleet_is(1), "the worker", two, timeout=LEASE_SEC + 40)
        self.assertEqual(len(self.instances()), 1)

    def test_hazard_31_old_holder_wakes_up_and_does_no_harm(self):
        self.gates.aws.rule(service("ec2", "RunInstances"), ("delay", 3))
        one = self.daemon("one", minWorkers=2)
        self.wait(lambda: self.gates.aws.seen("RunInstances"), "a launch under way", one)
        one.freeze()
        wait_for(lambda: len(self.instances()) == 1, "its launch was done")
        self.age_lease()
        two = self.daemon("two", minWorkers=2)
        self.wait(lambda: self.fleet_is(2), "two workers by the other", two)
        one.thaw()
        time.sleep(6)  # it gets the time to do harm
        self.wait(lambda: self.fleet_is(2), "still two", one, two)
        self.assertEqual(len(self.instances()), 2)


class Interruptions(Run):
    def warn(self, instance, **options):
        return self.stack.emulator.post("/drover/interrupt", {"instance": instance, **options})

    def replaced(self, gone, count):
        living = {i["id"] for i in self.living()}
        whole, open_work = self.settled()
        return (whole and gone not in living and len(living) == count and self.stack.node_of(gone) is None
                and len(self.nodes(ready=True)) == count), f"{living} {open_work}"

    def test_warning_through_the_queue_drains_and_replaces(self):
        one, two = self.fleet(2, market="spot", zones=2)
        self.work.deployment("web", replicas=4)
        self.work.wait_pods("web", 4)
        daemon = self.daemon(minWorkers=2, interval="1m", launch={"spotPercent": 100})
        self.warn(one, seconds=20)
        self.wait(lambda: self.gates.aws.seen("RunInstances"), "the replacement at once", daemon, timeout=15)
        self.wait(lambda: not [p for p in self.kube.pods("default") if p["spec"].get("nodeName") == self.node_name(one)],
                  "the pods moved before the end", daemon, timeout=20)
        self.assertIn(one, {i["id"] for i in self.living()}, "they moved while the machine still ran")
        self.wait(lambda: self.replaced(one, 2), "the machine replaced", daemon, timeout=90)
        self.work.wait_pods("web", 4)
        self.assertEqual(len(self.instances()), 3)
        self.assertIn(two, {i["id"] for i in self.living()})

    def test_hazard_33_hint_warning_and_duplicate_give_one_replacement(self):
        one, _two = self.fleet(2, market="spot", zones=2)
        daemon = self.daemon(minWorkers=2, maxWorkers=4, launch={"spotPercent": 100})
        self.warn(one, kind="rebalance")
        self.wait(lambda: self.gates.aws.seen("RunInstances"), "the replacement", daemon, timeout=30)
        event = self.warn(one, seconds=15)["event"]
        for _ in range(2):
            self.person("sqs").send_message(QueueUrl=self.account["queue_url"], MessageBody=json.dumps(event))
        self.wait(lambda: self.replaced(one, 2), "the machine replaced once", daemon, timeout=90)
        self.assertEqual(len(self.instances()), 3)
        self.wait(lambda: (self.queue_length() == 0, self.queue_length()), "an empty queue: every message was deleted", daemon)

    def queue_length(self):
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        found = self.person("sqs").get_queue_attributes(QueueUrl=self.account["queue_url"], AttributeNames=names)["Attributes"]
        return sum(int(v) for v in found.values())

    def test_events_of_others_and_poison_are_dropped_with_a_word(self):
        """Poison stays until it was received five times, in case a newer program understands it: four of them are the test's."""
        self.fleet(1)
        foreign = self.launch(market="spot", tags={"drover.dev/cluster": "other", "stack.drover.dev/join": "never"})
        wait_for(lambda: self.instances("running", id=foreign), "a machine of others")
        sqs, queue = self.person("sqs"), self.account["queue_url"]
        poison = ("no json at all", "{}", json.dumps({"detail-type": "EC2 Spot Instance Interruption Warning", "detail": {}}))
        for body in poison:
            sqs.send_message(QueueUrl=queue, MessageBody=body)
        for _ in range(4):
            sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10, VisibilityTimeout=0)
        self.warn(foreign, seconds=300)
        daemon = self.daemon(minWorkers=1, maxWorkers=3)
        self.wait(lambda: (self.queue_length() == 0, self.queue_length()), "an empty queue", daemon)
        self.wait(lambda: "poison" in daemon.tail(200), "a word about it", daemon)
        time.sleep(1)
        self.assertEqual(self.gates.aws.seen("RunInstances", "TerminateInstances"), [])

    def test_two_interrupted_at_once_at_the_maximum(self):
        one, two = self.fleet(2, market="spot", zones=2)
        daemon = self.daemon(minWorkers=2, maxWorkers=2, launch={"spotPercent": 100})
        self.warn(one, seconds=15)
        self.warn(two, seconds=15)
        self.wait(lambda: (self.replaced(one, 2)[0] and self.replaced(two, 2)[0], self.settled()), "both replaced", daemon, timeout=90)
        self.assertEqual(len(self.instances()), 4)
        self.assertTrue(all(is_ready(n) for n in self.nodes()))
