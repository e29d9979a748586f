"""What drover itself costs on the real services. The bounds are several times the aims, so that a slow or busy machine passes;
what was measured is in the output of the run."""

import collections
import statistics
import time

from client.kube import wait_for
from world import EndToEnd

AIM_CPU_SEC, AIM_MEMORY, AIM_AWS_CALLS, AIM_WAKE_SEC = 0.020, 15 << 20, 4, 1.0


class Cost(EndToEnd):
    def tell(self, text):
        print(f"cost  {text}", flush=True)

    def test_quiet_pass_of_a_new_process_is_small(self):
        self.fleet(2, zones=2, cpu=0.5)
        program = self.program(minWorkers=2)
        for _ in range(2):
            self.assertEqual(program.tick().code, 0)
        runs, calls = [], None
        for _ in range(10):
            self.gates.forget()
            code, *numbers = program.measured("tick")
            self.assertEqual(code, 0)
            runs.append(numbers)
            calls = collections.Counter(c.service for c in self.gates.calls())
            self.assertEqual([c for c in self.gates.effects() if c.service != "dynamodb"], [])
        cpu, memory, wall = (statistics.median(r[i] for r in runs) for i in range(3))
        self.tell(f"quiet tick: {cpu * 1000:.1f} ms of processor time, {memory / (1 << 20):.1f} MB, {wall * 1000:.0f} ms, calls {dict(calls)}")
        self.assertLess(cpu, AIM_CPU_SEC * 5)
        self.assertLess(memory, AIM_MEMORY * 2)
        self.assertLessEqual(calls["ec2"] + calls["dynamodb"] + calls["sqs"], AIM_AWS_CALLS + 2)

    def test_waiting_pod_brings_a_launch_within_moments(self):
        program = self.program(interval="10m", maxWorkers=20, scaleUp={"pending": {"for": "0s"}, "joinTimeout": "10m"})
        daemon = program.run()
        wait_for(lambda: self.gates.kubernetes.seen("watch pods"), "the watch")
        times = []
        for index in range(3):
            time.sleep(2.5)  # events of pods and Nodes do not bring passes closer together than two seconds
            self.gates.forget()
            self.work.deployment(f"big-{index}", cpu="1500m")
            wait_for(lambda: self.unschedulable(), "a waiting pod", every=0.01)
            begun = time.time()
            launch = wait_for(lambda: self.gates.aws.seen("RunInstances"), "the launch", every=0.01)[0]
            times.append(launch.time - begun)
            self.assertTrue(daemon.alive(), daemon.tail())
            wait_for(lambda: (not self.unschedulable() and self.settled()[0], daemon.tail(5)), "the end of the scale-up", timeout=40)
        self.tell("waiting pod to RunInstances: " + ", ".join(f"{t * 1000:.0f} ms" for t in times))
        self.assertLess(statistics.median(times), AIM_WAKE_SEC * 2)
