"""Who calls, and may they? Keys and policies live in moto's IAM and STS; the checks are done here.

Each refusal has the code that the real service of that protocol sends.
"""

import calendar
import json
import secrets
import time

from moto import settings as moto_settings
from moto.core import DEFAULT_ACCOUNT_ID
from moto.core.authorization import ActionAuthenticatorMixin
from moto.iam.access_control import IAMPolicy
from moto.iam.models import iam_backends
from moto.sts.models import sts_backends

from . import errors, needs, policy, signature

UNSIGNED = {"AssumeRoleWithWebIdentity", "AssumeRoleWithSAML"}
INVALID = "The security token included in the request is invalid."
WRONG = (
    "The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key and "
    "signing method. Consult the service documentation for details."
)
NOT_VALIDATED = "AWS was not able to validate the provided access credentials"

# refusal -> (ec2, query and rest, json and cbor) as (code, status)
CODES = {
    "missing": (("AuthFailure", 401), ("MissingAuthenticationToken", 403), ("MissingAuthenticationTokenException", 400)),
    "malformed": (("AuthFailure", 401), ("IncompleteSignature", 400), ("IncompleteSignatureException", 400)),
    "unknown": (("AuthFailure", 401), ("InvalidClientTokenId", 403), ("UnrecognizedClientException", 400)),
    "signature": (("AuthFailure", 401), ("SignatureDoesNotMatch", 403), ("InvalidSignatureException", 400)),
    "old": (("RequestExpired", 400), ("SignatureDoesNotMatch", 403), ("InvalidSignatureException", 400)),
    "expired": (("RequestExpired", 400), ("ExpiredToken", 403), ("ExpiredTokenException", 400)),
    "denied": (("UnauthorizedOperation", 403), ("AccessDenied", 403), ("AccessDeniedException", 400)),
}


def refuse(call, why, message):
    row = CODES[why]
    code, status = row[0] if call.protocol == "ec2" else row[2] if call.protocol in ("json", "cbor") else row[1]
    if call.protocol == "ec2" and why in ("missing", "malformed", "unknown", "signature"):
        message = NOT_VALIDATED
    raise errors.AwsError(code, message, status)


class Identity:
    """A user or an assumed role: `policies` as statements, `account` and `arn`."""

    def __init__(self, arn, account, secret, documents, token=None, expires=None):
        self.arn = arn
        self.account = account
        self.secret = secret
        self.statements = [s for d in documents for s in policy.statements(d)]
        self.token = token
        self.expires = expires


def document_of(item):
    """The JSON of an inline or managed policy, in any of moto's shapes."""
    return IAMPolicy(item)._policy_json


def find(access_key, account=DEFAULT_ACCOUNT_ID):
    iam = iam_backends[account]["aws"]
    for user in iam.users.values():
        for key in user.access_keys:
            if key.access_key_id == access_key and key.status == "Active":
                return Identity(user.arn, account, key.secret_access_key, documents_of_user(iam, user))
    for session in sts_backends[account]["aws"].assumed_roles:
        role = find_role(iam, session.role_arn.split("/")[-1])
        if session.access_key_id == access_key and role is not None:
            documents = list(role.policies.values()) + [document_of(p) for p in role.managed_policies.values()]
            expires = session.expiration.timestamp() if session.expiration.tzinfo else utc_seconds(session.expiration)
            return Identity(session.arn, account, session.secret_access_key, documents, session.session_token, expires)
    return None


def utc_seconds(moment):
    return calendar.timegm(moment.utctimetuple())


def documents_of_user(iam, user):
    documents = list(user.policies.values()) + [document_of(p) for p in user.managed_policies.values()]
    for group in iam.get_groups_for_user(user.name):
        documents += list(group.policies.values()) + [document_of(p) for p in group.managed_policies.values()]
    return documents


def enforced(settings):
    """By our own setting or by moto's: INITIAL_NO_AUTH_ACTION_COUNT, POST /moto-api/reset-auth."""
    return settings.now["auth"]["enforce"] or ActionAuthenticatorMixin.request_count >= moto_settings.INITIAL_NO_AUTH_ACTION_COUNT


