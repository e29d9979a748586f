"""What EC2 has in stock and what the account may use. The caller holds the world's lock."""

import fnmatch

from moto.ec2.models.instance_types import INSTANCE_TYPES

from . import errors


def vcpus(instance_type):
    known = INSTANCE_TYPES.get(instance_type)
    return known["VCpuInfo"]["DefaultVCpus"] if known else 1


def in_stock(rules, live, kind, zone, market):
    """How many more instances there are of this type, zone and market; None: no rule speaks of it."""
    left = None
    for rule in rules:
        if not rule_speaks_of(rule, kind, zone, market):
            continue
        used = sum(1 for m in live if rule_speaks_of(rule, m.instance.instance_type, m.zone, m.market))
        free = max(0, rule["limit"] - used)
        left = free if left is None else min(left, free)
    return left


def rule_speaks_of(rule, kind, zone, market):
    return fnmatch.fnmatchcase(kind, rule["type"]) and fnmatch.fnmatchcase(zone, rule["zone"]) and rule["market"] in ("*", market)


def allowed_by_quota(quota, live, kind, market):
    """How many more instances of this type the vCPU quota of the market allows; None: no quota."""
    limit = quota.get("spot_vcpus" if market == "spot" else "on_demand_vcpus")
    if limit is None:
        return None
    used = sum(vcpus(m.instance.instance_type) for m in live if m.market == market)
    return max(0, (limit - used) // vcpus(kind))


def count_to_launch(settings, live, kind, zone, market, least, most):
    """Between MinCount and MaxCount, as many as there are; raises EC2's error when not even MinCount are."""
    count = most
    quota = allowed_by_quota(settings["quota"], live, kind, market)
    if quota is not None and quota < least:
        raise quota_error(settings["quota"], market)
    stock = in_stock(settings["capacity"], live, kind, zone, market)
    if stock is not None and stock < least:
        raise stock_error(kind, zone, market)
    return min([count] + [n for n in (quota, stock) if n is not None])


def quota_error(quota, market):
    if market == "spot":
        return errors.AwsError("MaxSpotInstanceCountExceeded", "Max spot instance count exceeded")
    limit = quota["on_demand_vcpus"]
    return errors.AwsError(
        "VcpuLimitExceeded",
        f"You have requested more vCPU capacity than your current vCPU limit of {limit} allows for the instance bucket "
        "that the specified instance type belongs to. Please visit http://aws.amazon.com/contact-us/ec2-request to request "
        "an adjustment to this limit.",
    )


def stock_error(kind, zone, market):
    if market == "spot":
        return errors.AwsError("InsufficientInstanceCapacity", "There is no Spot capacity available that matches your request.")
    return errors.AwsError(
        "InsufficientInstanceCapacity",
        f"We currently do not have sufficient {kind} capacity in the Availability Zone you requested ({zone}). Our system will be "
        "working on provisioning additional capacity.",
    )
