"""The Node object that a machine's K3s agent would register."""

import datetime

ALIVE = "stack.drover.dev/machine"
INSTANCE_ID = "drover.dev/instance-id"
JOIN_TAG = "stack.drover.dev/join"            # "never": this instance boots but does not join
BOOT_TAG = "stack.drover.dev/boot-seconds"    # boot time of this instance
ROLE_TAG = "drover.dev/role"                  # "server": a K3s server, not a worker

# What the kubelet and the system keep for themselves.
RESERVED_MILLI, RESERVED_MIB = 100, 256


def node_name(instance):
    return "ip-" + instance["private_ip"].replace(".", "-")


def node_object(instance, shape, version, provider_id="aws"):
    """A Node for an instance; shape is (vCPUs, MiB), version Kubernetes' own. provider_id `k3s` is what
    old K3s versions force."""
    name, zone, cpus, mib = node_name(instance), instance["zone"], *shape
    labels = {
        ALIVE: "alive",
        INSTANCE_ID: instance["id"],
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "node.kubernetes.io/instance-type": instance["type"],
        "topology.kubernetes.io/zone": zone,
        "topology.kubernetes.io/region": zone[:-1],
    }
    spec = {"providerID": f"k3s://{name}" if provider_id == "k3s" else f"aws:///{zone}/{instance['id']}"}
    if instance["tags"].get(ROLE_TAG) == "server":
        labels["node-role.kubernetes.io/control-plane"] = "true"
        spec["taints"] = [{"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}]
    capacity = {"cpu": str(cpus), "memory": f"{mib}Mi", "pods": "110", "ephemeral-storage": "20Gi"}
    allocatable = dict(capacity, cpu=f"{cpus * 1000 - RESERVED_MILLI}m", memory=f"{mib - RESERVED_MIB}Mi")
    return {
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "labels": labels, "annotations": {"node.alpha.kubernetes.io/ttl": "0"}},
        "spec": spec,
        "status": {
            "capacity": capacity, "allocatable": allocatable,
            # With only one of the two KWOK empties the list.
            "addresses": [{"type": "InternalIP", "address": instance["private_ip"]}, {"type": "Hostname", "address": name}],
            "nodeInfo": {"architecture": "amd64", "bootID": "", "containerRuntimeVersion": "containerd://2.1.0",
                         "kernelVersion": "6.1.0", "kubeProxyVersion": "", "kubeletVersion": f"v{version}+k3s1", "machineID": "",
                         "operatingSystem": "linux", "osImage": "Debian GNU/Linux 12", "systemUUID": instance["id"]},
        },
    }


def not_ready_status():
    """What a kubelet reports whose container runtime does not answer."""
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {"status": {"conditions": [{"type": "Ready", "status": "False", "reason": "KubeletNotReady",
                                       "message": "container runtime is down", "lastHeartbeatTime": now,
                                       "lastTransitionTime": now}]}}
