"""Which permissions a request needs: (action, resource, context) triples, all of which must be allowed.

RunInstances is checked against every resource that it touches, CreateTags for tags at
creation and iam:PassRole for the profile's role, as the real service does. Services
that drover does not call are not modelled: their resource is None, only the action counts.
"""

import re

from moto.ec2.models import ec2_backends
from moto.iam.models import iam_backends
from moto.secretsmanager.models import secretsmanager_backends

SERVICE_PREFIX = {"monitoring": "cloudwatch"}
BY_ID_PREFIX = {
    "i": "instance", "vol": "volume", "eni": "network-interface", "subnet": "subnet", "sg": "security-group",
    "vpc": "vpc", "lt": "launch-template", "ami": "image", "sir": "spot-instances-request",
}


def of(call, account):
    """The triples for `call`, made by anybody of `account`."""
    service = SERVICE_PREFIX.get(call.service, call.service)
    action = f"{service}:{call.action}"
    if service == "sqs":
        action = action.removesuffix("Batch")  # the permission of the single call covers its batch
    # The emulator stands for endpoints that only speak TLS.
    context = {"aws:requestedregion": [call.region], "aws:securetransport": ["true"]}
    finder = FINDERS.get(service)
    if finder is None:
        return [(action, None, context)]
    return [(a, r, {**context, **c}) for a, r, c in finder(call, account, action)]


def numbered(params, prefix):
    """Values of prefix.1, prefix.2, ... in order."""
    found = [(int(k[len(prefix) + 1 :]), v) for k, v in params.items() if re.fullmatch(re.escape(prefix) + r"\.\d+", k)]
    return [v for _, v in sorted(found)]


def tag_context(tags, name="aws:requesttag/"):
    context = {f"{name}{k.lower()}": [v] for k, v in tags.items()}
    if name == "aws:requesttag/" and tags:
        context["aws:tagkeys"] = list(tags)
    return context


def owned_tags(backend, resource_id):
    tags = backend.tags.get(resource_id, {})
    return {**tag_context(tags, "aws:resourcetag/"), **tag_context(tags, "ec2:resourcetag/")}


def ec2(call, account, action):
    backend = ec2_backends[account][call.region]
    if call.action == "RunInstances":
        return run_instances(call, account, backend)
    if call.action == "CreateTags":
        tags = dict(zip(numbered_field(call.params, "Tag", "Key"), numbered_field(call.params, "Tag", "Value")))
        ids = numbered(call.params, "ResourceId")
        return [(action, arn_of(call.region, account, i), {**tag_context(tags), **owned_tags(backend, i)}) for i in ids]
    ids = numbered(call.params, "InstanceId") or [v for k, v in call.params.items() if k == "InstanceId"]
    if ids and not call.action.startswith("Describe"):
        return [(action, arn_of(call.region, account, i), instance_context(backend, i)) for i in ids]
    return [(action, "*", {})]


def numbered_field(params, prefix, field):
    found = []
    for key, value in params.items():
        match = re.fullmatch(rf"{prefix}\.(\d+)\.{field}", key)
        if match:
            found.append((int(match.group(1)), value))
    return [v for _, v in sorted(found)]


def arn_of(region, account, resource_id):
    kind = BY_ID_PREFIX.get(resource_id.split("-")[0], "instance")
    owner = "" if kind == "image" else account
    return f"arn:aws:ec2:{region}:{owner}:{kind}/{resource_id}"


def instance_context(backend, instance_id):
    context = owned_tags(backend, instance_id)
    for reservation in backend.reservations.values():
        for instance in reservation.instances:
            if instance.id == instance_id:
                context["ec2:instancetype"] = [instance.instance_type]
                context["ec2:availabilityzone"] = [instance._placement.zone]
    return context


def tag_specifications(params):
    """{resource type: {key: value}} from TagSpecification.n.* of a query."""
    result = {}
    kinds = {k.split(".")[1]: v for k, v in params.items() if re.fullmatch(r"TagSpecification\.\d+\.ResourceType", k)}
    for number, kind in kinds.items():
        start = f"TagSpecification.{number}.Tag"
        keys, values = (numbered_field(params, re.escape(start), f) for f in ("Key", "Value"))
        result.setdefault(kind, {}).update(zip(keys, values))
    return result