def install():
    """moto's own check only counts from now on; check() below does the work."""

    def count_only(self, _iam_request_cls, _resource="*"):
        ActionAuthenticatorMixin.request_count += 1

    ActionAuthenticatorMixin._authenticate_and_authorize_action = count_only


def check(call):
    """Raises AwsError unless `call` is signed by a known key, fresh and allowed."""
    if call.action in UNSIGNED:
        return
    identity = authenticate(call)
    if call.action == "GetCallerIdentity":
        return
    for action, resource, context in needs.of(call, identity.account):
        verdict = policy.decide(identity.statements, action, resource, {**context, "aws:principalarn": [identity.arn]})
        if verdict != "allow":
            refuse(call, "denied", denial(identity, action, resource, verdict))
    if call.action == "AssumeRole":
        check_trust(call, identity)


def authenticate(call):
    request = call.request
    header = request.headers.get("authorization")
    if not header:
        refuse(call, "missing", "Request is missing Authentication Token")
    if signature.parse(header) is None:
        refuse(call, "malformed", "Authorization header is malformed.")
    identity = find(call.caller)
    if identity is None:
        refuse(call, "unknown", INVALID)
    if request.headers.get("x-amz-security-token") != identity.token:
        refuse(call, "unknown", INVALID)
    if identity.expires is not None and time.time() >= identity.expires:
        refuse(call, "expired", "The security token included in the request is expired")
    skew = signature.skew_s(request)
    if skew is None or skew > signature.MAX_SKEW_S:
        refuse(call, "old", f"Signature expired: {request.headers.get('x-amz-date')} is too far from now.")
    if not signature.matches(request, identity.secret):
        refuse(call, "signature", WRONG)
    return identity


def denial(identity, action, resource, verdict):
    why = "with an explicit deny in an identity-based policy" if verdict == "deny" else f"because no identity-based policy allows the {action} action"
    where = f" on resource: {resource}" if resource else ""
    return f"You are not authorized to perform this operation. User: {identity.arn} is not authorized to perform: {action}{where} {why}"


def check_trust(call, identity):
    wanted = call.params.get("RoleArn", "")
    role = find_role(iam_backends[identity.account]["aws"], wanted.split("/")[-1])
    root = f"arn:aws:iam::{identity.account}:root"
    for statement in policy.statements(role.assume_role_policy_document) if role else []:
        principal = statement.get("Principal")
        named = ["*"] if principal == "*" else policy.listed(principal.get("AWS", []))
        if statement["Effect"] == "Allow" and any(n in ("*", identity.arn, identity.account, root) for n in named):
            return
    refuse(call, "denied", f"User: {identity.arn} is not authorized to perform: sts:AssumeRole on resource: {wanted}")


TRUST_EC2 = {
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com"}, "Action": "sts:AssumeRole"}],
}


def make_credentials(name, documents, kind, session_s):
    """A user's key, or a role's session that lasts `session_s`. Written straight into moto: works while auth is enforced."""
    iam = iam_backends[DEFAULT_ACCOUNT_ID]["aws"]
    policies = {f"policy-{i}": d for i, d in enumerate(documents)}
    if kind == "user":
        if name not in iam.users:
            iam.create_user("us-east-1", name)
        user = iam.users[name]
        user.policies = policies
        key = user.access_keys[0] if user.access_keys else iam.create_access_key(name)
        return {"arn": user.arn, "access_key_id": key.access_key_id, "secret_access_key": key.secret_access_key}
    role = find_role(iam, name) or iam.create_role(name, json.dumps(TRUST_EC2), "/", None, "", [], 3600)
    role.policies = policies
    return make_session(name, session_s)


def find_role(iam, name):
    return next((r for r in iam.roles.values() if r.name == name), None)


def make_session(name, session_s):
    """Fresh keys of the role `name`."""
    arn = find_role(iam_backends[DEFAULT_ACCOUNT_ID]["aws"], name).arn
    session = sts_backends[DEFAULT_ACCOUNT_ID]["aws"].assume_role("us-east-1", f"s-{secrets.token_hex(4)}", arn, "", session_s, "")
    return {
        "arn": session.arn,
        "access_key_id": session.access_key_id,
        "secret_access_key": session.secret_access_key,
        "session_token": session.session_token,
        "expires_at": time.time() + session_s,
    }
