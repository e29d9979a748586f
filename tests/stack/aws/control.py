"""The emulator's own endpoints under /drover/. README.md describes them."""

import json
import time
import traceback

from . import auth, checked, httpd, spot, wire

MAX_NOTICE_S = 86400


def answer(value, status=200):
    return httpd.Reply(status, (json.dumps(value, default=str) + "\n").encode(), [("Content-Type", "application/json")])


class Control:
    def __init__(self, world):
        self.world = world
        self.started = time.time()
        self.routes = {
            ("GET", "ready"): self.ready,
            ("POST", "reset"): self.reset,
            ("GET", "settings"): self.get_settings,
            ("POST", "settings"): self.set_settings,
            ("GET", "faults"): self.get_faults,
            ("POST", "faults"): self.add_faults,
            ("DELETE", "faults"): self.remove_faults,
            ("GET", "calls"): self.get_calls,
            ("DELETE", "calls"): self.clear_calls,
            ("GET", "failures"): self.get_failures,
            ("DELETE", "failures"): self.clear_failures,
            ("GET", "instances"): self.instances,
            ("POST", "interrupt"): self.interrupt,
            ("POST", "credentials"): self.credentials,
            ("GET", "container-credentials"): self.container_credentials,
        }

    def serve(self, request):
        name = request.path[len("/drover/") :].rstrip("/")
        route = self.routes.get((request.method, name))
        if route is None:
            methods = [m for m, n in self.routes if n == name]
            if methods:
                return answer({"error": f"/drover/{name} takes {', '.join(methods)}"}, 405)
            known = ", ".join(sorted({n for _, n in self.routes}))
            return answer({"error": f"no /drover/{name}; known: {known}"}, 404)
        try:
            return answer(route(request))
        except checked.Refused as exc:
            return answer({"error": str(exc)}, exc.status)
        except Exception:  # noqa: BLE001 - moto below may throw anything; the caller gets to see it
            self.world.failures.add(wire.Call(request), f"/drover/{name}", traceback.format_exc())
            return answer({"error": traceback.format_exc()}, 500)

    def ready(self, _request):
        return {"ready": True, "since": self.started}

    def reset(self, request):
        checked.Fields(checked.parse_object(request.body)).done()
        begun = time.time()
        self.world.reset()
        return {"reset": True, "ms": round((time.time() - begun) * 1000, 1)}

    def get_settings(self, _request):
        return self.world.settings.as_dict()

    def set_settings(self, request):
        body = checked.parse_object(request.body)
        with self.world.lock:
            self.world.settings.update(body)
        if "throttle" in body:
            self.world.buckets.clear()
        return self.world.settings.as_dict()

    def get_faults(self, _request):
        return {"rules": self.world.rules.as_list()}

    def add_faults(self, request):
        return {"ids": self.world.rules.add(checked.parse_object(request.body))}

    def remove_faults(self, request):
        return {"removed": self.world.rules.remove(request.argument("id"))}

    def get_calls(self, request):
        since = request.argument("since", "0")
        if not since.isdigit():
            raise checked.Refused("since: must be the number of a call")
        found = self.world.calls.select(request.argument("service"), request.argument("action"), int(since), request.argument("error"))
        return {"calls": found, "last": self.world.calls.number}

    def clear_calls(self, _request):
        return {"removed": self.world.calls.clear()}

    def get_failures(self, _request):
        return {"failures": self.world.failures.as_list()}

    def clear_failures(self, _request):
        return {"removed": self.world.failures.clear()}

    def instances(self, _request):
        with self.world.lock:
            now = time.time()
            self.world.machines.present(now)
            return {"instances": [m.as_dict(now) for m in self.world.machines.known.values()]}

    def interrupt(self, request):
        fields = checked.Fields(checked.parse_object(request.body))
        name = fields.string("instance", required=True)
        kind = fields.string("kind", "warning", choices=("warning", "rebalance"))
        seconds = fields.number("seconds", self.world.settings.now["reclaim"]["notice_s"], high=MAX_NOTICE_S)
        queue = fields.string("queue", self.world.settings.now["events"]["queue"])
        fields.done()
        with self.world.lock:
            machine = self.world.machines.known.get(name)
            if machine is None:
                raise checked.Refused(f"instance: no instance '{name}'", 404)
            event, reached = spot.interrupt(self.world, machine, kind, seconds, queue)
            return {"event": event, "targets": reached, "ends_at": machine.ends_at}

    def credentials(self, request):
        fields = checked.Fields(checked.parse_object(request.body))
        name = fields.string("name", required=True, longest=64)
        kind = fields.string("kind", "user", choices=("user", "role"))
        policies = fields.array("policies", required=True)
        session_s = fields.number("session_s", 3600, low=1, high=43200, whole=True)
        serve = fields.boolean("serve", False)
        fields.done()
        if serve and kind != "role":
            raise checked.Refused("serve: only goes with kind role")
        for i, document in enumerate(policies):
            if not isinstance(document, dict) or "Statement" not in document:
                raise checked.Refused(f"policies[{i}]: must be a policy document with a Statement")
        with self.world.lock:
            if serve:
                self.world.metadata.serve_role(name, session_s)
            return auth.make_credentials(name, [json.dumps(d) for d in policies], kind, session_s)

    def container_credentials(self, _request):
        with self.world.lock:
            keys = self.world.metadata.container()
        if keys is None:
            raise checked.Refused("no role is served; POST /drover/credentials with serve", 404)
        return keys
