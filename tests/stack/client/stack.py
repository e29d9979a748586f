"""A running stack as a test sees it: clients for every part, reset between tests, start and stop."""

import json
import os
import pathlib
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from concurrent.futures import ThreadPoolExecutor

from .account import Clients, make_account
from .kube import Kube, KubeError, wait_for
from .workloads import TEST_LABEL, Workloads

PROGRAM = pathlib.Path(__file__).resolve().parent.parent / "stack"
SYSTEM = ("kube-system", "kube-public", "kube-node-lease")
# In this order: what makes pods goes before the pods.
NAMESPACED = ("/apis/apps/v1/{}/deployments", "/apis/apps/v1/{}/statefulsets", "/apis/apps/v1/{}/daemonsets",
              "/apis/batch/v1/{}/cronjobs", "/apis/batch/v1/{}/jobs", "/apis/apps/v1/{}/replicasets",
              "/apis/policy/v1/{}/poddisruptionbudgets", "/api/v1/{}/persistentvolumeclaims")


class Http:
    """JSON over HTTP to a part's own endpoints."""

    def __init__(self, url):
        self.url = url

    def __call__(self, method, path, body=None, timeout=15):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=timeout) as answer:
                text = answer.read().decode()
        except urllib.error.HTTPError as error:
            raise RuntimeError(f"{method} {self.url}{path}: {error.code} {error.read().decode(errors='replace')[:300]}") from None
        try:
            return json.loads(text)
        except ValueError:
            return text

    def get(self, path):
        return self("GET", path)

    def post(self, path, body=None):
        return self("POST", path, body or {})


