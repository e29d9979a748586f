"""Events of EC2 in EventBridge's JSON, into a queue by name or through the region's EventBridge rules."""

import datetime
import json
import uuid

from moto.events.models import events_backends
from moto.sqs.models import sqs_backends

from . import checked

WARNING = "EC2 Spot Instance Interruption Warning"
REBALANCE = "EC2 Instance Rebalance Recommendation"
STATE_CHANGE = "EC2 Instance State-change Notification"


def make(kind, machine, detail, now):
    account, region = machine.backend.account_id, machine.backend.region_name
    place = f"{region}:{account}" if kind == STATE_CHANGE else machine.zone
    when = datetime.datetime.fromtimestamp(now, datetime.timezone.utc)
    return {
        "version": "0",
        "id": str(uuid.uuid4()),
        "detail-type": kind,
        "source": "aws.ec2",
        "account": account,
        "time": when.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "region": region,
        "resources": [f"arn:aws:ec2:{place}:instance/{machine.id}"],
        "detail": {"instance-id": machine.id, **detail},
    }


def send_by_rule(rule, event):
    """moto's rules want the time as a number and write it out again; its transformers want a second one."""
    when = datetime.datetime.strptime(event["time"], "%Y-%m-%dT%H:%M:%S%z").timestamp()
    transform = any("InputTransformer" in target for target in rule.targets)
    extra = {"ingestion-time": event["time"]} if transform else {}
    rule.send_to_targets({**event, **extra, "time": when}, transform_input=transform)


def warning(machine, now):
    return make(WARNING, machine, {"instance-action": "terminate"}, now)


def rebalance(machine, now):
    return make(REBALANCE, machine, {}, now)


def state_change(machine, state, now):
    return make(STATE_CHANGE, machine, {"state": state}, now)


def deliver(machine, event, queue):
    """Into `queue` of the machine's region, or by EventBridge's rules when None. Returns how many targets got it."""
    account, region = machine.backend.account_id, machine.backend.region_name
    if queue is not None:
        backend = sqs_backends[account][region]
        if queue not in backend.queues:
            raise checked.Refused(f"queue: no queue '{queue}' in {region}", 404)
        backend.send_message(queue, json.dumps(event))
        return 1
    reached = 0
    for bus in events_backends[account][region].event_buses.values():
        for rule in bus.rules.values():
            if bus.name == "default" and rule.event_pattern.matches_event(event):
                send_by_rule(rule, event)
                reached += len(rule.targets)
    return reached
