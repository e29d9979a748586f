"""One HTTP request after the other: rules see method, path, headers and body."""

import http.client
import json
import urllib.parse

from aws import errors, faults, httpd
from proxy import control

TARGET_TIMEOUT_S = 300
NOT_PASSED_ON = {"connection", "transfer-encoding", "keep-alive", "proxy-connection", "upgrade", "expect"}


class HttpMode:
    def __init__(self, target, rules, log):
        self.target, self.rules, self.log = target, rules, log
        self.handle_request_with = self.handle  # the name by which httpd.Connection finds its handler

    def serve(self, connection):
        if self._refused(connection):
            return
        httpd.Connection(connection, connection.getpeername(), self)

    def _refused(self, connection):
        """Rules of kind refuse strike before anything is read, so they can have no condition."""
        rule = self.rules.pick({}, ("refuse",))
        if rule is None:
            return False
        faults.wait(rule)
        entry = self.log.begin(method=None, path=None, target=None)
        entry.update(fault=rule.id, reply="refused")
        control.reset_connection(connection)
        return True

    def handle(self, request):
        target = request.headers.get("x-amz-target")
        action = target.split(".")[-1] if target else None
        seen = {
            "service": "dynamodb" if target and target.startswith("DynamoDB") else None,
            "action": action,
            "method": request.method,
            "path": request.path,
            "params": dict_of_json(request.body) if target else query_of(request),
            "headers": request.headers,
            "body": request.body,
        }
        entry = self.log.begin(method=request.method, path=request.target, target=target)
        rule = self.rules.pick(seen, faults.HTTP_FAULTS)
        entry["fault"] = rule.id if rule else None
        faults.wait(rule)
        kind = rule.fault if rule else None
        if kind == "cut":
            entry["reply"] = "cut"
            return httpd.Reply(cut=True)
        reply = injected(target, rule) if kind == "error" else self._forward(request, entry)
        return self._spoil(reply, rule, kind, entry)

    @staticmethod
    def _spoil(reply, rule, kind, entry):
        entry["status"] = reply.status
        if reply.cut:
            return reply
        entry["reply"] = {"lost": "lost", "corrupt": "corrupt", "truncate": "truncated"}.get(kind, "sent")
        if kind == "lost":
            reply.cut = True
        elif kind == "corrupt":
            reply.body = faults.damage(reply.body, rule.fired)
        elif kind == "truncate":
            reply.send_bytes = len(faults.shorten(reply.body, rule.bytes))
        return reply

    def _forward(self, request, entry):
        # A fresh connection each time: a stale one would have to be tried again, and that could act twice.
        connection = http.client.HTTPConnection(*self.target, timeout=TARGET_TIMEOUT_S)
        try:
            connection.putrequest(request.method, request.target, skip_host=True, skip_accept_encoding=True)
            for key, value in request.headers.items():
                if key not in NOT_PASSED_ON and key != "content-length":
                    connection.putheader(key, value)
            connection.putheader("Connection", "close")
            if request.body or request.method in ("POST", "PUT", "PATCH"):
                connection.putheader("Content-Length", str(len(request.body)))
            connection.endheaders(request.body or None)
            answer = connection.getresponse()
            headers = [(k, v) for k, v in answer.getheaders() if k.lower() not in NOT_PASSED_ON]
            return httpd.Reply(answer.status, answer.read(), headers)
        except (OSError, http.client.HTTPException) as exc:
            entry["reply"] = f"target: {exc}"
            return httpd.Reply(cut=True, status=0)
        finally:
            connection.close()


def injected(target, rule):
    """An error in the shape of the server behind: DynamoDB's, or Prometheus's."""
    if target:
        code = rule.code or "InternalServerError"
        body, headers = errors.render("json", f"com.amazonaws.dynamodb.v20120810#{code}", rule.message)
        status = rule.status or (500 if code == "InternalServerError" else errors.STATUS.get(code, 400))
    else:
        status = rule.status or 500
        body = json.dumps({"status": "error", "errorType": rule.code or "internal", "error": rule.message}).encode()
        headers = [("Content-Type", "application/json")]
    if rule.body is not None:
        body = rule.body.encode()
    named = {k.lower() for k in rule.headers}
    return httpd.Reply(status, body, [h for h in headers if h[0].lower() not in named] + list(rule.headers.items()))


def dict_of_json(body):
    try:
        value = json.loads(body or b"{}")
    except ValueError:
        return {}
    if not isinstance(value, dict):
        return {}
    return {k: v if isinstance(v, str) else json.dumps(v) for k, v in value.items()}


def query_of(request):
    pairs = urllib.parse.parse_qsl(request.query, keep_blank_values=True)
    if "x-www-form-urlencoded" in request.headers.get("content-type", ""):
        pairs += urllib.parse.parse_qsl(request.body.decode("utf-8", "replace"), keep_blank_values=True)
    return dict(pairs)
