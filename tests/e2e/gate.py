"""A gate in front of a server, inside the test's own process: it sees every request of drover, writes it
down, and may change what happens to it at exactly this request.

A test passes rules: each has a condition (a function of the request), how often it strikes, and what it does.
Because the gate is a thread of the test, a rule can also call the test back: to kill the program after its
third write, to change the world between two calls, to hold one call until the test lets it go.
"""

import http.client
import http.server
import json
import socket
import ssl
import threading
import time
import urllib.parse

NOT_PASSED_ON = {"connection", "transfer-encoding", "keep-alive", "proxy-connection", "upgrade", "expect", "content-length"}
# What changes the world, by service; of Kubernetes everything but reads and questions about permissions.
EFFECTS = {
    "ec2": {"RunInstances", "TerminateInstances", "CreateTags", "DeleteTags", "ModifyInstanceAttribute", "StopInstances"},
    "dynamodb": {"PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems", "CreateTable", "UpdateTable",
                 "DeleteTable", "UpdateTimeToLive", "UpdateContinuousBackups"},
    "sqs": {"DeleteMessage", "DeleteMessageBatch", "SendMessage", "PurgeQueue", "CreateQueue"},
}
READS = ("Describe", "Get", "List", "Query", "Scan", "BatchGet", "Receive", "ChangeMessageVisibility")


class Request:
    """One request as a rule sees it."""

    def __init__(self, method, target, headers, body):
        self.method, self.target, self.headers, self.body = method, target, headers, body
        parts = urllib.parse.urlsplit(target)
        self.path, self.query = parts.path, dict(urllib.parse.parse_qsl(parts.query))
        self.params = {}
        self.service, self.action = self._name()
        self.time, self.status, self.fault = time.time(), None, None

    def _name(self):
        target = self.headers.get("x-amz-target")
        if target:
            prefix, _, action = target.rpartition(".")
            service = "dynamodb" if prefix.startswith("DynamoDB") else "sqs" if "SQS" in prefix else "ssm" if "SSM" in prefix else prefix
            self.params = json_of(self.body)
            return service.lower(), action
        if self.headers.get("content-type", "").startswith("application/x-www-form-urlencoded"):
            self.params = dict(urllib.parse.parse_qsl(self.body.decode(errors="replace")))
            if "Action" in self.params:
                service = self.headers.get("authorization", "").partition("Credential=")[2].split("/")
                return (service[3] if len(service) > 3 else "ec2"), self.params["Action"]
        if self.path.startswith(("/api/v1/query", "/-/")) or "/api/v1/query" in self.path:
            return "prometheus", self.path.rpartition("/")[2]
        if self.path.startswith(("/api/", "/apis/", "/api", "/version", "/readyz", "/livez")):
            return "kubernetes", kube_action(self.method, self.path, self.query)
        return "http", self.path

    @property
    def is_effect(self):
        if self.service == "kubernetes":
            return self.method != "GET" and not self.path.endswith(("accessreviews", "rulesreviews"))
        return self.action in EFFECTS.get(self.service, ())

    @property
    def is_read(self):
        if self.service in ("kubernetes", "prometheus"):
            return not self.is_effect
        return str(self.action).startswith(READS)

    def __repr__(self):
        return f"{self.service} {self.action} -> {self.fault or self.status}"


def json_of(body):
    try:
        value = json.loads(body or b"{}")
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def kube_action(method, path, query):
    """`patch nodes`, `create pods/eviction`, `watch pods`: the verb and the resource as RBAC names them."""
    parts = [p for p in path.split("/") if p]
    parts = parts[2:] if parts[:1] == ["api"] else parts[3:] if parts[:1] == ["apis"] else parts
    if parts[:1] == ["namespaces"] and len(parts) > 2:
        parts = parts[2:]
    resource = parts[0] if parts else path
    if len(parts) > 2:
        resource += "/" + parts[2]
    named = len(parts) > 1
    if method == "GET":
        verb = "watch" if query.get("watch") in ("1", "true") else "get" if named else "list"
    else:
        verb = {"POST": "create", "PATCH": "patch", "PUT": "update", "DELETE": "delete"}.get(method, method.lower())
    return f"{verb} {resource}"


class Reply:
    def __init__(self, status, body=b"", headers=()):
        self.status, self.headers = status, list(headers)
        self.body = body if isinstance(body, bytes) else json.dumps(body).encode() if not isinstance(body, str) else body.encode()


class Rule:
    """`do` is one of: "cut" (closed without acting), "lost" (acted, then closed), "hang" (never answered), "truncate",
    ("delay", seconds), a Reply (instead of acting), or a function that is called with the request before it is passed
    on (`after=False`) or before its answer is given back (`after=True`) and may return one of the others."""

    def __init__(self, when, do, count=1, skip=0, after=False):
        self.when, self.do, self.count, self.skip, self.after = when, do, count, skip, after
        self.struck, self.seen = 0, 0

    def wants(self, request):
        if self.count is not None and self.struck >= self.count or not self.when(request):
            return False
        self.seen += 1
        if self.seen <= self.skip:
            return False
        self.struck += 1
        return True


def service(name, *actions):
    """A condition: this service, one of these actions (none: all of them)."""
    return lambda r: r.service == name and (not actions or r.action in actions)


def effect(request):
    return request.is_effect


