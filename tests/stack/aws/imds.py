"""The instance metadata service, version 2, and the container credentials endpoint: keys of a role, renewed in time.

The role is one made by POST /drover/credentials with `"serve": true`. Before that both answer 404, as on a
machine without a role.
"""

import json
import secrets
import time

from . import auth, httpd

TOKEN_PATH = "/latest/api/token"
ROLE_PATH = "/latest/meta-data/iam/security-credentials/"
MAX_TTL_S = 21600


class Metadata:
    """The caller holds the world's lock."""

    def __init__(self):
        self.clear()

    def clear(self):
        self.role = None
        self.session_s = 0
        self.tokens = {}
        self.session = None

    def serve_role(self, name, session_s):
        self.role, self.session_s, self.session = name, session_s, None

    def answer(self, request):
        """Requests under /latest/."""
        now = time.time()
        if request.path == TOKEN_PATH:
            return self._token(request, now)
        if self.tokens.get(request.headers.get("x-aws-ec2-metadata-token"), 0) <= now:
            return httpd.Reply(401, b"", [("Content-Type", "text/plain")])
        if request.path in (ROLE_PATH, ROLE_PATH.rstrip("/")) and self.role:
            return httpd.Reply(200, self.role.encode(), [("Content-Type", "text/plain")])
        if self.role and request.path == ROLE_PATH + self.role:
            return httpd.Reply(200, json.dumps({"Code": "Success", "Type": "AWS-HMAC", **self._keys(now)}).encode())
        return httpd.Reply(404, b"", [("Content-Type", "text/plain")])

    def _token(self, request, now):
        ttl = request.headers.get("x-aws-ec2-metadata-token-ttl-seconds", "")
        if request.method != "PUT":
            return httpd.Reply(405, b"", [("Content-Type", "text/plain")])
        if not ttl.isdigit() or not 1 <= int(ttl) <= MAX_TTL_S:
            return httpd.Reply(400, b"", [("Content-Type", "text/plain")])
        token = secrets.token_urlsafe(40)
        self.tokens[token] = now + int(ttl)
        return httpd.Reply(200, token.encode(), [("Content-Type", "text/plain"), ("X-Aws-Ec2-Metadata-Token-Ttl-Seconds", ttl)])

    def container(self):
        """The answer of a container's credentials endpoint, or None without a role."""
        if not self.role:
            return None
        return {"RoleArn": f"arn:aws:iam::{auth.DEFAULT_ACCOUNT_ID}:role/{self.role}", **self._keys(time.time())}

    def _keys(self, now):
        if self.session is None or self.session["expires_at"] - now < self.session_s / 2:
            self.session = auth.make_session(self.role, self.session_s)
        return {
            "LastUpdated": stamp(now),
            "AccessKeyId": self.session["access_key_id"],
            "SecretAccessKey": self.session["secret_access_key"],
            "Token": self.session["session_token"],
            "Expiration": stamp(self.session["expires_at"]),
        }


def stamp(t):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(t))
