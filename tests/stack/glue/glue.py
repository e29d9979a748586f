"""Boot glue: what happens between EC2 and Kubernetes on a real machine, and nothing more.

Some seconds after an instance runs its Node joins; when it ends, the Node stops its heartbeat and
stays, as with K3s. Steered over HTTP (all bodies are JSON):

  GET  /ready                                    200 once instances and Nodes can be read
  GET  /state                                    instances as seen, settings, refused joins
  POST /settings   {"bootSeconds": 3, "providerId": "aws" | "k3s"}
  POST /never-join {"instance": "i-..."} | {"count": 2} | {"all": true} | {"all": false}
  POST /not-ready  {"instance": "i-..."} | {"node": "ip-..."}, "silent": true to only stop the heartbeat
  POST /ready-again the same: the heartbeat goes on
  POST /pause, POST /reset                       stand still; forget everything and go on
"""

import argparse
import http.server
import json
import os
import signal
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))

from client.kube import Kube, KubeError  # noqa: E402
from glue.machines import Machines  # noqa: E402
from glue.node import ALIVE, BOOT_TAG, INSTANCE_ID, JOIN_TAG, node_name, node_object, not_ready_status  # noqa: E402

EVERY_SEC = 0.25
RUNNING = "running"


class Machine:
    """What the glue remembers of one instance.

    booting --(boot time over, no Node of that name)--> joined --(instance ends)--> dead
       \\--(told so)--> never                              ^------(starts again)------/
    """

    def __init__(self, instance, now):
        self.instance, self.state, self.running_since, self.node = instance, "booting", now, None
        self.refused = None


class Glue:
    def __init__(self, kube, machines, boot_sec, version):
        self.kube, self.machines, self.version = kube, machines, version
        self.default_boot_sec = boot_sec
        self.lock = threading.Lock()
        self.last_error, self.passes = "not asked yet", 0
        self._forget()

    def _forget(self):
        self.known, self.never, self.never_next, self.never_all = {}, set(), 0, False
        self.boot_sec, self.provider_id, self.paused = self.default_boot_sec, "aws", False

    # -- one pass -------------------------------------------------------------------------------

    def step(self, now):
        with self.lock:
            if self.paused:
                return
            instances = {i["id"]: i for i in self.machines.all()}
            for instance in instances.values():
                self._follow(instance, now)
            for identity in set(self.known) - set(instances):
                self._ended(self.known[identity])
            self.passes += 1
            self.last_error = None

    def _follow(self, instance, now):
        machine = self.known.get(instance["id"])
        if instance["state"] != RUNNING:
            if machine is not None and instance["state"] != "pending":
                self._ended(machine)
            return
        if machine is None:
            machine = self.known[instance["id"]] = Machine(instance, now)
            if self._is_never(instance):
                machine.state = "never"
                log("will-not-join", instance=instance["id"])
        machine.instance = instance
        if machine.state == "dead":  # stopped and started again
            machine.running_since, machine.state = now, "booting"
        if machine.state == "booting" and instance["id"] in self.never:
            machine.state = "never"
        if machine.state == "booting" and now - machine.running_since >= self._boot_time(instance):
            self._join(machine)

    def _is_never(self, instance):
        if self.never_all or instance["id"] in self.never or instance["tags"].get(JOIN_TAG) == "never":
            return True
        if self.never_next > 0:
            self.never_next -= 1
            return True
        return False

    def _boot_time(self, instance):
        try:
            return float(instance["tags"].get(BOOT_TAG, self.boot_sec))
        except ValueError:
            return self.boot_sec

    def _join(self, machine):
        instance = machine.instance
        name = node_name(instance)
        there = self.kube.find(f"/api/v1/nodes/{name}")
        if there is not None:
            if there["metadata"].get("labels", {}).get(INSTANCE_ID) == instance["id"]:
                self._heartbeat(name, True)
                machine.state, machine.node = "joined", name
                return
            # K3s keeps a password per node name until the Node is deleted; the agent tries again.
            if machine.refused != name:
                log("join-refused", instance=instance["id"], node=name, reason="a Node of that name exists")
            machine.refused = name
            return
        self.kube.create("/api/v1/nodes", node_object(instance, self.machines.shape(instance["type"]), self.version,
                                                      self.provider_id))
        machine.state, machine.node, machine.refused = "joined", name, None
        log("joined", instance=instance["id"], node=name)

    def _ended(self, machine):
        if machine.state == "joined":
            self._heartbeat(machine.node, False)
            log("machine-ended", instance=machine.instance["id"], node=machine.node)
        machine.state = "dead"

    def _heartbeat(self, node, on):
        """KWOK looks after the Nodes that carry the label. False if there is no such Node."""
        try:
            self.kube.patch(f"/api/v1/nodes/{node}", {"metadata": {"labels": {ALIVE: "alive" if on else None}}})
            return True
        except KubeError as error:
            if error.status == 404:  # someone deleted the Node; a running agent does not register again
                return False
            raise

    # -- steering -------------------------------------------------------------------------------

    def settings(self, body):
        unknown = set(body) - {"bootSeconds", "providerId"}
        if unknown:
            raise ValueError(f"unknown setting {sorted(unknown)[0]}")
        if "bootSeconds" in body:
            value = float(body["bootSeconds"])
            if not 0 <= value <= 86400:
                raise ValueError("bootSeconds must be 0..86400")
            self.boot_sec = value
        if "providerId" in body:
            if body["providerId"] not in ("aws", "k3s"):
                raise ValueError("providerId must be aws or k3s")
            self.provider_id = body["providerId"]

    def never_join(self, body):
        if "instance" in body:
            self.never.add(str(body["instance"]))
        elif "count" in body:
            self.never_next = int(body["count"])
        elif "all" in body:
            self.never_all = bool(body["all"])
        else:
            raise ValueError("want instance, count or all")

    def _node_of(self, body):
        if "node" in body:
            return str(body["node"])
        machine = self.known.get(body.get("instance"))
        if machine is None or machine.node is None:
            raise ValueError(f"instance {body.get('instance')} has no Node")
        return machine.node

    def not_ready(self, body):
        node = self._node_of(body)
        if not self._heartbeat(node, False):
            raise ValueError(f"there is no Node {node}")
        if not body.get("silent"):
            self.kube.patch(f"/api/v1/nodes/{node}/status", not_ready_status(), "application/strategic-merge-patch+json")

    def ready_again(self, body):
        node = self._node_of(body)
        if not self._heartbeat(node, True):
            raise ValueError(f"there is no Node {node}")

    def pause(self, _body):
        self.paused = True

    def reset(self, _body):
        self._forget()

    def state(self):
        return {"bootSeconds": self.boot_sec, "providerId": self.provider_id, "paused": self.paused,
                "neverJoinNext": self.never_next, "neverJoinAll": self.never_all, "passes": self.passes,
                "instances": [{"instance": i, "state": m.state, "node": m.node, "refused": m.refused}
                              for i, m in sorted(self.known.items())]}


