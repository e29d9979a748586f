"""RunInstances and TerminateInstances as EC2 does them, put in the place of moto's."""

import re
import time

from moto.core.responses import ActionResult
from moto.ec2.models.instance_types import INSTANCE_TYPE_OFFERINGS
from moto.ec2.models.instances import Instance, InstanceBackend
from moto.ec2.responses._base_response import EC2BaseResponse
from moto.ec2.responses.instances import InstanceResponse
from moto.ec2.responses.spot_instances import SpotInstances

from . import capacity, clocks, errors, history, spot, tokens

# What a template gives when the request does not say it. moto takes the rest (user data, key, tags) by itself.
FROM_TEMPLATE = (
    "ImageId", "InstanceType", "InstanceMarketOptions", "IamInstanceProfile", "SecurityGroupIds", "NetworkInterfaces",
    "Placement", "MetadataOptions", "Monitoring", "DisableApiTermination", "InstanceInitiatedShutdownBehavior", "EbsOptimized",
)
INSTANCE_ID = re.compile(r"^i-(?:[0-9a-f]{8}|[0-9a-f]{17})$")
MAX_INSTANCES_PER_CALL = 1000


def install(world):
    """Replaces moto's methods by ours. Once per process."""
    run_in_moto = InstanceResponse.run_instances
    run_in_backend = InstanceBackend.run_instances
    all_in_backend = InstanceBackend.all_reservations

    def run_instances(self):
        return Launch(world, self, run_in_moto).run()

    def backend_run(self, *args, **kwargs):
        reservation = run_in_backend(self, *args, **kwargs)
        for instance in reservation.instances:
            world.machines.add(self, instance)
        return reservation

    def all_reservations(self, filters=None):
        kept = []
        for reservation in all_in_backend(self, filters):
            reservation.instances = [i for i in reservation.instances if not world.machines.hidden(i)]
            if reservation.instances:
                kept.append(reservation)
        return kept

    def terminate_instances(self):
        return terminate(world, self)

    def price_history(self):
        return ActionResult(history.answer(world, self))

    InstanceResponse.run_instances = run_instances
    InstanceBackend.run_instances = backend_run
    InstanceBackend.all_reservations = all_reservations
    InstanceResponse.terminate_instances = terminate_instances
    SpotInstances.describe_spot_price_history = price_history
    # The state in the answer is the instance's own: a repeated token shows what became of it.
    EC2BaseResponse.RESPONSE_KEY_PATH_TO_TRANSFORMER.pop("RunInstances.Reservation.Instances.Instance.State", None)
    hide_network_of_ended()


def hide_network_of_ended():
    """A terminated instance has no address, network or profile any more; its id, type, zone and tags stay."""

    def unless_ended(getter, empty):
        return property(lambda self: empty if self._state.name == "terminated" else getter(self))

    for name, empty in (
        ("private_ip_address", None), ("public_ip_address", None), ("private_dns_name", ""), ("public_dns_name", ""),
        ("network_interfaces", []), ("vpc_id", None),
    ):
        setattr(Instance, name, unless_ended(getattr(Instance, name).fget, empty))


