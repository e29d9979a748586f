"""Fault rules: which requests fail, how, and how often. No cloud in here.

The emulator and the proxy share this module. A rule is posted as JSON:

    {"service": "ec2", "action": "RunInstances", "when": {"param": {"SubnetId": "subnet-1"}},
     "skip": 1, "count": 2, "fault": "lost"}

Rules are tried in the order of their posting; the first that matches and is not
used up decides. Patterns are shell patterns (`Describe*`).

    error     answer `code`, `message`, `status` without acting
    delay     wait `seconds`, then act and answer
    cut       close the connection without acting
    lost      act, then close the connection without an answer
    corrupt   act, then answer with damaged bytes of the same length
    truncate  act, then answer the first `bytes` of the body and close
    refuse    reset the connection as soon as it is made (proxy only)

`seconds` may go with every fault: the wait comes first.
"""

import fnmatch
import itertools
import random
import threading
import time

from . import checked

HTTP_FAULTS = ("error", "delay", "cut", "lost", "corrupt", "truncate")
PROXY_FAULTS = HTTP_FAULTS + ("refuse",)
TCP_FAULTS = ("delay", "cut", "refuse")
MAX_DELAY_S = 900
MAX_RULES = 1000


class Rule:
    """One rule as posted, and how often it matched and fired."""

    def __init__(self, number, fields, kinds):
        self.id = fields.string("id", f"rule-{number}", longest=100)
        self.fault = fields.string("fault", required=True, choices=kinds)
        self.service = fields.string("service")
        self.action = fields.string("action")
        self.skip = fields.number("skip", 0, whole=True)
        self.count = fields.number("count", 1, low=1, whole=True)
        self.forever = fields.boolean("forever", False)
        self.seconds = fields.number("seconds", 0.0, high=MAX_DELAY_S)
        self._read_answer(fields, kinds)
        self._read_condition(fields.object("when"))
        fields.done()
        blind = kinds == TCP_FAULTS or self.fault == "refuse"
        if blind and (self.service or self.action or fields.has("when")):
            raise checked.Refused(f"{fields.name('when')}: of a connection nothing is seen; only skip and count choose")
        if self.fault == "delay" and self.seconds == 0:
            raise checked.Refused(f"{fields.name('seconds')}: is required for a delay")
        if self.forever and fields.has("count"):
            raise checked.Refused(f"{fields.name('forever')}: and count exclude each other")
        self.matched = 0
        self.fired = 0

    def _read_answer(self, fields, kinds):
        self.code = fields.string("code")
        self.message = fields.string("message", "injected by a fault rule")
        self.status = fields.number("status", None, low=100, high=599, whole=True)
        self.headers = fields.strings("headers", {})
        self.body = fields.string("body", longest=1000000)
        self.bytes = fields.number("bytes", None, whole=True)
        if self.fault == "error":
            if self.code is None and self.status is None:
                raise checked.Refused(f"{fields.name('code')}: an error needs a code or a status")
            return
        for key in ("code", "message", "status", "headers", "body"):
            if key in fields.value:
                raise checked.Refused(f"{fields.name(key)}: only goes with fault error")
        if self.bytes is not None and self.fault != "truncate" and not (self.fault == "cut" and kinds == TCP_FAULTS):
            raise checked.Refused(f"{fields.name('bytes')}: does not go with fault {self.fault} here")

    def _read_condition(self, when):
        self.param = self.header = {}
        self.method = self.path = self.caller = self.body_has = None
        if when is None:
            return
        self.param = when.strings("param", {})
        self.header = {k.lower(): v for k, v in when.strings("header", {}).items()}
        self.method = when.string("method")
        self.path = when.string("path")
        self.caller = when.string("caller")
        self.body_has = when.string("body")
        when.done()

    def matches(self, seen):
        """`seen`: dict with service, action, method, path, caller, params, headers (lower case), body (bytes)."""
        if self.service and not fits(self.service, seen.get("service")):
            return False
        if self.action and not fits(self.action, seen.get("action")):
            return False
        if self.method and not fits(self.method.upper(), seen.get("method")):
            return False
        if self.path and not fits(self.path, seen.get("path")):
            return False
        if self.caller and not fits(self.caller, seen.get("caller")):
            return False
        if self.body_has and self.body_has.encode() not in (seen.get("body") or b""):
            return False
        params, headers = seen.get("params") or {}, seen.get("headers") or {}
        return all(fits(v, params.get(k)) for k, v in self.param.items()) and all(
            fits(v, headers.get(k)) for k, v in self.header.items()
        )

    def used_up(self):
        return not self.forever and self.fired >= self.count

    def as_dict(self):
        shown = ("id", "fault", "service", "action", "skip", "forever", "seconds", "code", "status", "matched", "fired")
        result = {key: getattr(self, key) for key in shown}
        result["left"] = None if self.forever else self.count - self.fired
        return result