def log(event, **fields):
    print(json.dumps({"ts": round(time.time(), 3), "event": event, **fields}), flush=True)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    glue = None

    def log_message(self, *_):
        pass

    def _answer(self, status, value):
        data = (json.dumps(value) + "\n").encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        if self.path == "/ready":
            error = self.glue.last_error
            self._answer(503 if error else 200, {"ready": error is None, "error": error})
        elif self.path == "/state":
            with self.glue.lock:
                self._answer(200, self.glue.state())
        else:
            self._answer(404, {"error": f"no page {self.path}"})

    def do_POST(self):
        verbs = {"/settings": self.glue.settings, "/never-join": self.glue.never_join, "/not-ready": self.glue.not_ready,
                 "/ready-again": self.glue.ready_again, "/pause": self.glue.pause, "/reset": self.glue.reset}
        try:
            body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
            if self.path not in verbs:
                return self._answer(404, {"error": f"no page {self.path}; there are {', '.join(verbs)}"})
            if not isinstance(body, dict):
                raise ValueError("want a JSON object")
            with self.glue.lock:
                verbs[self.path](body)
                self._answer(200, self.glue.state())
        except (ValueError, TypeError) as error:
            self._answer(400, {"error": str(error)})
        except (KubeError, OSError) as error:
            self._answer(502, {"error": str(error)})


def loop(glue):
    while True:
        try:
            glue.step(time.monotonic())
        except Exception as error:  # the world may be away for a while: that is what tests do to it
            text = f"{type(error).__name__}: {error}"
            if text != glue.last_error:
                log("pass-failed", error=text)
            glue.last_error = text
        time.sleep(EVERY_SEC)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kubeconfig", required=True)
    parser.add_argument("--aws", required=True, help="URL of the AWS emulator")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--boot-seconds", type=float, default=3)
    parser.add_argument("--kubernetes-version", required=True, help="what the kubelets say they are")
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    glue = Glue(Kube(args.kubeconfig), Machines(args.aws), args.boot_seconds, args.kubernetes_version)
    Handler.glue = glue
    try:
        server = http.server.ThreadingHTTPServer(("127.0.0.1", args.port), Handler)
    except OSError as error:
        sys.exit(f"glue: port {args.port}: {error.strerror}")
    threading.Thread(target=loop, args=(glue,), daemon=True).start()
    log("started", port=args.port)
    server.serve_forever()


if __name__ == "__main__":
    main()
