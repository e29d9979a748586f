"""The base of the end-to-end tests: an empty stack, gates in front of every service, the identity that we ship
(IAM policy and RBAC role, both enforced), a configuration with short clocks, and what is true of every test's end."""

import json
import os
import pathlib
import re
import subprocess
import time
import unittest

from client.account import Clients
from client.kube import is_ready, is_unschedulable, wait_for
from client.stack import Stack
from aws import policy as iam
from gate import Gate
from program import Program

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
NAMESPACE, ACCOUNT = "drover", "drover"
CORDON = "drover.dev/cordoned-by"
EVERYTHING = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}
CPU = '1 - avg(rate(node_cpu_seconds_total{mode="idle"}[5s]))'
NOBODY = "i-0123456789abcdef0"
LEASE_SEC = 70  # a lease that nobody renews is taken over after so long


def shipped_policy(account, name="policy"):
    """A policy as we ship it, with the placeholders of the deployment filled in."""
    text = (ROOT / f"deploy/iam/{name}.json").read_text()
    values = {"REGION": "us-east-1", "ACCOUNT": "123456789012", "CLUSTER": account["cluster"],
              "STATE_TABLE": account["state_table"], "LOGS_TABLE": account["logs_table"], "QUEUE": "drover-events",
              "WORKER_ROLE": account["instance_profile"]}
    return json.loads(re.sub(r"\$\{(\w+)\}", lambda m: values[m.group(1)], text))


class Shared:
    """What all tests of a run share: the stack, the gates, the service account and its token."""

    made = None

    def __init__(self):
        self.stack = Stack(os.environ["STACK_DIR"])
        self.work = self.stack.dir / "e2e"
        self.work.mkdir(exist_ok=True)
        env, pki = self.stack.env, self.stack.dir / "pki"
        self.gates = {
            "aws": Gate("aws", env["AWS_ENDPOINT_URL"]),
            "dynamodb": Gate("dynamodb", env["STACK_DYNAMODB_URL"]),
            "prometheus": Gate("prometheus", env["STACK_PROMETHEUS_URL"]),
            "kubernetes": Gate("kubernetes", env["STACK_APISERVER_URL"], cafile=str(pki / "ca.crt"),
                               cert=(str(pki / "server.crt"), str(pki / "server.key"))),
        }
        self.binary = pathlib.Path(os.environ.get("DROVER", ROOT / "build/drover"))
        self.stack.kubectl("apply", "-f", ROOT / "deploy/kubernetes/rbac.yaml")
        self.token_file = self.work / "token"
        self.token_file.write_text(self.stack.kube.token_for(NAMESPACE, ACCOUNT, 36000))

    @classmethod
    def get(cls):
        if cls.made is None:
            cls.made = cls()
        return cls.made


class Gates:
    def __init__(self, gates):
        self.all = gates
        self.aws, self.dynamodb = gates["aws"], gates["dynamodb"]
        self.kubernetes, self.prometheus = gates["kubernetes"], gates["prometheus"]

    def reset(self):
        for gate in self.all.values():
            gate.reset()

    def rule(self, *arguments, **options):
        """The same rule at every gate, counted together."""
        made = self.aws.rule(*arguments, **options)
        for gate in (self.dynamodb, self.kubernetes, self.prometheus):
            with gate.lock:
                gate.rules.append(made)
        return made

    def calls(self):
        return sorted((c for g in self.all.values() for c in g.seen()), key=lambda c: c.time)

    def effects(self):
        return [c for c in self.calls() if c.is_effect]

    def forget(self):
        for gate in self.all.values():
            with gate.lock:
                gate.calls = []


