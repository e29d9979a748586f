"""IAM policies: does a set of statements allow an action on a resource, in a context?

moto compares actions only. The policies that we ship name resources and
conditions, so these are evaluated here as IAM does: an explicit denial wins,
then one allowance is enough, otherwise nothing is allowed.
"""

import json
import re


def pattern(text):
    return re.compile("".join(".*" if c == "*" else "." if c == "?" else re.escape(c) for c in text) + r"\Z", re.DOTALL)


def like(text, value):
    return pattern(text).match(value) is not None


def listed(value):
    return value if isinstance(value, list) else [value]


def statements(document):
    parsed = json.loads(document) if isinstance(document, str) else document
    return listed(parsed["Statement"])


def decide(all_statements, action, resource, context):
    """'allow', 'deny' or 'none'. `resource` None: the service is not modelled, every resource matches."""
    result = "none"
    for statement in all_statements:
        if not speaks_of(statement, action, resource) or not holds(statement.get("Condition"), context):
            continue
        if statement["Effect"] == "Deny":
            return "deny"
        result = "allow"
    return result


def speaks_of(statement, action, resource):
    if "NotAction" in statement:
        if any(like(a.lower(), action.lower()) for a in listed(statement["NotAction"])):
            return False
    elif not any(like(a.lower(), action.lower()) for a in listed(statement.get("Action", []))):
        return False
    if resource is None:
        return True
    if "NotResource" in statement:
        return not any(like(r, resource) for r in listed(statement["NotResource"]))
    return any(like(r, resource) for r in listed(statement.get("Resource", [])))


def holds(condition, context):
    """All operators and all their keys must hold. `context`: lower-case key -> list of strings."""
    for operator, keys in (condition or {}).items():
        for key, expected in keys.items():
            if not test(operator, context.get(key.lower()), [text(e) for e in listed(expected)]):
                return False
    return True


def text(value):
    return str(value).lower() if isinstance(value, bool) else str(value)


def test(operator, actual, expected):
    quantifier, _, rest = operator.rpartition(":")
    optional = rest.endswith("IfExists")
    name = rest.removesuffix("IfExists")
    if name == "Null":
        return (actual is None) == (expected[0] == "true")
    if actual is None:
        # ForAllValues holds for an absent key; so does every negated comparison.
        return optional or quantifier == "ForAllValues" or name in NEGATED
    negate, compare = name in NEGATED, COMPARE[NEGATED.get(name, name)]
    hits = [any(compare(e, a) for e in expected) != negate for a in actual]
    return all(hits) if quantifier == "ForAllValues" or negate else any(hits)


NEGATED = {
    "StringNotEquals": "StringEquals",
    "StringNotEqualsIgnoreCase": "StringEqualsIgnoreCase",
    "StringNotLike": "StringLike",
    "ArnNotEquals": "ArnLike",
    "ArnNotLike": "ArnLike",
    "NumericNotEquals": "NumericEquals",
}
COMPARE = {
    "StringEquals": lambda e, a: e == a,
    "StringEqualsIgnoreCase": lambda e, a: e.lower() == a.lower(),
    "StringLike": like,
    "ArnEquals": like,
    "ArnLike": like,
    "Bool": lambda e, a: e.lower() == a.lower(),
    "NumericEquals": lambda e, a: float(a) == float(e),
    "NumericLessThan": lambda e, a: float(a) < float(e),
    "NumericLessThanEquals": lambda e, a: float(a) <= float(e),
    "NumericGreaterThan": lambda e, a: float(a) > float(e),
    "NumericGreaterThanEquals": lambda e, a: float(a) >= float(e),
}