class Stack:
    """Attach to a running stack: Stack() takes the one of STACK_DIR or build/stack."""

    def __init__(self, directory=None):
        self.dir = pathlib.Path(directory or os.environ.get("STACK_DIR") or PROGRAM.parent.parent.parent / "build/stack")
        try:
            facts = json.loads((self.dir / "stack.json").read_text())
        except OSError:
            raise RuntimeError(f"no stack runs in {self.dir}; start one with {PROGRAM} up --dir {self.dir}") from None
        self.env, self.ports, self.missing, self.options = facts["env"], facts["ports"], facts["missing"], facts["options"]
        self.cache = pathlib.Path(facts["cache"])
        self.kube = Kube(self.dir / "kubeconfig")
        self.work = Workloads(self.kube)
        self.aws = Clients(self.env["AWS_ENDPOINT_URL"], self.env["STACK_DYNAMODB_URL"], self.options["region"])
        self.emulator = Http(self.env["AWS_ENDPOINT_URL"])
        self.glue = Http(self.env["STACK_GLUE_URL"])
        self.exporter = Http(self.env["STACK_EXPORTER_URL"])
        self.account = {}
        if (self.dir / "account.json").exists():
            self.account = json.loads((self.dir / "account.json").read_text())

    # -- start and stop -------------------------------------------------------------------------

    @classmethod
    def start(cls, directory, *arguments):
        """Starts a stack (or finds it up) and attaches to it."""
        run_program("up", "--dir", directory, *arguments)
        return cls(directory)

    def stop(self):
        run_program("down", "--dir", self.dir)

    # -- reset ----------------------------------------------------------------------------------

    def reset(self):
        """An empty cluster, a fresh account, quiet proxies. Returns the seconds it took."""
        begun = time.monotonic()
        if "glue" not in self.missing:
            self.glue.post("/pause")
        with ThreadPoolExecutor(4) as pool:
            cluster = pool.submit(self._reset_cluster)
            load = pool.submit(self._reset_load)
            self._reset_cloud()
            cluster.result()
            load.result()
        if "glue" not in self.missing:
            self.glue.post("/reset")
        return time.monotonic() - begun

    def _reset_cloud(self):
        if {"aws", "dynamodb"} & set(self.missing):
            return
        self.emulator.post("/drover/reset")
        self.account.update(make_account(self.aws))
        self.emulator("DELETE", "/drover/calls")
        (self.dir / "account.json").write_text(json.dumps(self.account, indent=1))

    def _reset_load(self):
        for name in ("dynamodb", "prometheus", "apiserver"):
            if f"{name}-proxy" not in self.missing:
                self.proxy(name).post("/reset")
        if "exporter" not in self.missing:
            self.exporter.post("/reset")
        if "prometheus" not in self.missing:
            Http(self.env["STACK_PROMETHEUS_URL"])("POST", "/api/v1/admin/tsdb/delete_series?match[]={job=%22node%22}")

    def _reset_cluster(self):
        namespaces = [n["metadata"]["name"] for n in self.kube.items("/api/v1/namespaces")]
        places = [n for n in namespaces if n not in SYSTEM]
        with ThreadPoolExecutor(8) as pool:
            jobs = [(self._delete_all, path.format(f"namespaces/{place}")) for place in places for path in NAMESPACED]
            jobs += [(self._delete_all, "/apis/apps/v1/namespaces/kube-system/" + kind)
                     for kind in ("deployments", "replicasets", "daemonsets")]
            jobs += [(self._delete_all, "/api/v1/nodes"), (self._delete_all, "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases")]
            jobs.append((self._delete_all, "/api/v1/persistentvolumes"))
            jobs += [(self._delete_all, f"/apis/{path}", TEST_LABEL)
                     for path in ("rbac.authorization.k8s.io/v1/clusterroles", "rbac.authorization.k8s.io/v1/clusterrolebindings",
                                  "scheduling.k8s.io/v1/priorityclasses", "storage.k8s.io/v1/storageclasses")]
            jobs += [(self._delete_all, path, TEST_LABEL) for place in places for path in (
                f"/api/v1/namespaces/{place}/serviceaccounts", f"/apis/rbac.authorization.k8s.io/v1/namespaces/{place}/roles",
                f"/apis/rbac.authorization.k8s.io/v1/namespaces/{place}/rolebindings")]
            pods = [(self._delete_all, f"/api/v1/namespaces/{place}/pods") for place in [*places, "kube-system"]]
            for batch in (jobs, pods):
                for job in [pool.submit(*job) for job in batch]:
                    job.result()
        # A controller that has not seen the deletion yet makes one more pod, or one more set: empty is what stays empty.
        for _ in range(2):
            wait_for(self._empty, "an empty cluster", timeout=10, every=0.02)
            time.sleep(0.1)
        wait_for(self._empty, "an empty cluster", timeout=10, every=0.02)

    def _delete_all(self, path, selector=None):
        query = {"labelSelector": selector} if selector else None
        try:
            self.kube.call("DELETE", path, {"propagationPolicy": "Background", "gracePeriodSeconds": 0}, query=query)
        except KubeError as error:
            if error.status not in (404, 409):
                raise

    def _empty(self):
        """Deletes what is left at once: nothing a test leaves may hold a pod."""
        left = self.kube.pods()
        sets = self.kube.items("/apis/apps/v1/replicasets")
        for meta in (s["metadata"] for s in sets):
            self._delete_all(f"/apis/apps/v1/namespaces/{meta['namespace']}/replicasets/{meta['name']}")
        nodes = self.kube.nodes()
        for pod in left:
            meta = pod["metadata"]
            path = f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}"
            try:
                if meta.get("finalizers"):
                    self.kube.patch(path, {"metadata": {"finalizers": None}})
                self.kube.delete(path, gracePeriodSeconds=0)
            except KubeError as error:
                if error.status not in (404, 409):
                    raise
        for node in nodes:
            self.kube.delete(f"/api/v1/nodes/{node['metadata']['name']}", gracePeriodSeconds=0)
        return not left and not nodes and not sets, [o["metadata"]["name"] for o in [*left, *nodes, *sets]]

    # -- parts ----------------------------------------------------------------------------------

    def proxy(self, name):
        """The control endpoint of a fault proxy: dynamodb, prometheus or apiserver."""
        return Http(self.env[f"STACK_{name.upper()}_PROXY_CONTROL_URL"])

    def query(self, promql, through_proxy=False):
        """An instant query: a list of (labels, value)."""
        base = self.env["STACK_PROMETHEUS_PROXY_URL" if through_proxy else "STACK_PROMETHEUS_URL"]
        answer = Http(base).get("/api/v1/query?" + urllib.parse.urlencode({"query": promql}))
        return [(r["metric"], float(r["value"][1])) for r in answer["data"]["result"]]

    def load(self, node, **values):
        """Sets a node's load at the exporter: cpu and memory as shares of 1, cpus, silent, ..."""
        return self.exporter.post("/nodes", {"node": node, **values})

    def kubectl(self, *arguments, token=None, check=True, stdin=None):
        """The pinned kubectl. Returns the finished process."""
        command = [str(self.cache / "kubernetes/kubectl"), *map(str, arguments)]
        environment = dict(os.environ, KUBECONFIG=self.env["KUBECONFIG"])
        if token is not None:
            # With a client certificate in the configuration kubectl would not need the token.
            ca = self.dir / "pki/ca.crt"
            command[1:1] = ["--kubeconfig", os.devnull, "--server", self.env["STACK_APISERVER_URL"],
                            "--certificate-authority", str(ca), "--token", token]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, input=stdin, timeout=60)
        if check and done.returncode != 0:
            raise AssertionError(f"kubectl {' '.join(map(str, arguments))}: {done.stderr.strip()}")
        return done

    # -- machines -------------------------------------------------------------------------------

    def launch(self, count=1, zone=0, kind=None, market=None, tags=None):
        """Starts instances from the launch template, as a person would; returns their ids."""
        subnet = self.account["subnets"][zone]["id"]
        arguments = {"MinCount": count, "MaxCount": count, "SubnetId": subnet,
                     "LaunchTemplate": {"LaunchTemplateId": self.account["launch_template"]}}
        if kind:
            arguments["InstanceType"] = kind
        if market == "spot":
            arguments["InstanceMarketOptions"] = {"MarketType": "spot"}
        every = {self.account["cluster_tag"]: self.account["cluster"], **(tags or {})}
        arguments["TagSpecifications"] = [{"ResourceType": "instance", "Tags": [{"Key": k, "Value": v} for k, v in every.items()]}]
        return [i["InstanceId"] for i in self.aws("ec2").run_instances(**arguments)["Instances"]]

    def node_of(self, instance):
        """The Node that an instance registered, or None."""
        found = self.kube.items("/api/v1/nodes", labelSelector=f"drover.dev/instance-id={instance}")
        return found[0] if found else None

    def wait_joined(self, instances, timeout=40):
        """Waits until every instance has a Ready Node; returns the Nodes in the same order."""
        from .kube import is_ready

        def look():
            nodes = [self.node_of(i) for i in instances]
            seen = [f"{i}: " + ("no Node" if n is None else "Ready" if is_ready(n) else "NotReady") for i, n in zip(instances, nodes)]
            return (nodes if all(n is not None and is_ready(n) for n in nodes) else None), seen
        return wait_for(look, f"{len(instances)} instances to join", timeout)


def run_program(*arguments):
    done = subprocess.run([sys.executable, str(PROGRAM), *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"stack {arguments[0]}: {done.stderr.strip()}")
    return done.stdout