class EndToEnd(unittest.TestCase):
    uses_stack = True
    slow = ()

    def setUp(self):
        shared = Shared.get()
        self.shared, self.stack = shared, shared.stack
        self.kube, self.work = self.stack.kube, self.stack.work
        self.gates = Gates(shared.gates)
        self.gates.reset()
        self.stack.reset()
        self.account = self.stack.account
        self.dir = shared.work / self.id().split(".", 1)[-1]
        self.dir.mkdir(exist_ok=True)
        for old in self.dir.glob("*"):
            if old.is_file():
                old.unlink()
        self.policies = [shipped_policy(self.account)]
        self.keys = self.credentials("drover", self.policies)
        person = self.credentials("tester", [EVERYTHING])
        self.person = Clients(self.stack.env["AWS_ENDPOINT_URL"], self.stack.env["STACK_DYNAMODB_URL"], "us-east-1",
                              person["access_key_id"], person["secret_access_key"])
        self.settings(auth={"enforce": True}, throttle={"enabled": False}, clocks={"gone_after_s": 3600})
        self.glue(bootSeconds=0)
        self.programs = []
        self.addCleanup(self.end)

    # -- identity and settings ------------------------------------------------------------------

    def credentials(self, name, policies, **options):
        return self.stack.emulator.post("/drover/credentials", {"name": name, "policies": policies, **options})

    def settings(self, **values):
        return self.stack.emulator.post("/drover/settings", values)

    def glue(self, **values):
        return self.stack.glue.post("/settings", values)

    # -- the program ----------------------------------------------------------------------------

    def configuration(self, **changes):
        """Short clocks everywhere. `changes` are merged in, section by section."""
        base = {
            "cluster": self.account["cluster"], "interval": "5s", "tickLimit": "40s", "minWorkers": 0, "maxWorkers": 5,
            "signals": {"minSamples": 2, "maxGap": "10s", "cpu": {"query": CPU}},
            "scaleUp": {"cpu": {"threshold": "70%", "for": "3s"}, "memory": {"threshold": "off"}, "pending": {"for": "1s"},
                        "cooldown": "0s", "joinTimeout": "30s", "backoff": "1s", "backoffMax": "2s"},
            "scaleDown": {"cpu": {"threshold": "30%"}, "memory": {"threshold": "off"}, "idleFor": "1s", "cooldown": "0s",
                          "drainTimeout": "20s", "avoidVictim": "1m"},
            "launch": {"spotPercent": 0, "onDemandBase": 0, "stockout": "1m"},
            "state": {"store": "dynamodb", "table": self.account["state_table"], "logsTable": self.account["logs_table"],
                      "cache": str(self.dir / "cache")},
            "aws": {"region": "us-east-1"},
            "ec2": {"launchTemplate": self.account["launch_template"], "subnets": [s["id"] for s in self.account["subnets"]]},
            "kubernetes": {"endpoint": self.gates.kubernetes.url, "token": f"file:{self.shared.token_file}",
                           "caFile": str(self.stack.dir / "pki/ca.crt")},
            "prometheus": {"url": self.gates.prometheus.url, "step": "1s"},
            "events": {"queueUrl": self.account["queue_url"]},
            "daemon": {"batch": "250ms", "grace": "10s"},
            "log": {"level": "debug", "format": "json"},
        }
        return merged(base, changes)

    def environment(self, keys=None):
        keys = keys or self.keys
        values = {k: os.environ[k] for k in ("PATH", "HOME", "LANG") if k in os.environ}
        values.update(AWS_ENDPOINT_URL=self.gates.aws.url, AWS_ENDPOINT_URL_DYNAMODB=self.gates.dynamodb.url,
                      AWS_ACCESS_KEY_ID=keys["access_key_id"], AWS_SECRET_ACCESS_KEY=keys["secret_access_key"],
                      AWS_EC2_METADATA_DISABLED="true")
        if "session_token" in keys:
            values["AWS_SESSION_TOKEN"] = keys["session_token"]
        return values

    def program(self, name="", keys=None, **changes):
        directory = self.dir / name if name else self.dir
        directory.mkdir(exist_ok=True)
        (directory / "cache").mkdir(exist_ok=True)
        made = Program(self.shared.binary, directory, self.configuration(**changes), self.environment(keys))
        self.programs.append(made)
        return made

    def ticks(self, program, until, message, timeout=60, pause=0.3, codes=(0,)):
        """One pass after the other, each a new process, until something is true."""
        last = [None]

        def step():
            last[0] = program.tick()
            if codes is not None and last[0].code not in codes:
                raise AssertionError(f"a tick failed while waiting for {message}: {last[0]}")
            result = until()
            return result[0] if isinstance(result, tuple) else result, f"{result}\n{last[0]}\n{self.picture()}"
        return wait_for(step, message, timeout, pause)

    # -- looking at the world -------------------------------------------------------------------

    def instances(self, *states, **match):
        """The truth of the emulator: every instance that ever was, or those in one of these states."""
        found = self.stack.emulator.get("/drover/instances")["instances"]
        return [i for i in found if (not states or i["state"] in states) and all(i.get(k) == v for k, v in match.items())]

    def living(self):
        return self.instances("pending", "running")

    def nodes(self, ready=None):
        return [n for n in self.kube.nodes() if ready is None or is_ready(n) == ready]

    def cordoned(self):
        return [n["metadata"]["name"] for n in self.nodes()
                if n["spec"].get("unschedulable") or CORDON in (n["metadata"].get("annotations") or {})]

    def unschedulable(self):
        return [p["metadata"]["name"] for p in self.kube.pods("default") if is_unschedulable(p)]

    def item(self):
        """The state item as plain values; {} if there is none."""
        found = self.person("dynamodb").get_item(TableName=self.account["state_table"], Key={"pk": {"S": self.account["cluster"]}},
                                                 ConsistentRead=True).get("Item")
        return {k: plain(v) for k, v in (found or {}).items()}

    def calls(self, *actions):
        """Calls of drover as the AWS emulator saw them."""
        return [c for c in self.stack.emulator.get("/drover/calls")["calls"]
                if c["agent"].startswith("drover") and (not actions or c["action"] in actions)]

    def picture(self):
        """Everything in a few lines, for a failure's message."""
        lines = ["instances: " + ", ".join(f"{i['id']} {i['state']} {i['zone'][-1]} {i.get('market', '')}" for i in self.instances())]
        lines.append("nodes: " + ", ".join(f"{n['metadata']['name']} {'Ready' if is_ready(n) else 'NotReady'}"
                                           + (" cordoned" if n["spec"].get("unschedulable") else "") for n in self.nodes()))
        lines.append("pods: " + ", ".join(f"{p['metadata']['name']} {p['status'].get('phase')} {p['spec'].get('nodeName', '-')}"
                                          + (" ending" if "deletionTimestamp" in p["metadata"] else "") for p in self.kube.pods("default")))
        lines.append(f"item: {json.dumps(self.item(), sort_keys=True)[:1500]}")
        return "\n".join(lines)

    # -- changing the world ---------------------------------------------------------------------

    def fleet(self, count, market=None, zones=3, cpu=0.05, tags=None):
        """So many joined workers that a person launched, spread over zones, with load; returns their ids."""
        arguments = []
        for index in range(count):
            arguments.append({"zone": index % zones, "market": market, "tags": tags})
        ids = [self.launch(**a) for a in arguments]
        nodes = self.stack.wait_joined(ids)
        for node in nodes:
            self.stack.load(node["metadata"]["name"], cpu=cpu, memory=0.2, cpus=2)
        self.wait_cpu(lambda value: abs(value - cpu) < 0.05)
        return ids

    def launch(self, zone=0, market=None, tags=None, kind=None):
        values = {self.account["cluster_tag"]: self.account["cluster"], "drover.dev/role": "worker", **(tags or {})}
        arguments = {"MinCount": 1, "MaxCount": 1, "SubnetId": self.account["subnets"][zone]["id"],
                     "LaunchTemplate": {"LaunchTemplateId": self.account["launch_template"]},
                     "TagSpecifications": [{"ResourceType": "instance", "Tags": [{"Key": k, "Value": v} for k, v in values.items()]}]}
        if market == "spot":
            arguments["InstanceMarketOptions"] = {"MarketType": "spot"}
        if kind:
            arguments["InstanceType"] = kind
        return self.person("ec2").run_instances(**arguments)["Instances"][0]["InstanceId"]

    def wait_cpu(self, good, timeout=30):
        """Waits until Prometheus shows what the exporter was told."""
        def look():
            found = self.stack.query(CPU)
            return bool(found) and good(found[0][1]), found
        return wait_for(look, "the cpu signal in Prometheus", timeout)

    def set_cpu(self, value):
        for node in self.nodes():
            self.stack.load(node["metadata"]["name"], cpu=value, memory=0.2, cpus=2)

    def node_name(self, instance):
        return self.stack.node_of(instance)["metadata"]["name"]

    def age_lease(self):
        """As if the time of the lease had passed: what another process waits for after a crash."""
        table = self.person("dynamodb")
        table.update_item(TableName=self.account["state_table"], Key={"pk": {"S": self.account["cluster"]}},
                          UpdateExpression="SET leaseUntilEpoch = :t", ConditionExpression="attribute_exists(leaseOwner)",
                          ExpressionAttributeValues={":t": {"N": "1"}})

    def lease_held(self):
        return bool(self.item().get("leaseOwner"))

    # -- what must be true ----------------------------------------------------------------------

    def settled(self):
        """Nothing is under way: (whether, what is)."""
        item, open_work = self.item(), []
        if item.get("scalingInProgress"):
            open_work.append("scalingInProgress")
        for name in ("scaleUpActionId", "scaleDownActionId", "terminatingInstanceIds", "interruptions"):
            if item.get(name):
                open_work.append(f"{name}={item[name]}")
        cordoned = self.cordoned()
        if cordoned:
            open_work.append(f"cordoned={cordoned}")
        return not open_work, open_work

    def assert_settled(self):
        whole, open_work = self.settled()
        self.assertTrue(whole, f"{open_work}\n{self.picture()}")

    def assert_never_more_than(self, limit):
        """By the emulator's record of launches and ends: never more living instances at once than this."""
        events = []
        for i in self.instances():
            events.append((i["launched_at"], 1))
            if i.get("ended_at"):
                events.append((i["ended_at"], -1))
        level = peak = 0
        for _, step in sorted(events):
            level += step
            peak = max(peak, level)
        self.assertLessEqual(peak, limit)

    def check_permissions(self):
        """No call was refused for lack of permission, and DynamoDB (whose server knows no policies) would not have
        refused one either."""
        # An instance that never was carries no tag, so that ending it is denied: tests that do so use this one.
        refused = [c for c in self.calls() if c["error"] in ("UnauthorizedOperation", "AccessDenied", "AccessDeniedException")
                   and c["params"].get("InstanceId.1") != NOBODY]
        self.assertEqual(refused, [], "refused by the policy that we ship")
        rows = [c for c in self.gates.kubernetes.seen() if c.status == 403]
        self.assertEqual(rows, [], "refused by the role that we ship")
        statements = [s for document in self.policies for s in iam.statements(document)]
        for call in self.gates.dynamodb.seen():
            table = call.params.get("TableName", "*")
            resource = f"arn:aws:dynamodb:us-east-1:123456789012:table/{table}"
            verdict = iam.decide(statements, f"dynamodb:{call.action}", resource, {})
            self.assertEqual(verdict, "allow", f"the policy that we ship does not allow dynamodb:{call.action} on {resource}")

    permissions_may_fail = False

    def end(self):
        for program in self.programs:
            program.end_all()
        try:
            if not self.permissions_may_fail:
                self.check_permissions()
            failures = self.stack.emulator.get("/drover/failures")["failures"]
            self.assertEqual(failures, [], "the AWS emulator failed: a request of ours that no service expects")
        finally:
            self.stack.emulator("DELETE", "/drover/failures")
            self.gates.reset()


def plain(value):
    """A DynamoDB attribute as Python has it."""
    kind, inner = next(iter(value.items()))
    if kind == "N":
        return float(inner) if "." in inner else int(inner)
    if kind == "L":
        return [plain(v) for v in inner]
    if kind == "M":
        return {k: plain(v) for k, v in inner.items()}
    return None if kind == "NULL" else inner


def merged(base, changes):
    result = dict(base)
    for key, value in changes.items():
        result[key] = merged(base[key], value) if isinstance(value, dict) and isinstance(base.get(key), dict) else value
    return {k: v for k, v in result.items() if v is not None}