def fits(pattern, value):
    return value is not None and fnmatch.fnmatchcase(str(value), pattern)


class Rules:
    """The rules of one server. Safe for threads; `kinds` are the faults that this server can do."""

    def __init__(self, kinds=HTTP_FAULTS):
        self.kinds = kinds
        self.lock = threading.Lock()
        self.rules = []
        self.numbers = itertools.count(1)

    def add(self, body):
        """`body`: one rule or {"rules": [...]}. All of them are taken or none. Returns their ids."""
        posted = body.get("rules", [body]) if isinstance(body, dict) else body
        if "rules" in body and len(body) > 1:
            raise checked.Refused("rules: stands alone")
        if not isinstance(posted, list):
            raise checked.Refused("rules: must be a list")
        fresh = [Rule(next(self.numbers), checked.Fields(entry, f"rules[{i}]"), self.kinds) for i, entry in enumerate(posted)]
        with self.lock:
            if len(self.rules) + len(fresh) > MAX_RULES:
                raise checked.Refused(f"more than {MAX_RULES} rules")
            ids = [rule.id for rule in self.rules + fresh]
            if len(set(ids)) != len(ids):
                raise checked.Refused("id: already taken")
            self.rules.extend(fresh)
        return [rule.id for rule in fresh]

    def pick(self, seen, kinds=None):
        """The rule that strikes this request, or None. Counts it. `kinds`: look at these faults only."""
        with self.lock:
            for rule in self.rules:
                if rule.fault not in (kinds or self.kinds) or rule.used_up() or not rule.matches(seen):
                    continue
                rule.matched += 1
                if rule.matched <= rule.skip:
                    continue
                rule.fired += 1
                return rule
        return None

    def remove(self, rule_id=None):
        """All rules, or the one named. Returns how many went."""
        with self.lock:
            keep = [] if rule_id is None else [r for r in self.rules if r.id != rule_id]
            gone = len(self.rules) - len(keep)
            self.rules = keep
        if rule_id is not None and gone == 0:
            raise checked.Refused(f"no rule '{rule_id}'", 404)
        return gone

    def as_list(self):
        with self.lock:
            return [rule.as_dict() for rule in self.rules]


def wait(rule, sleep=time.sleep):
    if rule is not None and rule.seconds > 0:
        sleep(rule.seconds)


def damage(body, seed):
    """`body` with about one byte in eight changed, the same for the same seed: never valid JSON or XML."""
    source = random.Random(seed)
    damaged = bytearray(body or b"\x00\xff")
    for i in range(0, len(damaged), 8):
        damaged[min(i + source.randrange(8), len(damaged) - 1)] ^= 0x80 | source.randrange(1, 128)
    damaged[0] = 0xFF
    return bytes(damaged)


def shorten(body, keep):
    """The first `keep` bytes, or half when not given; always less than all of it."""
    wanted = len(body) // 2 if keep is None else keep
    return body[: max(0, min(wanted, len(body) - 1))]
