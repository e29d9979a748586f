"""What drover itself costs on the real services. The bounds are several times the aims, so that a slow or busy machine passes;
what was measured is in the output of the run. What needs no control plane is in tests/bench."""

import collections
import os
import pathlib
import statistics
import time

from client.kube import wait_for
from world import EndToEnd

AIM_CPU_SEC, AIM_MEMORY, AIM_AWS_CALLS, AIM_WAKE_SEC = 0.020, 15 << 20, 4, 1.0
DELAY_SEC = 0.6


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Cost(EndToEnd):
    def tell(self, text):
        print(f"cost  {text}", flush=True)

    def straight(self, program):
        """The same program without the gates, which cost more than it does."""
        env = self.stack.env
        program.environment.update(AWS_ENDPOINT_URL=env["AWS_ENDPOINT_URL"], AWS_ENDPOINT_URL_DYNAMODB=env["STACK_DYNAMODB_URL"])
        text = program.file.read_text()
        text = text.replace(self.gates.kubernetes.url, env["STACK_APISERVER_URL"])
        program.file.write_text(text.replace(self.gates.prometheus.url, env["STACK_PROMETHEUS_URL"]))
        return program

    def quiet(self, **changes):
        """A fleet that needs nothing, and a program that knows its pool."""
        self.fleet(2, zones=2, cpu=0.5)
        program = self.program(minWorkers=2, **changes)
        for _ in range(2):
            self.assertEqual(program.tick().code, 0)
        self.gates.forget()
        return program

    def test_quiet_pass_of_a_new_process_is_small(self):
        program = self.quiet()
        self.assertEqual(program.tick().code, 0)
        calls = collections.Counter(c.service for c in self.gates.calls())
        self.assertEqual([c for c in self.gates.effects() if c.service != "dynamodb"], [])
        runs = []
        for _ in range(20):
            code, *numbers = self.straight(program).measured("tick")
            self.assertEqual(code, 0)
            runs.append(numbers)
        cpu, memory, wall = (statistics.median(r[i] for r in runs) for i in range(3))
        self.tell(f"quiet tick: {cpu * 1000:.1f} ms of processor time, {memory / (1 << 20):.1f} MB, {wall * 1000:.0f} ms, calls {dict(calls)}")
        self.assertLess(cpu, AIM_CPU_SEC * 5)
        self.assertLess(memory, AIM_MEMORY * 2)
        self.assertLessEqual(calls["ec2"] + calls["dynamodb"] + calls["sqs"], AIM_AWS_CALLS)

    def test_quiet_pass_asks_everything_at_once(self):
        """Every answer is held back for a while: all questions have arrived before the first answer goes out."""
        program = self.quiet()
        self.gates.rule(lambda _request: True, ("delay", DELAY_SEC), count=None)
        result = program.tick()
        self.assertEqual(result.code, 0, result)
        calls = self.gates.calls()
        self.assertGreaterEqual({c.service for c in calls}, {"ec2", "dynamodb", "sqs", "kubernetes", "prometheus"})
        spread = calls[-1].time - calls[0].time
        self.tell(f"quiet tick, every answer {DELAY_SEC * 1000:.0f} ms late: {result.seconds * 1000:.0f} ms, "
                  f"{len(calls)} calls within {spread * 1000:.0f} ms")
        self.assertLess(spread, DELAY_SEC, [f"{c.time - calls[0].time:.3f} {c.service} {c.action}" for c in calls])

    def test_waiting_pod_brings_a_launch_within_moments(self):
        program = self.program(interval="10m", maxWorkers=20, scaleUp={"pending": {"for": "0s"}, "joinTimeout": "10m"})
        daemon = program.run()
        wait_for(lambda: self.gates.kubernetes.seen("watch pods"), "the watch")
        times = []
        for index in range(8):
            time.sleep(2.5)  # events of pods and Nodes do not bring passes closer together than two seconds
            self.gates.forget()
            self.work.deployment(f"big-{index}", cpu="1500m")
            wait_for(lambda: self.unschedulable(), "a waiting pod", every=0.01)
            begun = time.time()
            launch = wait_for(lambda: self.gates.aws.seen("RunInstances"), "the launch", every=0.01)[0]
            times.append(launch.time - begun)
            self.assertTrue(daemon.alive(), daemon.tail())
            wait_for(lambda: (not self.unschedulable() and self.settled()[0], daemon.tail(5)), "the end of the scale-up", timeout=40)
        self.tell("waiting pod to RunInstances: " + ", ".join(f"{t * 1000:.0f} ms" for t in sorted(times)))
        self.assertLess(statistics.median(times), AIM_WAKE_SEC * 2)

    def test_idle_daemon_takes_little(self):
        program = self.straight(self.quiet(log={"level": "info"}))
        daemon = program.run()
        wait_for(lambda: len(daemon.lines()) >= 3, "the first passes", timeout=60)
        begun, lines = cpu_seconds(daemon.pid), len(daemon.lines())
        wait_for(lambda: len(daemon.lines()) >= lines + 4, "four passes", timeout=60)
        used, passes = cpu_seconds(daemon.pid) - begun, len(daemon.lines()) - lines
        resident = int(pathlib.Path(f"/proc/{daemon.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        self.tell(f"idle daemon: {used / passes * 1000:.0f} ms of processor time per pass, {used / passes * 120:.1f} s per hour at one "
                  f"pass in 30 s, {resident / (1 << 20):.1f} MB")
        self.assertLess(used / passes, AIM_CPU_SEC * 5)
