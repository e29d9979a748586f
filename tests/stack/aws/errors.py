"""Errors as AWS sends them, in the shape of each of its protocols."""

import json
import uuid
from xml.sax.saxutils import escape

# Status by code where it is not 400. InsufficientInstanceCapacity really is a 500:
# a client that takes every 5xx as "outcome unknown" gets it wrong.
STATUS = {
    "InsufficientInstanceCapacity": 500,
    "InternalError": 500,
    "InternalFailure": 500,
    "RequestLimitExceeded": 503,
    "ServiceUnavailable": 503,
    "Unavailable": 503,
    "SlowDown": 503,
    "UnauthorizedOperation": 403,
    "AccessDenied": 403,
    "AuthFailure": 401,
    "SignatureDoesNotMatch": 403,
    "InvalidClientTokenId": 403,
    "ExpiredToken": 403,
    "MissingAuthenticationToken": 403,
    "IncompleteSignature": 400,
}


class AwsError(Exception):
    """Raised anywhere below the WSGI application; the emulator renders it for the protocol of the request."""

    def __init__(self, code, message, status=None):
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.status = status or STATUS.get(code, 400)


def cbor_text(text):
    data = text.encode()
    size = len(data)
    if size < 24:
        return bytes([0x60 | size]) + data
    if size < 256:
        return bytes([0x78, size]) + data
    return bytes([0x79]) + size.to_bytes(2, "big") + data


def render(protocol, code, message):
    """(body, headers) of an error in `protocol`: ec2, query, json, cbor or rest."""
    request_id = str(uuid.uuid4())
    if protocol == "json":
        body = json.dumps({"__type": code, "message": message}).encode()
        return body, [("Content-Type", "application/x-amz-json-1.0"), ("x-amzn-errortype", code), ("x-amzn-requestid", request_id)]
    if protocol == "cbor":
        body = b"\xa2" + cbor_text("__type") + cbor_text(code) + cbor_text("message") + cbor_text(message[:4000])
        return body, [("Content-Type", "application/cbor"), ("smithy-protocol", "rpc-v2-cbor"), ("x-amzn-requestid", request_id)]
    detail = f"<Code>{escape(code)}</Code><Message>{escape(message)}</Message>"
    if protocol == "ec2":
        text = f"<Response><Errors><Error>{detail}</Error></Errors><RequestID>{request_id}</RequestID></Response>"
    elif protocol == "query":
        text = f"<ErrorResponse><Error><Type>Sender</Type>{detail}</Error><RequestId>{request_id}</RequestId></ErrorResponse>"
    else:
        text = f"<Error>{detail}<RequestId>{request_id}</RequestId></Error>"
    body = f'<?xml version="1.0" encoding="UTF-8"?>\n{text}'.encode()
    return body, [("Content-Type", "text/xml;charset=UTF-8"), ("x-amzn-requestid", request_id)]
