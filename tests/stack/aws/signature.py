"""Signature version 4 over the bytes as they came, checked as the real service does.

moto signs the parsed form again, in its own encoding and order; a client that encodes
otherwise, and correctly, would be refused. So the canonical request is made from the wire.
"""

import calendar
import hashlib
import hmac
import re
import time
import urllib.parse

MAX_SKEW_S = 300
HEADER = re.compile(r"^AWS4-HMAC-SHA256 Credential=([^,\s]+),\s*SignedHeaders=([^,\s]+),\s*Signature=([0-9a-f]{64})$")


def parse(authorization):
    """(credential scope parts, signed headers, signature) or None."""
    found = HEADER.match(authorization.strip())
    if not found:
        return None
    scope = found.group(1).split("/")
    return (scope, found.group(2).split(";"), found.group(3)) if len(scope) == 5 else None


def canonical_request(request, signed, service):
    path = request.raw_path or "/"
    if service != "s3":
        # Each segment is encoded twice everywhere but in S3; what arrives is encoded once.
        path = urllib.parse.quote(path, safe="/-_.~")
    pairs = urllib.parse.parse_qsl(request.query, keep_blank_values=True)
    encoded = sorted((quote(k), quote(v)) for k, v in pairs)
    headers = "".join(f"{h}:{' '.join(request.headers.get(h, '').split())}\n" for h in signed)
    query = "&".join(f"{k}={v}" for k, v in encoded)
    return "\n".join([request.method, path, query, headers, ";".join(signed), payload_hash(request, service)])


def payload_hash(request, service):
    said = request.headers.get("x-amz-content-sha256")
    if service == "s3" and said:
        return said
    return hashlib.sha256(request.body).hexdigest()


def quote(value):
    return urllib.parse.quote(value, safe="-_.~")


def sign(secret, scope, timestamp, canonical):
    _, date, region, service, _ = scope
    key = f"AWS4{secret}".encode()
    for part in (date, region, service, "aws4_request"):
        key = hmac.digest(key, part.encode(), "sha256")
    digest = hashlib.sha256(canonical.encode()).hexdigest()
    to_sign = "\n".join(["AWS4-HMAC-SHA256", timestamp, "/".join(scope[1:]), digest])
    return hmac.new(key, to_sign.encode(), "sha256").hexdigest()


def matches(request, secret):
    """True if the Authorization header was made with `secret` over exactly this request."""
    scope, signed, given = parse(request.headers["authorization"])
    timestamp = request.headers.get("x-amz-date", "")
    if "host" not in signed or "x-amz-date" not in signed or not timestamp.startswith(scope[1]):
        return False
    if "x-amz-security-token" in request.headers and "x-amz-security-token" not in signed:
        return False
    return hmac.compare_digest(sign(secret, scope, timestamp, canonical_request(request, signed, scope[3])), given)


def skew_s(request, now=None):
    """Seconds between the date of the request and now; None if it has no readable date."""
    try:
        made = calendar.timegm(time.strptime(request.headers.get("x-amz-date", ""), "%Y%m%dT%H%M%SZ"))
    except ValueError:
        return None
    return abs((time.time() if now is None else now) - made)