class Gate:
    """Listens on a free port of loopback and passes on to `target` (a URL)."""

    def __init__(self, name, target, cafile=None, cert=None):
        parts = urllib.parse.urlsplit(target)
        self.name, self.host, self.port_behind = name, parts.hostname, parts.port
        self.behind_tls = ssl.create_default_context(cafile=cafile) if parts.scheme == "https" else None
        self.front_tls = None
        if cert:
            self.front_tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.front_tls.load_cert_chain(*cert)
        self.lock = threading.Lock()
        self.rules, self.calls, self.open = [], [], set()
        self.port, self.server, self.released = 0, None, threading.Event()
        self.listen()
        self.url = f"{'https' if cert else 'http'}://127.0.0.1:{self.port}"

    # -- the listener ---------------------------------------------------------------------------

    def listen(self):
        if self.server is not None:
            return
        self.server = Server(("127.0.0.1", self.port), Handler, self)
        self.port = self.server.server_port
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def shut(self):
        """Refuses connections from now on and ends the open ones."""
        if self.server is not None:
            server, self.server = self.server, None
            server.shutdown()
            server.server_close()
        self.cut()

    def cut(self):
        with self.lock:
            victims = list(self.open)
        for connection in victims:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def reset(self):
        self.released.set()
        with self.lock:
            self.rules, self.calls = [], []
        self.cut()
        self.released = threading.Event()
        self.listen()

    # -- rules and the log ----------------------------------------------------------------------

    def rule(self, when, do, count=1, skip=0, after=False):
        made = Rule(when, do, count, skip, after)
        with self.lock:
            self.rules.append(made)
        return made

    def drop(self, rule):
        with self.lock:
            self.rules = [r for r in self.rules if r is not rule]

    def seen(self, *actions):
        with self.lock:
            return [c for c in self.calls if not actions or c.action in actions]

    def effects(self):
        return [c for c in self.seen() if c.is_effect]

    def pick(self, request, after):
        with self.lock:
            for rule in self.rules:
                if rule.after == after and rule.wants(request):
                    return rule
        return None


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 128

    def __init__(self, address, handler, gate):
        self.gate = gate
        super().__init__(address, handler)

    def finish_request(self, request, client_address):
        gate = self.gate
        request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if gate.front_tls is not None:
            try:
                request = gate.front_tls.wrap_socket(request, server_side=True)
            except (OSError, ssl.SSLError):
                return
        with gate.lock:
            gate.open.add(request)
        try:
            self.RequestHandlerClass(request, client_address, self)
        except OSError:
            pass  # the client went away
        finally:
            with gate.lock:
                gate.open.discard(request)
            try:
                request.close()
            except OSError:
                pass

    def handle_error(self, request, client_address):
        pass


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 65536

    def log_message(self, *_):
        pass

    def serve(self):
        gate = self.server.gate
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length) if length else b""
        request = Request(self.command, self.path, {k.lower(): v for k, v in self.headers.items()}, body)
        with gate.lock:
            gate.calls.append(request)
        rule = gate.pick(request, after=False)
        todo = resolve(rule, request)
        if todo == "cut":
            return self.end(request, "cut")
        if todo == "hang":
            request.fault = "hang"
            gate.released.wait(300)
            return self.end(request, "hang")
        if isinstance(todo, Reply):
            request.fault, request.status = "answered", todo.status
            return self.answer(todo.status, todo.headers, todo.body)
        if isinstance(todo, tuple) and todo[0] == "delay":
            gate.released.wait(todo[1])
        return self.forward(gate, request, todo)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = serve

    def end(self, request, word):
        request.fault = word
        self.close_connection = True
        try:
            self.connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    def forward(self, gate, request, todo):
        kind = http.client.HTTPSConnection if gate.behind_tls else http.client.HTTPConnection
        options = {"context": gate.behind_tls} if gate.behind_tls else {}
        behind = kind(gate.host, gate.port_behind, timeout=320, **options)
        try:
            behind.putrequest(request.method, request.target, skip_host=True, skip_accept_encoding=True)
            for key, value in self.headers.items():
                if key.lower() not in NOT_PASSED_ON:
                    behind.putheader(key, value)
            if request.body or request.method in ("POST", "PUT", "PATCH"):
                behind.putheader("Content-Length", str(len(request.body)))
            behind.putheader("Connection", "close")
            behind.endheaders(request.body or None)
            answer = behind.getresponse()
            headers = [(k, v) for k, v in answer.getheaders() if k.lower() not in NOT_PASSED_ON]
            if request.query.get("watch") in ("1", "true") and answer.status == 200:
                request.status = answer.status
                return self.stream(answer, headers)
            body = answer.read()
            request.status = answer.status
            rule = gate.pick(request, after=True)
            todo = resolve(rule, request) if rule else todo
            if todo == "lost":
                return self.end(request, "lost")
            if todo == "truncate":
                return self.answer(answer.status, headers, body, send=len(body) // 2)
            if isinstance(todo, Reply):
                return self.answer(todo.status, todo.headers, todo.body)
            return self.answer(answer.status, headers, body)
        except (OSError, http.client.HTTPException) as error:
            return self.end(request, f"behind: {error}")
        finally:
            behind.close()

    def stream(self, answer, headers):
        """A watch: lines as they come, until either side ends."""
        self.send_response(answer.status)
        for key, value in headers:
            self.send_header(key, value)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.flush()
        while True:
            part = answer.read1(65536)
            self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
            self.wfile.flush()
            if not part:
                return

    def answer(self, status, headers, body, send=None):
        self.send_response_only(status)
        for key, value in headers:
            self.send_header(key, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body if send is None else body[:send])
        self.wfile.flush()
        if send is not None:
            self.close_connection = True


def resolve(rule, request):
    if rule is None:
        return None
    todo = rule.do
    return todo(request) if callable(todo) else todo
