"""Request rates as at EC2: a bucket of tokens per account, region and rule; empty means RequestLimitExceeded."""

import fnmatch
import threading
import time

from . import errors

# Other services answer with the code of their protocol; these are the ones that differ.
CODES = {"ec2": "RequestLimitExceeded", "sqs": "RequestThrottled"}
TEXTS = {"ec2": "Request limit exceeded."}


class Buckets:
    """Token buckets by rule. `clock` in seconds, monotonic."""

    def __init__(self, clock=time.monotonic):
        self.clock = clock
        self.lock = threading.Lock()
        self.levels = {}

    def clear(self):
        with self.lock:
            self.levels.clear()

    def check(self, rules, call):
        """Takes one token for `call` from the first rule that names it; raises AwsError when there is none."""
        for number, rule in enumerate(rules):
            if rule["service"] == call.service and any(fnmatch.fnmatchcase(call.action or "", a) for a in rule["actions"]):
                if not self._take((number, call.region), rule["rate"], rule["burst"]):
                    code = CODES.get(call.service) or ("Throttling" if call.protocol == "query" else "ThrottlingException")
                    raise errors.AwsError(code, TEXTS.get(call.service, "Rate exceeded"))
                return

    def _take(self, key, rate, burst):
        now = self.clock()
        with self.lock:
            level, at = self.levels.get(key, (burst, now))
            level = min(burst, level + (now - at) * rate)
            taken = level >= 1
            self.levels[key] = (level - 1 if taken else level, now)
        return taken
