"""What an AWS request says about itself: service, region, action, parameters, caller, protocol."""

import json
import re
import urllib.parse

CREDENTIAL = re.compile(r"Credential=([^/,\s]+)/(\d{8})/([^/,\s]+)/([^/,\s]+)/aws4_request")
CBOR_PATH = re.compile(r"^/service/[^/]+/operation/([^/]+)$")


class Call:
    """One request, understood. Nothing in here is checked: that is the business of auth.py and of moto."""

    def __init__(self, request):
        self.request = request
        self.caller = self.date = self.region = self.service = None
        found = CREDENTIAL.search(request.headers.get("authorization", ""))
        if found:
            self.caller, self.date, self.region, self.service = found.groups()
        self.params = {}
        self.action = None
        self.protocol = "rest"
        self._read()

    def _read(self):
        headers, request = self.request.headers, self.request
        target = headers.get("x-amz-target")
        cbor = CBOR_PATH.match(request.path)
        if target:
            self.protocol = "json"
            self.action = target.split(".")[-1]
            self.params = self._json()
        elif cbor:
            self.protocol = "cbor"
            self.action = cbor.group(1)
        else:
            self._read_query()

    def _read_query(self):
        source = self.request.query
        if "x-www-form-urlencoded" in self.request.headers.get("content-type", ""):
            source = self.request.body.decode("utf-8", "replace")
        form = dict(urllib.parse.parse_qsl(source, keep_blank_values=True))
        self.action = form.pop("Action", None)
        self.params = form
        if self.action:
            self.protocol = "ec2" if self.service == "ec2" or form.get("Version") == "2016-11-15" else "query"
            if self.service is None and self.protocol == "ec2":
                self.service = "ec2"
        else:
            self.action = f"{self.request.method} {self.request.path}"

    def _json(self):
        try:
            value = json.loads(self.request.body or b"{}")
        except ValueError:
            return {}
        return value if isinstance(value, dict) else {}

    def flat_params(self):
        """Parameters as strings by name, for conditions: JSON values that are not strings as JSON."""
        return {k: v if isinstance(v, str) else json.dumps(v) for k, v in self.params.items()}

    def seen(self):
        """The view that fault rules match on."""
        return {
            "service": self.service,
            "action": self.action,
            "method": self.request.method,
            "path": self.request.path,
            "caller": self.caller,
            "params": self.flat_params(),
            "headers": self.request.headers,
            "body": self.request.body,
        }


def error_code(protocol, body):
    """The code in an error answer, for the call log."""
    text = body[:4000].decode("utf-8", "replace")
    found = re.search(r"<Code>([^<]+)</Code>", text) or re.search(r'"__type"\s*:\s*"([^"]+)"', text)
    return found.group(1).split("#")[-1] if found else None
