"""Commands that only look: plan, status, history, explain, check, config."""

from client.kube import wait_for
from world import EndToEnd, shipped_policy


class Looking(EndToEnd):
    def test_plan_changes_nothing_and_says_what_a_pass_would_do(self):
        program = self.program(minWorkers=1)
        self.work.deployment("web")
        wait_for(lambda: self.unschedulable(), "a waiting pod")
        for arguments in (("plan",), ("plan", "-o", "json"), ("plan", "--diff")):
            result = program(*arguments)
            self.assertEqual(result.code, 0, result)
        calls = self.gates.calls()
        self.assertTrue(calls)
        self.assertEqual([c for c in calls if not c.is_read], [], "only reads")
        self.assertEqual(self.item(), {})
        self.assertEqual(self.instances(), [])
        text = program("plan").out.lower()
        self.assertIn("minimum", text)

    def test_plan_during_a_scale_down_changes_nothing(self):
        self.fleet(2, zones=2)
        program = self.program(minWorkers=1)
        self.assertEqual(program.tick().code, 0)
        self.gates.forget()
        result = program("plan", "-o", "json")
        self.assertEqual(result.code, 0, result)
        self.assertEqual([c for c in self.gates.calls() if not c.is_read], [])
        self.assertTrue(result.json)

    def test_status_history_and_explain_read_dynamodb(self):
        program = self.program(minWorkers=1)
        self.ticks(program, lambda: (len(self.nodes(ready=True)) == 1 and self.settled()[0], self.settled()), "one worker")
        self.gates.forget()
        machine, = self.instances()
        for arguments, word in ((("status",), "1"), (("history",), "scale"), (("explain", machine["id"]), machine["id"])):
            result = program(*arguments)
            self.assertEqual(result.code, 0, result)
            self.assertIn(word, result.out.lower(), result)
            self.assertTrue(program(*arguments, "-o", "json").json)
        self.assertEqual([c for c in self.gates.calls() if not c.is_read], [])

    def test_hazard_36_check_finds_nothing_wrong_with_the_shipped_permissions(self):
        self.fleet(2, zones=2)
        program = self.program(minWorkers=1)
        result = program("check")
        self.assertEqual(result.code, 0, result)
        answer = program("check", "-o", "json")
        self.assertEqual(answer.code, 0, answer)
        self.assertTrue(answer.json)
        for instance in self.living():
            self.assertIn(instance["id"], result.out, "the identity of every node")
        self.assertEqual(len(self.instances()), 2, "nothing was launched")
        self.assertEqual([n for n in self.cordoned()], [])

    def test_check_create_makes_the_tables(self):
        table = self.person("dynamodb")
        for name in ("drover-state", "drover-logs"):
            table.delete_table(TableName=name)
        self.policies.append(shipped_policy(self.account, "setup-policy"))
        program = self.program(minWorkers=1, keys=self.credentials("setup", self.policies))
        self.assertEqual(program("check").code, 1)
        result = program("check", "--create")
        self.assertEqual(sorted(table.list_tables()["TableNames"]), ["drover-logs", "drover-state"], result)
        self.ticks(program, lambda: (len(self.nodes(ready=True)) == 1 and self.settled()[0], self.settled()), "one worker")
