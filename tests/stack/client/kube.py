"""The Kubernetes API without kubectl: plain HTTPS with a client certificate or a bearer token."""

import http.client
import json
import pathlib
import re
import ssl
import threading
import time
import urllib.parse

MERGE = "application/merge-patch+json"


class KubeError(Exception):
    """An answer that is not 2xx. `body` is the Status object that the server sent."""

    def __init__(self, method, path, status, body):
        self.status, self.body = status, body if isinstance(body, dict) else {}
        message = self.body.get("message") or str(body)[:300]
        super().__init__(f"{method} {path}: {status} {message}")

    @property
    def reason(self):
        return self.body.get("reason")

    @property
    def causes(self):
        return [c.get("reason") for c in (self.body.get("details") or {}).get("causes") or []]


def read_kubeconfig(path):
    """The four values of a kubeconfig as the stack writes it: one cluster, one user, files."""
    text = pathlib.Path(path).read_text()
    found = dict(re.findall(r"^\s+(server|certificate-authority|client-certificate|client-key): (.+)$", text, re.M))
    if "server" not in found or "certificate-authority" not in found:
        raise ValueError(f"{path}: not a kubeconfig of the stack")
    return found


class Kube:
    """One API server and one identity. Safe for use from several threads."""

    def __init__(self, kubeconfig, token=None, server=None, timeout=15.0):
        values = read_kubeconfig(kubeconfig)
        self.server, self.token, self.timeout = server or values["server"], token, timeout
        self.context = ssl.create_default_context(cafile=values["certificate-authority"])
        if token is None:
            self.context.load_cert_chain(values["client-certificate"], values["client-key"])
        self.local = threading.local()

    def _connection(self, fresh):
        connection = getattr(self.local, "connection", None)
        if connection is None or fresh:
            if connection is not None:
                connection.close()
            parts = urllib.parse.urlsplit(self.server)
            connection = http.client.HTTPSConnection(parts.hostname, parts.port, timeout=self.timeout, context=self.context)
            self.local.connection = connection
        return connection

    def raw(self, method, path, body=None, content_type="application/json", query=None):
        """Returns (status, headers, object or text) whatever the status is."""
        if query:
            path += "?" + urllib.parse.urlencode(query)
        headers = {"Accept": "application/json"}
        if self.token is not None:
            headers["Authorization"] = f"Bearer {self.token}"
        data = None
        if body is not None:
            headers["Content-Type"] = content_type
            data = body if isinstance(body, (str, bytes)) else json.dumps(body)
        for attempt in (0, 1):
            connection = self._connection(fresh=attempt == 1)
            kept = connection.sock is not None
            try:
                connection.request(method, path, data, headers)
                answer = connection.getresponse()
                text = answer.read()
                break
            except (http.client.HTTPException, OSError):
                connection.close()
                # A kept connection may have been closed by the server before it read anything.
                if attempt == 1 or not kept:
                    raise
        try:
            return answer.status, answer.headers, json.loads(text)
        except ValueError:
            return answer.status, answer.headers, text.decode(errors="replace")

    def call(self, method, path, body=None, content_type="application/json", query=None):
        """Returns the object of a 2xx answer; raises KubeError for any other."""
        status, _, value = self.raw(method, path, body, content_type, query)
        if not 200 <= status < 300:
            raise KubeError(method, path, status, value)
        return value

    def get(self, path, **query):
        return self.call("GET", path, query=query)

    def find(self, path):
        """The object, or None if there is none."""
        try:
            return self.get(path)
        except KubeError as error:
            if error.status == 404:
                return None
            raise

    def items(self, path, **query):
        return self.get(path, **query)["items"]

    def create(self, path, body):
        return self.call("POST", path, body)

    def patch(self, path, body, content_type=MERGE):
        return self.call("PATCH", path, body, content_type)

    def delete(self, path, **options):
        """Deletes and returns True; False if there was nothing."""
        try:
            self.call("DELETE", path, options or None)
            return True
        except KubeError as error:
            if error.status == 404:
                return False
            raise

    # -- what tests look at ---------------------------------------------------------------------

    def nodes(self):
        return self.items("/api/v1/nodes")

    def pods(self, namespace=None, selector=None):
        path = f"/api/v1/namespaces/{namespace}/pods" if namespace else "/api/v1/pods"
        return self.items(path, **({"labelSelector": selector} if selector else {}))

    def token_for(self, namespace, account, seconds=3600):
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token"
        return self.create(path, {"spec": {"expirationSeconds": seconds}})["status"]["token"]

    def evict(self, namespace, name, uid=None, grace_sec=None):
        """The Eviction API as drover uses it: returns (status, Status object)."""
        options = {}
        if uid is not None:
            options["preconditions"] = {"uid": uid}
        if grace_sec is not None:
            options["gracePeriodSeconds"] = grace_sec
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": namespace},
                "deleteOptions": options}
        status, _, value = self.raw("POST", f"/api/v1/namespaces/{namespace}/pods/{name}/eviction", body)
        return status, value


def condition(obj, kind):
    """One condition of a Node or Pod as (status, reason); (None, None) if it is not there."""
    for entry in (obj.get("status") or {}).get("conditions") or []:
        if entry["type"] == kind:
            return entry["status"], entry.get("reason")
    return None, None


def is_ready(obj):
    return condition(obj, "Ready")[0] == "True"


def is_unschedulable(pod):
    return condition(pod, "PodScheduled") == ("False", "Unschedulable")


def wait_for(check, message, timeout=30.0, every=0.1):
    """Asks until check() gives something true, and returns that. check may return (result, what it
    saw) or raise; when time is up the error says what was waited for and what was last seen."""
    begun, seen = time.monotonic(), "nothing"
    while True:
        try:
            result = check()
            if isinstance(result, tuple) and len(result) == 2:
                result, seen = result
            else:
                seen = result
            if result:
                return result
        except AssertionError:
            raise
        except Exception as error:  # the thing waited for may be unreachable for a while
            seen = f"{type(error).__name__}: {error}"
        waited = time.monotonic() - begun
        if waited > timeout:
            raise TimeoutError(f"waited {waited:.0f} s for {message}; last seen: {str(seen)[:1500]}")
        time.sleep(every)
