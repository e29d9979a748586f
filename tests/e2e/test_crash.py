"""kill -9 between any two effects of both workflows, and another process goes on.

First the workflow runs once undisturbed, and its effects (writes to DynamoDB, calls to EC2 and to Kubernetes that
change something) are counted. Then it runs again for each of them, and the process is killed at exactly that effect:
before it reaches the service, and after it was done but before its answer came. What follows is the same always:
the lease runs out, another process ends the work, and the world is as if nothing had happened."""

import threading

from gate import effect
from world import EndToEnd


class Crash(EndToEnd):
    def forget_world(self):
        """Everything new, as before a test."""
        self.tearDownOnce()
        self.setUp()

    def tearDownOnce(self):
        for program in self.programs:
            program.end_all()
        self.doCleanups()

    def kill_at(self, program, index, after):
        """A rule that kills the program at its effect number `index` and lets nothing of it reach anybody afterwards."""
        died = threading.Event()

        def strike(_request):
            program.kill_running()
            died.set()
            return "lost" if after else "cut"
        self.gates.rule(effect, strike, skip=index, after=after)
        return died

    def crash_everywhere(self, prepare, begun, finished):
        """prepare(): the world before; begun(program): ticks until the workflow has begun and is over, undisturbed."""
        prepare()
        self.gates.forget()
        first = self.program("first")
        self.ticks(first, finished, "the undisturbed end", pause=0.2)
        plan = [f"{c.service} {c.action}" for c in self.gates.effects()]
        self.assertGreater(len(plan), 3, plan)
        for index, what in enumerate(plan):
            for after in (False, True):
                with self.subTest(effect=f"{index} {what}", after=after):
                    self.forget_world()
                    prepare()
                    self.one_crash(index, after, finished)

    def one_crash(self, index, after, finished):
        victim = self.program("victim")
        died = self.kill_at(victim, index, after)
        for _ in range(40):
            if victim.tick().code == -9 or died.is_set():
                break
        self.assertTrue(died.is_set(), f"there was no effect {index}")
        if self.lease_held():
            self.age_lease()
        second = self.program("second")
        self.ticks(second, finished, "the end by another process", timeout=60, pause=0.2)

    def test_hazard_20_crash_anywhere_in_a_scale_up_gives_exactly_one_worker(self):
        def prepare():
            self.work.deployment("web", replicas=2)

        def finished():
            whole, open_work = self.settled()
            machines = self.instances()
            assert len(machines) <= 1, f"launched more than once: {machines}"
            return whole and len(self.nodes(ready=True)) == 1 and not self.unschedulable(), open_work
        self.crash_everywhere(prepare, None, finished)

    def test_crash_anywhere_in_a_scale_down_ends_exactly_the_one_worker(self):
        def prepare():
            keep, go = self.fleet(2, zones=2)
            self.kube.patch(f"/api/v1/nodes/{self.node_name(keep)}", {"metadata": {"annotations": {"drover.dev/protected": "true"}}})
            self.kube.patch(f"/api/v1/nodes/{self.node_name(keep)}", {"spec": {"unschedulable": True}})
            self.work.deployment("web", replicas=2)
            self.work.wait_pods("web", 2)
            self.kube.patch(f"/api/v1/nodes/{self.node_name(keep)}", {"spec": {"unschedulable": None}})
            self.keep = keep

        def finished():
            whole, open_work = self.settled()
            living = [i["id"] for i in self.living()]
            assert self.keep in living, "the other worker was ended"
            return whole and living == [self.keep] and len(self.nodes()) == 1 and not self.unschedulable(), open_work
        self.crash_everywhere(prepare, None, finished)