class Launch:
    """One RunInstances. `response` is moto's request object; its parameters are completed and then given to moto."""

    def __init__(self, world, response, run_in_moto):
        self.world = world
        self.response = response
        self.run_in_moto = run_in_moto
        self.backend = response.ec2_backend
        self.params = response.params
        self.now = time.time()

    def run(self):
        self._complete()
        zone = self._zone()
        token = self.params.get("ClientToken")
        key = (self.backend.account_id, self.backend.region_name, zone if self._names_zone() else "", token)
        mark = tokens.fingerprint(self.world.raw_params())
        if token and not self.params.get("DryRun"):
            reservation_id = self.world.tokens.find(*key, mark)
            if reservation_id is not None:
                return self._again(reservation_id)
        market = "spot" if self._options().get("MarketType") == "spot" else "on-demand"
        count = self._count(zone, market)
        reservation = self._launch(count)
        self._settle(reservation, market)
        if token:
            self.world.tokens.remember(*key, mark, reservation.id)
        return ActionResult(reservation)

    def _complete(self):
        template = self.params.get("LaunchTemplate")
        data = self.backend._get_template_from_args(template).data if template else {}
        for key in FROM_TEMPLATE:
            if key not in self.params and data.get(key):
                self.params[key] = data[key]
        if not self.params.get("ImageId"):
            raise errors.AwsError("MissingParameter", "The request must contain the parameter ImageId")

    def _options(self):
        return self.params.get("InstanceMarketOptions") or {}

    def _subnet(self):
        nics = self.params.get("NetworkInterfaces") or []
        name = self.params.get("SubnetId") or next((n["SubnetId"] for n in nics if n.get("SubnetId")), None)
        return self.backend.get_subnet(name) if name else None

    def _names_zone(self):
        return self._subnet() is not None or bool((self.params.get("Placement") or {}).get("AvailabilityZone"))

    def _zone(self):
        subnet = self._subnet()
        wanted = (self.params.get("Placement") or {}).get("AvailabilityZone")
        if subnet is None:
            return wanted or f"{self.backend.region_name}a"
        if wanted and wanted != subnet.availability_zone:
            raise errors.AwsError("InvalidParameterValue", f"The Availability Zone '{wanted}' is not that of subnet '{subnet.id}'")
        return subnet.availability_zone

    def _count(self, zone, market):
        least, most = int(self.params.get("MinCount") or 1), int(self.params.get("MaxCount") or 1)
        if not 1 <= least <= most <= MAX_INSTANCES_PER_CALL:
            raise errors.AwsError("InvalidParameterValue", f"Invalid value '{most}' for maxCount: MinCount is {least}")
        kind = self.params.get("InstanceType", "m1.small")
        self._check_offered(kind, zone)
        if self.params.get("DryRun"):
            return least
        settings, live = self.world.settings.now, self.world.machines.live(self.now)
        if market == "spot":
            spot.check_price(settings["prices"], kind, zone, self._max_price(), self.now)
        count = capacity.count_to_launch(settings, live, kind, zone, market, least, most)
        subnet = self._subnet()
        if subnet is not None and subnet.cidr.num_addresses - 5 - len(subnet._subnet_ips) < count:
            raise errors.AwsError("InsufficientFreeAddressesInSubnet", f"Insufficient free addresses in subnet '{subnet.id}'.")
        return count

    def _check_offered(self, kind, zone):
        region = self.backend.region_name
        if not any(o["InstanceType"] == kind for o in INSTANCE_TYPE_OFFERINGS["region"].get(region, [])):
            raise errors.AwsError("InvalidParameterValue", f"Invalid value '{kind}' for InstanceType.")
        offered = INSTANCE_TYPE_OFFERINGS["availability-zone"].get(region, [])
        if not any(o["InstanceType"] == kind and o["Location"] == zone for o in offered):
            raise errors.AwsError(
                "Unsupported", f"Your requested instance type ({kind}) is not supported in your requested Availability Zone ({zone})."
            )

    def _max_price(self):
        price = (self._options().get("SpotOptions") or {}).get("MaxPrice")
        if price is None:
            return None
        try:
            return float(price)
        except ValueError:
            raise errors.AwsError("InvalidParameterValue", f"Invalid value '{price}' for maxPrice") from None

    def _launch(self, count):
        self.params["MinCount"] = count
        self.world.machines.show_all = True
        try:
            reservation = self.run_in_moto(self.response).result
            profile = self.params.get("IamInstanceProfile") or {}
            for instance in reservation.instances[1:] if profile else []:
                self.backend.associate_iam_instance_profile(
                    instance_id=instance.id, iam_instance_profile_name=profile.get("Name"), iam_instance_profile_arn=profile.get("Arn")
                )
        finally:
            self.world.machines.show_all = False
        return reservation

    def _settle(self, reservation, market):
        for instance in reservation.instances:
            machine = self.world.machines.known[instance.id]
            machine.market = market
            instance.disable_api_termination = bool(self.params.get("DisableApiTermination"))
            instance._state.name, instance._state.code = "pending", 0
            if market == "spot":
                options = self._options().get("SpotOptions") or {}
                request = spot.open_request(machine, self._max_price(), options.get("SpotInstanceType", "one-time"))
                request.add_tags(self.response._parse_tag_specification().get("spot-instances-request", {}))

    def _again(self, reservation_id):
        reservation = self.backend.reservations.get(reservation_id)
        machines = [self.world.machines.known.get(i.id) for i in reservation.instances] if reservation else []
        if not machines or any(m is None or m.state_at(self.now) == "terminated" for m in machines):
            raise errors.AwsError(
                "IdempotentInstanceTerminated",
                "The request to launch an instance uses the same client token as a previous request for which the instance has "
                "been terminated.",
            )
        return ActionResult(reservation)


def terminate(world, response):
    """All or nothing, except for protection: that holds back the instances of its own zone only, as at EC2."""
    ids = list(dict.fromkeys(response._get_param("InstanceIds", [])))
    for name in ids:
        if not INSTANCE_ID.match(name):
            raise errors.AwsError("InvalidInstanceID.Malformed", f"Invalid id: \"{name}\"")
    if not ids:
        raise errors.AwsError("MissingParameter", "The request must contain the parameter InstanceId")
    instances = response.ec2_backend.get_multi_instances_by_id(ids)
    response.error_on_dryrun()
    now = time.time()
    machines = [world.machines.known[i.id] for i in instances]
    protected = [m for m in machines if m.instance.disable_api_termination is True and m.holds_capacity(now)]
    zones = {m.zone for m in protected}
    result = []
    for machine in machines:
        before = machine.state_at(now)
        if machine.zone not in zones:
            machine.end(now, world.settings.now["clocks"])
            after = machine.state_at(now)
            result.append({"InstanceId": machine.id, "PreviousState": state(before), "CurrentState": state(after)})
    if protected:
        raise errors.AwsError(
            "OperationNotPermitted",
            f"The instance '{protected[0].id}' may not be terminated. Modify its 'disableApiTermination' instance attribute and try again.",
        )
    return ActionResult({"TerminatingInstances": result})


def state(name):
    return {"Code": clocks.CODES[name], "Name": name}
