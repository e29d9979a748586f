"""Services that refuse, hang, throttle, answer nonsense; credentials that are wrong or run out."""

import time

from client.kube import wait_for
from gate import Reply, service
from world import ACCOUNT, NAMESPACE, EndToEnd


def throttled(_request=None):
    return Reply(400, {"__type": "com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException", "message": "slow down"},
                 [("Content-Type", "application/x-amz-json-1.0")])


HTML = Reply(200, b"<html><head><title>Sign in</title></head><body>proxy</body></html>", [("Content-Type", "text/html")])


class Prometheus(EndToEnd):
    def test_hazard_06_minimum_is_restored_while_prometheus_refuses_and_no_more(self):
        self.gates.prometheus.shut()
        program = self.program(minWorkers=2, maxWorkers=5)
        self.ticks(program, lambda: (len(self.nodes(ready=True)) == 2 and self.settled()[0], self.settled()), "two workers")
        for _ in range(3):
            self.assertEqual(program.tick().code, 0)
        self.assertEqual(len(self.instances()), 2)

    def test_hazard_07_prometheus_that_hangs_costs_one_limit_not_one_per_query(self):
        self.fleet(2, zones=2)
        self.gates.prometheus.rule(service("prometheus"), "hang", count=None)
        program = self.program(minWorkers=2, custom=[{"name": f"q{i}", "query": "vector(1)", "above": 5} for i in range(4)])
        result = program.tick()
        self.assertEqual(result.code, 0, result)
        self.assertLess(result.seconds, 14)
        self.assertEqual([c for c in self.gates.effects() if c.service != "dynamodb"], [])

    def test_page_of_a_proxy_is_no_reading(self):
        self.fleet(2, zones=2)
        self.gates.prometheus.rule(service("prometheus"), HTML, count=None)
        program = self.program(minWorkers=1)
        for _ in range(3):
            self.assertEqual(program.tick().code, 0)
            time.sleep(0.5)
        self.assertEqual([c for c in self.gates.effects() if c.service != "dynamodb"], [])

    def test_waiting_pods_bring_a_worker_without_prometheus(self):
        self.gates.prometheus.shut()
        program = self.program()
        self.work.deployment("web")
        self.ticks(program, lambda: len(self.nodes(ready=True)) == 1, "a worker")


class Kubernetes(EndToEnd):
    def quiet(self, program, count=2, codes=(0, 1)):
        """Passes that must change nothing outside the state."""
        for _ in range(count):
            result = program.tick()
            self.assertIn(result.code, codes, result)
        self.assertEqual([c for c in self.gates.effects() if c.service != "dynamodb"], [])

    def test_api_server_that_refuses_stops_nothing_being_ended_and_is_said(self):
        self.fleet(2, zones=2)
        self.gates.kubernetes.shut()
        program = self.program(minWorkers=1)
        self.quiet(program)
        self.gates.kubernetes.listen()
        self.ticks(program, lambda: len(self.living()) == 1, "the ordinary scale-down afterwards")

    def test_api_server_that_hangs_is_left_within_the_limit(self):
        self.fleet(2, zones=2)
        self.gates.kubernetes.rule(service("kubernetes"), "hang", count=None)
        program = self.program(minWorkers=1, tickLimit="20s")
        begun = time.monotonic()
        self.quiet(program, 1)
        self.assertLess(time.monotonic() - begun, 25)

    def test_minimum_is_restored_while_the_api_server_refuses(self):
        self.gates.kubernetes.shut()
        program = self.program(minWorkers=2)
        self.ticks(program, lambda: (len(self.living()) == 2, self.living()), "two machines", codes=(0, 1))
        self.gates.kubernetes.listen()
        self.ticks(program, lambda: (self.settled()[0] and len(self.nodes(ready=True)) == 2, self.settled()), "both joined")
        self.assertEqual(len(self.instances()), 2)

    def test_expired_token_is_read_again_from_its_file(self):
        """The server says 401; a pass later the file has a new token, as with a projected service account."""
        self.fleet(2, zones=2)
        mine = self.dir / "token"
        mine.write_text("eyJhbGciOiJub25lIn0.expired.expired")
        program = self.program(minWorkers=1, kubernetes={"token": f"file:{mine}"})
        self.quiet(program, 1)
        self.assertIn(401, {c.status for c in self.gates.kubernetes.seen()})
        mine.write_text(self.kube.token_for(NAMESPACE, ACCOUNT, 600))
        self.ticks(program, lambda: len(self.living()) == 1, "the ordinary scale-down")

    def test_daemon_takes_the_new_token_without_a_restart(self):
        mine = self.dir / "token"
        mine.write_text(self.kube.token_for(NAMESPACE, ACCOUNT, 600))
        program = self.program(kubernetes={"token": f"file:{mine}"})
        daemon = program.run()
        wait_for(lambda: self.gates.kubernetes.seen("list nodes"), "the first pass")
        # From now on the server knows only the new token.
        old, new = mine.read_text(), self.kube.token_for(NAMESPACE, ACCOUNT, 601)
        self.assertNotEqual(old, new)
        denied = Reply(401, {"kind": "Status", "status": "Failure", "reason": "Unauthorized", "code": 401, "message": "Unauthorized"},
                       [("Content-Type", "application/json")])
        self.gates.kubernetes.rule(lambda r: old in r.headers.get("authorization", ""), denied, count=None)
        self.gates.kubernetes.cut()
        mine.write_text(new)
        self.work.deployment("web")
        wait_for(lambda: (len(self.nodes(ready=True)) == 1, daemon.tail(5)), "a worker", timeout=60)

    def test_cut_lists_are_unknown_not_empty(self):
        """Half a list of nodes must not look like workers that are gone."""
        self.fleet(2, zones=2)
        self.gates.kubernetes.rule(service("kubernetes", "list nodes", "list pods"), "truncate", count=None)
        self.quiet(self.program(minWorkers=2))
        self.assertEqual(len(self.instances()), 2)


