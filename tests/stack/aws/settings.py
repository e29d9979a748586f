"""What POST /drover/settings steers. A group that is posted replaces the named keys; lists are replaced as a whole."""

import copy
import time

from . import checked

MAX_SECONDS = 7 * 86400

# Rates of EC2 as documented: RunInstances is the scarcest. Actions of one rule share a bucket.
THROTTLE_RULES = [
    {"service": "ec2", "actions": ["RunInstances"], "rate": 2.0, "burst": 5.0},
    {"service": "ec2", "actions": ["TerminateInstances"], "rate": 5.0, "burst": 100.0},
    {"service": "ec2", "actions": ["Describe*", "Get*"], "rate": 20.0, "burst": 100.0},
    {"service": "ec2", "actions": ["*"], "rate": 5.0, "burst": 200.0},
]

DEFAULTS = {
    "clocks": {
        "visible_after_s": 0.0,
        "pending_s": 1.0,
        "shutting_down_s": 1.0,
        "gone_after_s": 60.0,
        "describe_lag_s": 0.0,
    },
    "capacity": [],
    "quota": {},
    "prices": {},
    "reclaim": {"by_price": True, "notice_s": 120.0},
    "throttle": {"enabled": True, "rules": THROTTLE_RULES},
    "events": {"queue": None, "state_changes": False},
    "auth": {"enforce": False},
}


class Settings:
    """The current values in `now`, a dict like DEFAULTS. `enforce` is the state of auth after a reset."""

    def __init__(self, enforce=False):
        self.enforce = enforce
        self.reset()

    def reset(self):
        self.now = copy.deepcopy(DEFAULTS)
        self.now["auth"]["enforce"] = self.enforce

    def update(self, body):
        """All of `body` is taken or nothing."""
        fields = checked.Fields(body)
        fresh = copy.deepcopy(self.now)
        for name, read in READERS.items():
            if fields.has(name):
                read(fields, fresh)
        fields.done()
        self.now = fresh

    def as_dict(self):
        shown = copy.deepcopy(self.now)
        shown["prices"] = [{"type": t, "zone": z, "points": p} for (t, z), p in self.now["prices"].items()]
        return shown


def read_clocks(fields, fresh):
    group = fields.object("clocks")
    for key in DEFAULTS["clocks"]:
        fresh["clocks"][key] = group.number(key, fresh["clocks"][key], high=MAX_SECONDS)
    group.done()


def read_capacity(fields, fresh):
    fresh["capacity"] = []
    for entry in fields.objects("capacity"):
        fresh["capacity"].append(
            {
                "type": entry.string("type", "*"),
                "zone": entry.string("zone", "*"),
                "market": entry.string("market", "*", choices=("spot", "on-demand", "*")),
                "limit": entry.number("limit", required=True, high=100000, whole=True),
            }
        )
        entry.done()


def read_quota(fields, fresh):
    group = fields.object("quota")
    fresh["quota"] = {
        key: group.number(key, high=1000000, whole=True) for key in ("on_demand_vcpus", "spot_vcpus") if group.has(key)
    }
    group.done()


def read_prices(fields, fresh):
    """Points are [seconds from now, price]: negative ones are the past, later ones come into force by themselves."""
    now = time.time()
    fresh["prices"] = {}
    for entry in fields.objects("prices"):
        kind, zone = entry.string("type", required=True), entry.string("zone", "*")
        points = []
        for i, point in enumerate(entry.array("points", required=True)):
            name = f"{entry.name('points')}[{i}]"
            if not isinstance(point, list) or len(point) != 2:
                raise checked.Refused(f"{name}: must be [seconds from now, price]")
            offset = checked.check_number(point[0], name, -400 * 86400, 400 * 86400)
            points.append([now + offset, checked.check_number(point[1], name, 0.0001, 1000)])
        if not points:
            raise checked.Refused(f"{entry.name('points')}: is empty")
        entry.done()
        fresh["prices"][(kind, zone)] = sorted(points)


def read_reclaim(fields, fresh):
    group = fields.object("reclaim")
    fresh["reclaim"]["by_price"] = group.boolean("by_price", fresh["reclaim"]["by_price"])
    fresh["reclaim"]["notice_s"] = group.number("notice_s", fresh["reclaim"]["notice_s"], high=MAX_SECONDS)
    group.done()


def read_throttle(fields, fresh):
    group = fields.object("throttle")
    fresh["throttle"]["enabled"] = group.boolean("enabled", fresh["throttle"]["enabled"])
    rules = group.objects("rules")
    if rules is not None:
        fresh["throttle"]["rules"] = [read_bucket(entry) for entry in rules]
    group.done()


def read_bucket(entry):
    actions = entry.array("actions", required=True)
    if not actions or not all(isinstance(a, str) for a in actions):
        raise checked.Refused(f"{entry.name('actions')}: must be a list of action names or patterns")
    rule = {
        "service": entry.string("service", "ec2"),
        "actions": actions,
        "rate": entry.number("rate", required=True, high=1e6),
        "burst": entry.number("burst", required=True, high=1e6),
    }
    entry.done()
    return rule


def read_events(fields, fresh):
    group = fields.object("events")
    fresh["events"]["queue"] = group.string("queue", fresh["events"]["queue"])
    fresh["events"]["state_changes"] = group.boolean("state_changes", fresh["events"]["state_changes"])
    group.done()


def read_auth(fields, fresh):
    group = fields.object("auth")
    fresh["auth"]["enforce"] = group.boolean("enforce", required=True)
    group.done()


READERS = {
    "clocks": read_clocks,
    "capacity": read_capacity,
    "quota": read_quota,
    "prices": read_prices,
    "reclaim": read_reclaim,
    "throttle": read_throttle,
    "events": read_events,
    "auth": read_auth,
}
