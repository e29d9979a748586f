"""The life of an instance in time.

    launched ......... running ......... ordered to end ......... ended ......... gone
       |  pending         |  running           |  shutting-down     |  terminated   |

moto's instances jump; here every state is a function of a few points in time, so
nothing has to wake up for an instance to move on. `present(t)` writes the states of
time t into moto's objects before a request looks at them: t is now, or a moment ago
when Describe is to be stale.
"""

import time

CODES = {"pending": 0, "running": 16, "shutting-down": 32, "terminated": 48, "stopping": 64, "stopped": 80}


class Machine:
    """One instance. Times in Unix seconds; None: not yet decided."""

    def __init__(self, backend, instance, now, clocks):
        self.backend = backend
        self.instance = instance
        self.id = instance.id
        self.launched_at = now
        self.visible_at = now + clocks["visible_after_s"]
        self.running_at = now + clocks["pending_s"]
        self.ends_at = self.ended_at = self.gone_at = None
        self.reason = ("Client.UserInitiatedShutdown", "User initiated shutdown")
        self.market = "spot" if instance.lifecycle == "spot" else "on-demand"
        self.max_price = None
        self.warned_at = None
        self.spot_request = None
        self.reclaimed = None
        self.cleaned = False
        self.told_state = None

    def end(self, at, clocks, reason=None):
        """Orders the end for time `at`; an earlier order stands."""
        if self.ends_at is not None and self.ends_at <= at:
            return
        self.ends_at = at
        self.ended_at = at + clocks["shutting_down_s"]
        self.gone_at = self.ended_at + clocks["gone_after_s"]
        if reason:
            self.reason = reason

    def state_at(self, t):
        if self.ends_at is not None and t >= self.ends_at:
            return "terminated" if t >= self.ended_at else "shutting-down"
        if self.instance._state.name in ("stopping", "stopped") and not self.cleaned:
            return self.instance._state.name
        return "running" if t >= self.running_at else "pending"

    def visible_at_time(self, t):
        return t >= self.visible_at and not self.gone_at_time(t)

    def gone_at_time(self, t):
        return self.gone_at is not None and t >= self.gone_at

    def holds_capacity(self, t):
        return self.state_at(t) in ("pending", "running")

    @property
    def zone(self):
        return self.instance._placement.zone

    def as_dict(self, t):
        """The truth about it, whatever Describe says; for tests and for the boot glue."""
        instance = self.instance
        return {
            "id": self.id,
            "region": self.backend.region_name,
            "zone": self.zone,
            "type": instance.instance_type,
            "market": self.market,
            "state": self.state_at(t),
            "visible": self.visible_at_time(t),
            "private_ip": instance.private_ip_address,
            "subnet": instance.subnet_id,
            "tags": {tag["key"]: tag["value"] for tag in instance.get_tags()},
            "client_token": instance.client_token,
            "launched_at": self.launched_at,
            "running_at": self.running_at,
            "warned_at": self.warned_at,
            "ends_at": self.ends_at,
            "ended_at": self.ended_at,
            "max_price": self.max_price,
            "spot_request": self.spot_request.id if self.spot_request else None,
        }


class Machines:
    """All instances of all regions. The caller holds the world's lock."""

    def __init__(self, settings):
        self.settings = settings
        self.known = {}
        self.view_time = None
        # Set while the world itself works on instances: nothing is hidden from it.
        self.show_all = False

    def clear(self):
        self.known.clear()

    @property
    def clocks(self):
        return self.settings.now["clocks"]

    def add(self, backend, instance):
        machine = Machine(backend, instance, time.time(), self.clocks)
        self.known[instance.id] = machine
        return machine

    def live(self, t):
        return [m for m in self.known.values() if m.holds_capacity(t)]

    def view_at(self, action):
        lag = self.clocks["describe_lag_s"] if (action or "").startswith("Describe") else 0
        return time.time() - lag

    def present(self, t):
        """Makes moto's objects show time `t`; forgets what is long gone."""
        self.view_time = t
        for machine in list(self.known.values()):
            if machine.ends_at is None and machine.instance._state.name == "terminated":
                # Ended by moto itself, as when a CloudFormation stack goes.
                machine.end(time.time(), self.clocks)
                machine.cleaned = True
            state = machine.state_at(t)
            if state == "terminated" and not machine.cleaned:
                self._clean(machine)
            machine.instance._state.name = state
            machine.instance._state.code = CODES[state]
            if state in ("shutting-down", "terminated"):
                self._explain(machine)
            if machine.gone_at_time(t):
                self._forget(machine)

    def _clean(self, machine):
        """moto's own termination: volumes, profile association. The address becomes free, as at AWS."""
        machine.cleaned = self.show_all = True
        try:
            machine.instance.terminate()
        finally:
            self.show_all = False
        backend = machine.backend
        for ip in list(machine.instance._private_ips):
            backend.get_subnet(machine.instance.subnet_id).del_subnet_ip(ip)
        machine.instance._private_ips.clear()

    @staticmethod
    def _explain(machine):
        code, text = machine.reason
        when = time.strftime("%Y-%m-%d %H:%M:%S GMT", time.gmtime(machine.ends_at))
        machine.instance._reason = f"User initiated ({when})" if code.startswith("Client.") else f"{code}: {text}"
        machine.instance.state_reason.code = code
        machine.instance.state_reason.message = f"{code}: {text}"

    def _forget(self, machine):
        del self.known[machine.id]
        for reservation in list(machine.backend.reservations.values()):
            if machine.instance in reservation.instances:
                reservation.instances = [i for i in reservation.instances if i is not machine.instance]
                if not reservation.instances:
                    del machine.backend.reservations[reservation.id]

    def hidden(self, instance):
        """True for an instance that the present request must not see."""
        machine = None if self.show_all else self.known.get(instance.id)
        return machine is not None and not machine.visible_at_time(self.view_time or time.time())