class Cloud(EndToEnd):
    def test_dynamodb_throttled_now_and_then_is_ridden_out(self):
        self.gates.dynamodb.rule(lambda r: self.gates.dynamodb and r.service == "dynamodb" and len(self.gates.dynamodb.calls) % 3 == 0,
                                 throttled(), count=None)
        program = self.program()
        self.work.deployment("web")
        self.ticks(program, lambda: (len(self.nodes(ready=True)) == 1 and self.settled()[0], self.settled()), "one worker", codes=(0, 1))
        self.assertEqual(len(self.instances()), 1)

    def test_dynamodb_down_stops_every_effect(self):
        self.work.deployment("web")
        self.gates.dynamodb.shut()
        program = self.program()
        for _ in range(2):
            result = program.tick()
            self.assertEqual(result.code, 1, result)
        self.assertEqual(self.instances(), [])
        self.assertIn("dynamodb", (result.out + result.err).lower())

    def test_ec2_throttled_launch_is_repeated_with_its_token(self):
        self.settings(throttle={"enabled": True, "rules": [{"service": "ec2", "actions": ["RunInstances"], "rate": 1, "burst": 1}]})
        program = self.program(scaleUp={"maxBatch": 4})
        self.work.deployment("big", replicas=4, cpu="1500m")
        self.ticks(program, lambda: (len(self.nodes(ready=True)) == 4 and self.settled()[0], self.settled()), "four workers")
        self.assertEqual(len(self.instances()), 4)

    def test_describe_that_fails_launches_nothing(self):
        self.gates.aws.rule(service("ec2", "DescribeInstances"), HTML, count=None)
        program = self.program(minWorkers=2)
        for _ in range(2):
            self.assertIn(program.tick().code, (0, 1))
        self.assertEqual(self.gates.aws.seen("RunInstances"), [])


class WrongCredentials(EndToEnd):
    permissions_may_fail = True

    def said(self, result, *words):
        self.assertNotEqual(result.code, 0, result)
        text = (result.out + result.err).lower()
        self.assertTrue(any(w.lower() in text for w in words), f"none of {words} in:\n{result}")

    def test_wrong_secret_key_is_said_in_one_line_without_a_storm(self):
        keys = dict(self.keys, secret_access_key="wrong")
        program = self.program(minWorkers=1, keys=keys)
        result = program.tick()
        self.assertLess(len(self.gates.aws.seen()), 8, "no retry storm")
        self.assertEqual(self.instances(), [])
        self.said(program("check"), "signature", "credentials", "key")
        self.assertNotIn("wrong", result.out + result.err)

    def test_hazard_36_missing_permission_is_named_by_check(self):
        statements = [s for s in self.policies[0]["Statement"] if "ec2:RunInstances" not in str(s["Action"])]
        program = self.program(keys=self.credentials("less", [{"Version": "2012-10-17", "Statement": statements}]))
        self.said(program("check"), "RunInstances")

    def test_wrong_region_is_said_with_the_remedy_and_nothing_is_launched(self):
        program = self.program(minWorkers=1, aws={"region": "eu-west-3"})
        program.tick()
        self.assertEqual(self.gates.aws.seen("RunInstances"), [])
        result = program("check")
        self.said(result, "aws.region")
        self.assertIn("eu-west-3", result.out)

    def test_missing_table_is_said_with_the_remedy(self):
        program = self.program(state={"table": "no-such-table"})
        self.said(program.tick(), "no-such-table")
        self.said(program("check"), "--create")

    def test_hazard_36_wrong_ca_is_refused_and_nothing_is_sent(self):
        program = self.program(kubernetes={"caFile": "/etc/ssl/certs/ca-certificates.crt"})
        self.said(program("check"), "certificate", "CA")
        self.assertEqual([c for c in self.gates.kubernetes.seen()], [], "nothing was sent, no token in particular")
