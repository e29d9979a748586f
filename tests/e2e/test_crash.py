"""kill -9 between any two effects of both workflows, and another process goes on.

First the workflow runs undisturbed, and its effects (writes of the state, calls to EC2 and to Kubernetes that change
something; not the journal) are counted from the write that begins the action. Then it runs again for each of them, and the
process is killed when that effect is done and before its answer arrives: for the world this is the same moment as just
before the next one. What follows is always the same: the lease runs out, another process ends the work, and the world is as
if nothing had happened."""

import threading

from world import EndToEnd


class Workflow:
    """A condition for the gates: effects of the action, from its beginning on."""

    def __init__(self, logs_table, first_word):
        self.logs_table, self.first_word, self.begun = logs_table, first_word, False

    def __call__(self, request):
        if not request.is_effect or request.service == "sqs":
            return False
        if request.service == "dynamodb" and request.params.get("TableName") == self.logs_table:
            return False
        self.begun = self.begun or self.first_word in request.body
        return self.begun


class Crash(EndToEnd):
    def new_world(self):
        self.doCleanups()
        self.setUp()

    def workflow(self):
        return Workflow(self.account["logs_table"], self.first_word)

    def kill_after(self, program, index):
        """The program dies at this effect of the workflow; nothing that it sends later reaches anybody."""
        died = threading.Event()

        def strike(_request):
            program.kill_running()
            died.set()
            return "lost"
        self.gates.rule(self.workflow(), strike, skip=index, after=True)
        return died

    def crash_everywhere(self, prepare, finished, **configuration):
        self.configured = configuration
        prepare()
        self.gates.forget()
        self.ticks(self.program("first", **configuration), finished, "the undisturbed end", pause=0.1)
        counted = self.workflow()
        plan = [f"{c.service} {c.action}" for c in self.gates.calls() if counted(c)]
        self.assertGreater(len(plan), 4, plan)
        crashed = 0
        for index, what in enumerate(plan):
            with self.subTest(after=f"effect {index + 1} of {len(plan)}, {what}"):
                self.new_world()
                prepare()
                crashed += self.one_crash(index, finished)
        self.assertGreaterEqual(crashed, len(plan) - 1, "the workflow was shorter than when it was not disturbed")

    def one_crash(self, index, finished):
        victim = self.program("victim", **self.configured)
        died = self.kill_after(victim, index)
        for _ in range(60):
            if victim.tick().code == -9 or died.is_set() or finished()[0]:
                break
        if self.lease_held():
            self.age_lease()
        self.ticks(self.program("second", **self.configured), finished, "the end by another process", pause=0.1)
        return died.is_set()

    def test_hazard_20_crash_anywhere_in_a_scale_up_gives_exactly_one_worker(self):
        self.first_word = b"scaleUpActionId"

        def prepare():
            self.work.deployment("web", replicas=2)

        def finished():
            whole, open_work = self.settled()
            machines = self.instances()
            assert len(machines) <= 1, f"launched more than once: {machines}"
            return whole and len(self.nodes(ready=True)) == 1 and not self.unschedulable(), open_work
        self.crash_everywhere(prepare, finished)

    def test_crash_anywhere_in_a_scale_down_ends_exactly_the_one_worker(self):
        self.first_word = b"scaleDownActionId"

        def prepare():
            self.keep, self.go = self.fleet(2, zones=2)
            name = self.node_name(self.keep)
            self.kube.patch(f"/api/v1/nodes/{name}", {"metadata": {"annotations": {"drover.dev/protected": "true"}},
                                                      "spec": {"unschedulable": True}})
            self.work.deployment("web", replicas=2)
            self.work.wait_pods("web", 2)
            self.kube.patch(f"/api/v1/nodes/{name}", {"spec": {"unschedulable": None}})

        def finished():
            whole, open_work = self.settled()
            living = [i["id"] for i in self.living()]
            assert self.keep in living, "the other worker was ended"
            return whole and living == [self.keep] and len(self.nodes()) == 1 and not self.unschedulable(), open_work
        self.crash_everywhere(prepare, finished, minWorkers=1, scaleDown={"idleFor": "0s"})
