"""Everything the emulator keeps besides moto's own state, and the way of one request through it.

    fault rule -> throttle -> signature and policy -> moto with our launches and clocks -> fault rule -> answer

One lock holds all services but SQS, whose long polls would keep everyone waiting.
"""

import io
import sys
import threading
import time
import traceback
import urllib.parse

from moto import settings as moto_settings
from moto.core.authorization import ActionAuthenticatorMixin
from moto.core.base_backend import BackendDict
from moto.ec2.models.subnets import Subnet
from moto.moto_api._internal.models import moto_api_backend
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app

from . import auth, calls, clocks, errors, events, faults, httpd, imds, launch, settings, spot, throttle, tokens, wire

BEAT_S = 0.1
CONTENT_TYPES = {"ec2": "text/xml;charset=UTF-8", "query": "text/xml", "json": "application/x-amz-json-1.1"}


def forget_moto():
    """Resets moto. Two of its caches keep the old accounts alive: without this every reset would leave an
    EC2 with all its images behind (4 MB), and would first build it anew (0.2 s)."""
    for service in list(BackendDict._instances):
        for account in list(service.values()):
            account.clear()
    moto_api_backend.reset()
    Subnet._base_avail_ip_iterator.cache_clear()


class World:
    def __init__(self, directory):
        self.lock = threading.RLock()
        self.no_auth_count = moto_settings.INITIAL_NO_AUTH_ACTION_COUNT
        self.settings = settings.Settings()
        self.machines = clocks.Machines(self.settings)
        self.tokens = tokens.Tokens()
        self.buckets = throttle.Buckets()
        self.rules = faults.Rules()
        self.calls = calls.CallLog(directory)
        self.failures = calls.Failures(directory)
        self.metadata = imds.Metadata()
        self.application = DomainDispatcherApplication(create_backend_app)
        self.call = None
        launch.install(self)
        auth.install()

    def reset(self):
        """As after the start: moto empty, no rules, no calls, no failures, default settings."""
        with self.lock:
            self.machines.clear()
            self.tokens.clear()
            self.metadata.clear()
            forget_moto()
            moto_settings.INITIAL_NO_AUTH_ACTION_COUNT = self.no_auth_count
            ActionAuthenticatorMixin.request_count = 0
            self.settings.reset()
        self.buckets.clear()
        self.rules.remove()
        self.calls.clear()
        self.failures.clear()

    def raw_params(self):
        """Parameters of the request in hand, as sent. Only under the lock."""
        return self.call.params

    def serve(self, request):
        """One request that is not for /drover/, from the wire to its answer."""
        if request.path == "/moto-api/reset":
            self.reset()
        if request.path.startswith("/moto-api/"):
            status, headers, body = run_wsgi(self.application, request)
            return httpd.Reply(status, body, headers)
        if request.path.startswith("/latest/"):
            with self.lock:
                return self.metadata.answer(request)
        return self._serve_aws(wire.Call(request))

    def _serve_aws(self, call):
        entry = self.calls.begin(call)
        rule = self.rules.pick(call.seen())
        outcome = {"fault": rule.id if rule else None, "reply": "sent"}
        faults.wait(rule)
        kind = rule.fault if rule else None
        if kind == "cut":
            self.calls.end(entry, **{**outcome, "reply": "cut"})
            return httpd.Reply(cut=True)
        reply = self._injected(call, rule) if kind == "error" else self._act(call)
        outcome["status"] = reply.status
        if reply.status >= 400:
            outcome["error"] = wire.error_code(call.protocol, reply.body)
        if kind == "lost":
            outcome["reply"] = "lost"
            reply.cut = True
        elif kind == "corrupt":
            outcome["reply"] = "corrupt"
            reply.body = faults.damage(reply.body, rule.fired)
        elif kind == "truncate":
            outcome["reply"] = "truncated"
            reply.send_bytes = len(faults.shorten(reply.body, rule.bytes))
        self.calls.end(entry, **outcome)
        return reply

    @staticmethod
    def _injected(call, rule):
        code = rule.code or "InternalError"
        body, headers = errors.render(call.protocol, code, rule.message)
        if rule.body is not None:
            body = rule.body.encode()
        return httpd.Reply(rule.status or errors.STATUS.get(code, 400), body, headers + list(rule.headers.items()))

    def _act(self, call):
        try:
            if self.settings.now["throttle"]["enabled"]:
                self.buckets.check(self.settings.now["throttle"]["rules"], call)
            if call.service == "sqs":
                with self.lock:
                    self._authorize(call)
                return self._moto(call)
            with self.lock:
                self._authorize(call)
                self.call = call
                self.machines.present(self.machines.view_at(call.action))
                spot.settle_requests(self, time.time())
                return self._moto(call)
        except errors.AwsError as exc:
            body, headers = errors.render(call.protocol, exc.code, exc.message)
            return httpd.Reply(exc.status, body, headers)
        except Exception:  # noqa: BLE001 - whatever moto throws is a finding, not a reason to die
            self.failures.add(call, "exception in moto", traceback.format_exc())
            body, headers = errors.render(call.protocol, "InternalError", "moto failed; see /drover/failures")
            return httpd.Reply(500, body, headers)

    def _authorize(self, call):
        if auth.enforced(self.settings):
            auth.check(call)

    def _moto(self, call):
        status, headers, body = run_wsgi(self.application, call.request)
        if status >= 500 or is_html(body):
            self.failures.add(call, f"moto answered {status}", body[:4000].decode("utf-8", "replace"))
        elif call.protocol in CONTENT_TYPES:
            # Flask calls everything text/html that moto does not name.
            headers = [(k, v) for k, v in headers if k.lower() != "content-type"]
            headers.append(("Content-Type", CONTENT_TYPES[call.protocol]))
        return httpd.Reply(status, body, headers)

    def beat(self):
        """What happens without a request: reclaims by price and events of state changes."""
        now = time.time()
        with self.lock:
            spot.reclaim_by_price(self, now)
            if self.settings.now["events"]["state_changes"]:
                self._tell_states(now)

    def _tell_states(self, now):
        for machine in self.machines.known.values():
            state = machine.state_at(now)
            if state != machine.told_state:
                machine.told_state = state
                events.deliver(machine, events.state_change(machine, state, now), self.settings.now["events"]["queue"])

    def beat_for_ever(self):
        while True:
            time.sleep(BEAT_S)
            try:
                self.beat()
            except Exception:  # noqa: BLE001
                self.failures.add(wire.Call(httpd.Request("BEAT", "/", [], b"")), "beat", traceback.format_exc())


