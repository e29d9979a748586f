"""Reading of control requests: every key is known, every value has a type and a range.

A typing error in a test must not pass as "no fault configured", so anything
that is not understood is refused with the name of the key and what is allowed.
"""

import json
import math

MAX_BODY_BYTES = 16 * 1024 * 1024


class Refused(Exception):
    """A control request that is not understood; the text goes to the caller with status 400."""

    def __init__(self, message, status=400):
        super().__init__(message)
        self.status = status


def parse_object(body):
    """The JSON object in `body` (empty means {})."""
    if not body.strip():
        return {}
    try:
        value = json.loads(body)
    except ValueError as exc:
        raise Refused(f"body is not JSON: {exc}") from None
    if not isinstance(value, dict):
        raise Refused(f"body must be a JSON object, not {type(value).__name__}")
    return value


class Fields:
    """The keys of one object. Call done() at the end: it refuses what nobody asked for."""

    def __init__(self, value, path=""):
        if not isinstance(value, dict):
            raise Refused(f"{path or 'body'}: must be an object, not {type(value).__name__}")
        self.value = value
        self.path = path
        self.asked = set()

    def name(self, key):
        return f"{self.path}.{key}" if self.path else key

    def has(self, key):
        self.asked.add(key)
        return self.value.get(key) is not None

    def take(self, key, default, required):
        self.asked.add(key)
        value = self.value.get(key)
        if value is None:
            if required:
                raise Refused(f"{self.name(key)}: is required")
            return default
        return value

    def string(self, key, default=None, required=False, choices=None, longest=4096):
        value = self.take(key, None, required)
        if value is None:
            return default
        if not isinstance(value, str):
            raise Refused(f"{self.name(key)}: must be a string, not {type(value).__name__}")
        if choices and value not in choices:
            raise Refused(f"{self.name(key)}: '{value}' is not one of {', '.join(choices)}")
        if len(value) > longest:
            raise Refused(f"{self.name(key)}: longer than {longest} characters")
        return value

    def number(self, key, default=None, required=False, low=0, high=1e12, whole=False):
        value = self.take(key, None, required)
        if value is None:
            return default
        return check_number(value, self.name(key), low, high, whole)

    def boolean(self, key, default=None, required=False):
        value = self.take(key, None, required)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise Refused(f"{self.name(key)}: must be true or false")
        return value

    def array(self, key, default=None, required=False, longest=100000):
        value = self.take(key, None, required)
        if value is None:
            return default
        if not isinstance(value, list):
            raise Refused(f"{self.name(key)}: must be a list, not {type(value).__name__}")
        if len(value) > longest:
            raise Refused(f"{self.name(key)}: more than {longest} entries")
        return value

    def objects(self, key, default=None, required=False, longest=10000):
        """A list of objects, each as Fields."""
        value = self.array(key, None, required, longest)
        if value is None:
            return default
        return [Fields(entry, f"{self.name(key)}[{i}]") for i, entry in enumerate(value)]

    def object(self, key, default=None, required=False):
        value = self.take(key, None, required)
        if value is None:
            return default
        return Fields(value, self.name(key))

    def strings(self, key, default=None):
        """An object whose values are strings."""
        value = self.take(key, None, False)
        if value is None:
            return default
        if not isinstance(value, dict) or not all(isinstance(v, str) for v in value.values()):
            raise Refused(f"{self.name(key)}: must be an object of strings")
        return dict(value)

    def done(self):
        unknown = sorted(set(self.value) - self.asked)
        if unknown:
            known = ", ".join(sorted(self.asked)) or "none"
            raise Refused(f"{self.name(unknown[0])}: unknown key; known here: {known}")


def check_number(value, name, low, high, whole=False):
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise Refused(f"{name}: must be a number")
    if whole and value != int(value):
        raise Refused(f"{name}: must be a whole number")
    if not low <= value <= high:
        raise Refused(f"{name}: {value} is outside {low:g}..{high:g}")
    return int(value) if whole else float(value)
