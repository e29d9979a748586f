"""The spot market: prices in time, requests, and taking instances back."""

import hashlib
import time

from moto.ec2.models.spot_requests import SpotInstanceRequest
from moto.ec2.utils import random_spot_request_id

from . import capacity, checked, errors, events

ON_DEMAND_PER_VCPU = 0.048
USUAL_SHARE = 0.35
SERIES_STEP_S = 3600


def usual_price(kind, zone, hour):
    """Without a posted series: about a third of on demand, moving by up to a tenth each hour; the same for everyone."""
    digest = hashlib.sha256(f"{kind}/{zone}/{hour}".encode()).digest()
    wobble = 0.9 + 0.2 * digest[0] / 255
    return round(capacity.vcpus(kind) * ON_DEMAND_PER_VCPU * USUAL_SHARE * wobble, 6)


def series(prices, kind, zone, start, end):
    """Price changes [time, price] with start <= time <= end, and the last one before start; oldest first."""
    points = prices.get((kind, zone)) or prices.get((kind, "*"))
    if points is None:
        first, last = int(start // SERIES_STEP_S), int(end // SERIES_STEP_S)
        return [[hour * SERIES_STEP_S, usual_price(kind, zone, hour)] for hour in range(first, last + 1)]
    before = [p for p in points if p[0] < start]
    return before[-1:] + [p for p in points if start <= p[0] <= end]


def price_at(prices, kind, zone, t):
    points = series(prices, kind, zone, t, t)
    # Before the first posted point the first price holds.
    return points[-1][1] if points else (prices.get((kind, zone)) or prices[(kind, "*")])[0][1]


def check_price(prices, kind, zone, max_price, now):
    price = price_at(prices, kind, zone, now)
    if max_price is not None and max_price < price:
        raise errors.AwsError(
            "SpotMaxPriceTooLow",
            f"Your Spot request price of {max_price:g} is lower than the minimum required Spot request fulfillment price of {price:g}.",
        )


class LaunchedRequest(SpotInstanceRequest):
    """The request that RunInstances makes for a spot instance: moto's class with an instance that already exists."""

    def __init__(self, backend, instance, price, kind):
        self._launched = instance
        super().__init__(
            backend, random_spot_request_id(), price, instance.image_id, kind, None, None, None, None, instance.key_name,
            [g.id for g in instance.security_groups], None, instance.instance_type, instance._placement.zone, None, None, False,
            instance.subnet_id, {}, None, "terminate",
        )
        self.made_at = time.time()
        self.changed_at = self.made_at

    def launch_instance(self):
        return self._launched

    def close(self, code, message, state="closed"):
        if self.state != "cancelled":
            self.state = state
        self._status_code, self.status_message, self.changed_at = code, message, time.time()

    @property
    def status(self):
        return {"Code": self._status_code, "Message": self.status_message, "UpdateTime": stamp(self.changed_at)}

    @property
    def create_time(self):
        return stamp(self.made_at)


def stamp(t):
    return time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(t))


def open_request(machine, max_price, kind):
    """Records the request behind a fresh spot instance."""
    backend, instance = machine.backend, machine.instance
    request = LaunchedRequest(backend, instance, "" if max_price is None else str(max_price), kind)
    backend.spot_instance_requests[request.id] = request
    instance.spot_instance_request_id = request.id
    machine.max_price = max_price
    machine.spot_request = request
    return request


def interrupt(world, machine, kind, seconds, queue):
    """Sends the notice; a warning also orders the end. A second warning is sent again and changes nothing else."""
    now = time.time()
    if machine.market != "spot":
        raise checked.Refused(f"instance: {machine.id} is not a spot instance", 409)
    if not machine.holds_capacity(now):
        raise checked.Refused(f"instance: {machine.id} is {machine.state_at(now)}", 409)
    event = events.warning(machine, now) if kind == "warning" else events.rebalance(machine, now)
    reached = events.deliver(machine, event, queue)
    if kind == "warning":
        reclaim(world, machine, now, seconds, "instance-terminated-no-capacity")
    return event, reached


def reclaim(world, machine, now, seconds, why):
    if machine.warned_at is None:
        machine.warned_at = now
        if machine.spot_request:
            machine.spot_request.close("marked-for-termination", "Your Spot instance is marked for termination.", "active")
    machine.end(now + seconds, world.settings.now["clocks"], ("Server.SpotInstanceTermination", "Spot instance termination"))
    machine.reclaimed = machine.reclaimed or why


def reclaim_by_price(world, now):
    """Instances whose own maximum is below today's price get their warning. Runs on every beat."""
    settings = world.settings.now
    if not settings["reclaim"]["by_price"]:
        return
    for machine in world.machines.live(now):
        if machine.max_price is None or machine.warned_at is not None:
            continue
        if price_at(settings["prices"], machine.instance.instance_type, machine.zone, now) > machine.max_price:
            # First the order, then the news: a missing queue must not keep the machine alive.
            reclaim(world, machine, now, settings["reclaim"]["notice_s"], "instance-terminated-by-price")
            events.deliver(machine, events.warning(machine, now), settings["events"]["queue"])


def settle_requests(world, now):
    """Closes the requests of instances that have ended."""
    for machine in world.machines.known.values():
        request = machine.spot_request
        if request is not None and request.state in ("active", "open") and machine.state_at(now) in ("shutting-down", "terminated"):
            request.close(machine.reclaimed or "instance-terminated-by-user", "Your Spot instance was terminated.")