def is_html(body):
    return body.lstrip()[:9].lower().startswith((b"<!doctype", b"<html"))


def run_wsgi(application, request):
    """(status, headers, body) of a WSGI application for `request`."""
    host = request.headers.get("host", "127.0.0.1")
    environ = {
        "REQUEST_METHOD": request.method,
        "SCRIPT_NAME": "",
        "PATH_INFO": urllib.parse.unquote_to_bytes(request.raw_path).decode("latin-1"),
        "QUERY_STRING": request.query,
        "RAW_URI": request.target,
        "REQUEST_URI": request.target,
        "REMOTE_ADDR": request.peer,
        "SERVER_NAME": host.partition(":")[0],
        "SERVER_PORT": host.partition(":")[2] or "80",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(request.body),
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
        "CONTENT_LENGTH": str(len(request.body)),
        "CONTENT_TYPE": request.headers.get("content-type", ""),
    }
    for key, value in request.headers.items():
        if key not in ("content-type", "content-length"):
            environ[f"HTTP_{key.upper().replace('-', '_')}"] = value
    answer = {}

    def start_response(status, headers, exc_info=None):
        answer["status"], answer["headers"] = int(status.split()[0]), headers

    parts = application(environ, start_response)
    try:
        body = b"".join(parts)
    finally:
        if hasattr(parts, "close"):
            parts.close()
    return answer["status"], answer["headers"], body
