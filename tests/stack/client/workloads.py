"""Workloads on the real API server: deployments, budgets, DaemonSets, critical and bare pods, pods
that end slowly or not at all. Every helper returns the object that the server stored."""

import json

from .kube import is_ready, wait_for

TERMINATION = "stack.drover.dev/termination-seconds"
STUCK = "stack.drover.dev/stuck"
TEST_LABEL = "stack.drover.dev/test"


def pod_spec(cpu="100m", memory="64Mi", node=None, selector=None, priority_class=None, grace_sec=30, tolerations=None,
             affinity=None, spread=None, volumes=None, host_port=None):
    container = {"name": "main", "image": "registry.invalid/main:1", "resources": {"requests": {"cpu": cpu, "memory": memory}}}
    if host_port:
        container["ports"] = [{"containerPort": host_port, "hostPort": host_port}]
    spec = {"containers": [container], "terminationGracePeriodSeconds": grace_sec}
    optional = {"nodeName": node, "nodeSelector": selector, "priorityClassName": priority_class, "tolerations": tolerations,
                "affinity": affinity, "topologySpreadConstraints": spread, "volumes": volumes}
    spec.update({key: value for key, value in optional.items() if value})
    return spec


def metadata(name, labels=None, ends_after_sec=None, stuck=False, annotations=None):
    """ends_after_sec: its process needs so long to end (at most the grace period). stuck: it never goes."""
    meta = {"name": name, "labels": {"app": name, **(labels or {})}, "annotations": dict(annotations or {})}
    if ends_after_sec is not None:
        meta["annotations"][TERMINATION] = str(ends_after_sec)
    if stuck:
        meta["finalizers"] = [STUCK]
    return meta


class Workloads:
    def __init__(self, kube):
        self.kube = kube

    def namespace(self, name):
        found = self.kube.find(f"/api/v1/namespaces/{name}")
        if found is None:
            found = self.kube.create("/api/v1/namespaces", {"metadata": {"name": name}})
        wait_for(lambda: self.kube.find(f"/api/v1/namespaces/{name}/serviceaccounts/default"),
                 f"the default service account of namespace {name}", timeout=10)
        return found

    def deployment(self, name, replicas=1, namespace="default", ends_after_sec=None, stuck=False, labels=None, **pod):
        template = {"metadata": metadata(name, labels, ends_after_sec, stuck), "spec": pod_spec(**pod)}
        template["metadata"].pop("name")
        return self.kube.create(f"/apis/apps/v1/namespaces/{namespace}/deployments", {
            "metadata": {"name": name}, "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": name}},
                                                 "template": template}})

    def scale(self, name, replicas, namespace="default"):
        return self.kube.patch(f"/apis/apps/v1/namespaces/{namespace}/deployments/{name}", {"spec": {"replicas": replicas}})

    def daemon_set(self, name, namespace="kube-system", **pod):
        template = {"metadata": {"labels": {"app": name}}, "spec": pod_spec(tolerations=[{"operator": "Exists"}], **pod)}
        return self.kube.create(f"/apis/apps/v1/namespaces/{namespace}/daemonsets", {
            "metadata": {"name": name}, "spec": {"selector": {"matchLabels": {"app": name}}, "template": template}})

    def budget(self, name, app=None, namespace="default", **limits):
        """limits: minAvailable or maxUnavailable, a number or a text in percent."""
        if len(limits) != 1 or not set(limits) <= {"minAvailable", "maxUnavailable"}:
            raise ValueError("a budget has exactly one of minAvailable and maxUnavailable")
        return self.kube.create(f"/apis/policy/v1/namespaces/{namespace}/poddisruptionbudgets", {
            "metadata": {"name": name}, "spec": {"selector": {"matchLabels": {"app": app or name}}, **limits}})

    def wait_budget(self, name, namespace="default", timeout=20, **want):
        """Waits until the controller has written these values into the budget's status."""
        path = f"/apis/policy/v1/namespaces/{namespace}/poddisruptionbudgets/{name}"

        def look():
            budget = self.kube.get(path)
            status = budget.get("status") or {}
            # A new budget has zeros in its status, which nobody has worked out.
            written = status.get("observedGeneration", 0) >= budget["metadata"]["generation"]
            return written and all(status.get(key) == value for key, value in want.items()) and status, json.dumps(status)
        return wait_for(look, f"budget {name} with {want}", timeout)

    def pod(self, name, namespace="default", ends_after_sec=None, stuck=False, labels=None, annotations=None, **pod):
        """A bare pod: no controller brings it back."""
        return self.kube.create(f"/api/v1/namespaces/{namespace}/pods", {
            "metadata": metadata(name, labels, ends_after_sec, stuck, annotations), "spec": pod_spec(**pod)})

    def critical_pod(self, name, node=None, priority_class="system-cluster-critical", namespace="kube-system"):
        return self.pod(name, namespace, node=node, priority_class=priority_class)

    def mirror_pod(self, name, node, namespace="kube-system"):
        """A static pod as the API shows it."""
        return self.pod(name, namespace, node=node, annotations={"kubernetes.io/config.mirror": "stack"})

    def local_data_pod(self, name, **pod):
        return self.pod(name, volumes=[{"name": "data", "emptyDir": {}}], **pod)

    def unstick(self, name, namespace="default"):
        """Takes the finalizer off a stuck pod."""
        return self.kube.patch(f"/api/v1/namespaces/{namespace}/pods/{name}", {"metadata": {"finalizers": None}})

    def service_account(self, name, rules, namespace="default", cluster_wide=False):
        """An identity that may do what the RBAC rules say; returns the service account."""
        meta = {"name": name, "labels": {TEST_LABEL: "yes"}}
        rbac = "/apis/rbac.authorization.k8s.io/v1" + ("" if cluster_wide else f"/namespaces/{namespace}")
        kind = "ClusterRole" if cluster_wide else "Role"
        account = self.kube.create(f"/api/v1/namespaces/{namespace}/serviceaccounts", {"metadata": meta})
        self.kube.create(f"{rbac}/{kind.lower()}s", {"metadata": meta, "rules": rules})
        self.kube.create(f"{rbac}/{kind.lower()}bindings", {
            "metadata": meta, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": namespace}]})
        return account

    def wait_pods(self, app, count, namespace="default", timeout=30):
        """Waits for exactly so many ready pods of an app that are not ending; returns them."""
        def look():
            pods = self.kube.pods(namespace, f"app={app}")
            good = [p for p in pods if is_ready(p) and "deletionTimestamp" not in p["metadata"]]
            seen = [f"{p['metadata']['name']} {p['status'].get('phase')} on {p['spec'].get('nodeName', '-')}"
                    + (" ending" if "deletionTimestamp" in p["metadata"] else "") for p in pods]
            return len(good) == count and (good or True), seen
        return wait_for(look, f"{count} ready pods of {app}", timeout)