def run_instances(call, account, backend):
    params, region = call.params, call.region
    template, template_id = template_data(params, backend)
    tags = tag_specifications(params)
    for spec in template.get("TagSpecifications", []):
        own = {t["Key"]: t["Value"] for t in spec.get("Tags", [])}
        tags[spec["ResourceType"]] = {**own, **tags.get(spec["ResourceType"], {})}
    market = params.get("InstanceMarketOptions.MarketType") or (template.get("InstanceMarketOptions") or {}).get("MarketType")
    shared = {"ec2:instancemarkettype": [market or "on-demand"]}
    if template_id:
        shared["ec2:launchtemplate"] = [f"arn:aws:ec2:{region}:{account}:launch-template/{template_id}"]
    kind = params.get("InstanceType") or template.get("InstanceType")
    made = {"instance": {"ec2:instancetype": [kind or "m1.small"]}, "volume": {}, "network-interface": {}}
    if market == "spot":
        made["spot-instances-request"] = {}
    needed = []
    for name, context in made.items():
        arn = f"arn:aws:ec2:{region}:{account}:{name}/*"
        tagged = tag_context(tags.get(name, {}))
        needed.append(("ec2:RunInstances", arn, {**shared, **context, **tagged}))
        if tags.get(name):
            needed.append(("ec2:CreateTags", arn, {"ec2:createaction": ["RunInstances"], **tagged}))
    for used in used_resources(params, template, template_id):
        needed.append(("ec2:RunInstances", arn_of(region, account, used), {**shared, **owned_tags(backend, used)}))
    return needed + pass_role(params, template, account)


def template_data(params, backend):
    names = {k.split(".")[1]: v for k, v in params.items() if k.startswith("LaunchTemplate.")}
    if not names:
        return {}, None
    try:
        version = backend._get_template_from_args(names)
    except Exception:  # noqa: BLE001 - an unknown template is moto's to refuse
        return {}, None
    return version.data, version.template.id


def used_resources(params, template, template_id):
    used = [params.get("ImageId") or template.get("ImageId"), params.get("SubnetId"), template_id]
    used += numbered(params, "SecurityGroupId") or template.get("SecurityGroupIds") or []
    for nic in template.get("NetworkInterfaces") or []:
        used += [nic.get("SubnetId")] + (nic.get("Groups") or [])
    return [u for u in used if u]


def pass_role(params, template, account):
    profile = template.get("IamInstanceProfile") or {}
    name = params.get("IamInstanceProfile.Name") or profile.get("Name")
    arn = params.get("IamInstanceProfile.Arn") or profile.get("Arn")
    if not (name or arn):
        return []
    name = name or arn.split("/")[-1]
    for known in iam_backends[account]["aws"].instance_profiles.values():
        if known.name == name and known.roles:
            return [("iam:PassRole", known.roles[0].arn, {"iam:passedtoservice": ["ec2.amazonaws.com"]})]
    return []


def sqs(call, account, action):
    url = call.params.get("QueueUrl", "")
    name = url.split("/")[-1] or call.params.get("QueueName", "*")
    action = action.removesuffix("Batch")  # IAM knows no actions for batches: the single one's counts
    return [(action, f"arn:aws:sqs:{call.region}:{account}:{name}", {})]


def sns(call, account, action):
    return [(action, call.params.get("TopicArn", "*"), {})]


def ssm(call, account, action):
    names = call.params.get("Names") or [call.params.get("Name") or call.params.get("Path") or "*"]
    return [(action, f"arn:aws:ssm:{call.region}:{account}:parameter/{n.lstrip('/')}" if n != "*" else "*", {}) for n in names]


def secretsmanager(call, account, action):
    name = call.params.get("SecretId", "*")
    for secret in secretsmanager_backends[account][call.region].secrets.values():
        if name in (secret.name, secret.arn):
            return [(action, secret.arn, {})]
    return [(action, name if name.startswith("arn:") else f"arn:aws:secretsmanager:{call.region}:{account}:secret:{name}", {})]


def cloudwatch(call, _account, action):
    namespace = call.params.get("Namespace")
    return [(action, "*", {"cloudwatch:namespace": [namespace]} if namespace else {})]


def sts(call, _account, action):
    return [(action, call.params.get("RoleArn", "*"), {})]


FINDERS = {
    "ec2": ec2, "sqs": sqs, "sns": sns, "ssm": ssm, "secretsmanager": secretsmanager, "cloudwatch": cloudwatch, "sts": sts,
}
