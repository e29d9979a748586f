"""DescribeSpotPriceHistory from the price series."""

import base64
import binascii
import calendar
import datetime
import time

from moto.ec2.models.instance_types import INSTANCE_TYPE_OFFERINGS

from . import errors, spot

PRODUCTS = ("Linux/UNIX", "Linux/UNIX (Amazon VPC)")
PAGE = 1000


def answer(world, response):
    """Newest first, per type and zone, with the price in force at StartTime; pages of MaxResults."""
    params, now = response.params, time.time()
    end = seconds(params.get("EndTime"), now)
    start = seconds(params.get("StartTime"), now)
    filters = {f["Name"]: f.get("Values", []) for f in params.get("Filters", [])}
    kinds = set(params.get("InstanceTypes") or filters.get("instance-type") or known_types(world, response.region))
    zones = zones_of(response.region)
    wanted = [params["AvailabilityZone"]] if params.get("AvailabilityZone") else filters.get("availability-zone") or sorted(zones)
    products = params.get("ProductDescriptions") or filters.get("product-description") or PRODUCTS[:1]
    rows = [
        {"InstanceType": k, "ProductDescription": p, "SpotPrice": f"{price:.6f}", "AvailabilityZone": z, "Timestamp": when(t)}
        for k in sorted(kinds)
        for z in wanted
        if z in zones
        for t, price in reversed(spot.series(world.settings.now["prices"], k, z, start, min(end, now)))
        for p in products
        if p in PRODUCTS
    ]
    return page(rows, params.get("NextToken"), int(params.get("MaxResults") or PAGE))


def known_types(world, region):
    """Without a type the real service lists all; here those with a series of their own, or what the region offers first."""
    posted = sorted({kind for kind, _ in world.settings.now["prices"]})
    return posted or sorted({o["InstanceType"] for o in INSTANCE_TYPE_OFFERINGS["region"].get(region, [])})[:20]


def zones_of(region):
    return {o["Location"] for o in INSTANCE_TYPE_OFFERINGS["availability-zone"].get(region, [])}


def seconds(value, default):
    if value is None:
        return default
    if isinstance(value, datetime.datetime):
        return calendar.timegm(value.utctimetuple())
    return datetime.datetime.fromisoformat(str(value).replace("Z", "+00:00")).timestamp()


def when(t):
    return time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(t))


def page(rows, token, size):
    first = 0
    if token:
        try:
            first = int(base64.b64decode(token, validate=True))
        except (ValueError, binascii.Error):
            raise errors.AwsError("InvalidNextToken", f"The token '{token}' is invalid") from None
    rest = rows[first + size :]
    following = base64.b64encode(str(first + size).encode()).decode() if rest else ""
    return {"SpotPriceHistory": rows[first : first + size], "NextToken": following}
