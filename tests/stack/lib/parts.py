"""What a stack consists of: how each part is started and how it is asked whether it is ready."""

import os
import pathlib

from ask import ask, ask_json
from pins import STACK, versions


class Part:
    """ports: names of the ports it takes (the first is its address). needs: what must be built.
    after: parts that must be ready first. argv(ctx): its command. ready(ctx): (yes, what was seen)."""

    def __init__(self, name, ports, needs, after, argv, ready, env=None, program=None):
        self.name, self.ports, self.needs, self.after = name, ports, needs, after
        self.argv, self.ready, self.env, self.program = argv, ready, env, program


class Context:
    """Where one stack lives and which ports it has."""

    def __init__(self, directory, cache, ports, options):
        self.dir, self.cache, self.ports, self.options = pathlib.Path(directory), pathlib.Path(cache), ports, options

    def url(self, name, scheme="http"):
        return f"{scheme}://127.0.0.1:{self.ports[name]}"

    def address(self, name):
        return f"127.0.0.1:{self.ports[name]}"

    def pki(self, name):
        return self.dir / "pki" / name

    def program(self, part, name=None):
        return self.cache / part / (name or part)

    @property
    def python(self):
        return self.cache / "python" / "bin" / "python"

    def kube(self, path, **options):
        return ask(self.url("apiserver", "https") + path, ca=self.pki("ca.crt"),
                   cert=(self.pki("admin.crt"), self.pki("admin.key")), **options)


# -- control plane ----------------------------------------------------------------------------

def etcd_argv(ctx):
    client, peer = ctx.url("etcd"), ctx.url("etcd-peer")
    # The data of a test stack need not survive a power cut.
    return [ctx.program("etcd"), "--data-dir", ctx.dir / "etcd", "--listen-client-urls", client,
            "--advertise-client-urls", client, "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
            "--initial-cluster", f"default={peer}", "--unsafe-no-fsync", "--log-level", "warn"]


def etcd_ready(ctx):
    status, text = ask(ctx.url("etcd") + "/health")
    return status == 200 and '"true"' in text, text


def apiserver_argv(ctx):
    return [ctx.program("kubernetes", "kube-apiserver"), f"--etcd-servers={ctx.url('etcd')}",
            "--bind-address=127.0.0.1", f"--secure-port={ctx.ports['apiserver']}", "--advertise-address=127.0.0.1",
            "--endpoint-reconciler-type=none", "--service-cluster-ip-range=10.43.0.0/16",
            f"--tls-cert-file={ctx.pki('server.crt')}", f"--tls-private-key-file={ctx.pki('server.key')}",
            f"--client-ca-file={ctx.pki('ca.crt')}", f"--service-account-key-file={ctx.pki('sa.pub')}",
            f"--service-account-signing-key-file={ctx.pki('sa.key')}",
            "--service-account-issuer=https://kubernetes.default.svc", "--authorization-mode=Node,RBAC"]


def apiserver_ready(ctx):
    status, text = ctx.kube("/readyz")
    return status == 200, text


def controller_manager_argv(ctx):
    config = ctx.dir / "controller-manager.kubeconfig"
    grace = ctx.options["node_grace_sec"]
    return [ctx.program("kubernetes", "kube-controller-manager"), f"--kubeconfig={config}",
            f"--authentication-kubeconfig={config}", f"--authorization-kubeconfig={config}", "--leader-elect=false",
            f"--service-account-private-key-file={ctx.pki('sa.key')}", f"--root-ca-file={ctx.pki('ca.crt')}",
            f"--cluster-signing-cert-file={ctx.pki('ca.crt')}", f"--cluster-signing-key-file={ctx.pki('ca.key')}",
            "--use-service-account-credentials", "--allocate-node-cidrs", "--cluster-cidr=10.42.0.0/16",
            f"--node-monitor-grace-period={grace}s", "--node-monitor-period=2s",
            "--bind-address=127.0.0.1", f"--secure-port={ctx.ports['controller-manager']}"]


def controller_manager_ready(ctx):
    status, text = ask(ctx.url("controller-manager", "https") + "/healthz")
    if status != 200:
        return False, text
    # It is of use once it has made what every pod needs.
    status, text = ctx.kube("/api/v1/namespaces/default/serviceaccounts/default")
    return status == 200, f"service account default/default: {status}"


def scheduler_argv(ctx):
    config = ctx.dir / "scheduler.kubeconfig"
    return [ctx.program("kubernetes", "kube-scheduler"), f"--kubeconfig={config}",
            f"--authentication-kubeconfig={config}", f"--authorization-kubeconfig={config}", "--leader-elect=false",
            "--bind-address=127.0.0.1", f"--secure-port={ctx.ports['scheduler']}"]


def scheduler_ready(ctx):
    status, text = ask(ctx.url("scheduler", "https") + "/readyz")
    return status == 200, text


# -- nodes without machines -------------------------------------------------------------------

ALIVE_LABEL = "stack.drover.dev/machine=alive"
STAGES = ("node/fast/node-initialize.yaml", "node/heartbeat-with-lease/node-heartbeat-with-lease.yaml",
          "pod/fast/pod-ready.yaml", "pod/fast/pod-complete.yaml")


def write_stages(ctx):
    """KWOK's own stages, but with our way for a pod to end (see kwok/pod-delete.yaml)."""
    texts = [(ctx.cache / "kwok/stage" / name).read_text() for name in STAGES]
    texts.append((STACK / "kwok/pod-delete.yaml").read_text())
    (ctx.dir / "kwok.yaml").write_text("\n---\n".join(texts))


def kwok_argv(ctx):
    write_stages(ctx)
    lease = max(4, min(40, ctx.options["node_grace_sec"]))
    return [ctx.program("kwok"), "--kubeconfig", ctx.dir / "kubeconfig", "--config", ctx.dir / "kwok.yaml",
            "--manage-nodes-with-label-selector", ALIVE_LABEL, "--node-lease-duration-seconds", str(lease),
            "--server-address", ctx.address("kwok"), "--node-ip", "127.0.0.1", "--node-port", str(ctx.ports["kwok"])]


def kwok_ready(ctx):
    status, text = ask(ctx.url("kwok") + "/healthz")
    return status == 200, text


# -- metrics ----------------------------------------------------------------------------------

def kube_state_metrics_argv(ctx):
    return [ctx.program("kube-state-metrics"), "--kubeconfig", ctx.dir / "kubeconfig", "--host", "127.0.0.1",
            "--port", str(ctx.ports["kube-state-metrics"]), "--telemetry-host", "127.0.0.1",
            "--telemetry-port", str(ctx.ports["kube-state-metrics-telemetry"]),
            "--resources=nodes,pods,deployments,poddisruptionbudgets"]


def kube_state_metrics_ready(ctx):
    # Its pages of metrics are empty while there are no objects; these two ask the API server.
    for url in (ctx.url("kube-state-metrics") + "/livez", ctx.url("kube-state-metrics-telemetry") + "/readyz"):
        status, text = ask(url)
        if status != 200:
            return False, text
    return True, ""


def prometheus_argv(ctx):
    config = ctx.dir / "prometheus.yml"
    config.write_text(f"""global:
  scrape_interval: {ctx.options['scrape_sec']}s
  scrape_timeout: {ctx.options['scrape_sec']}s
  evaluation_interval: 5s
scrape_configs:
- job_name: node
  # One exporter speaks for all nodes: its instance label is the node's, not the exporter's.
  honor_labels: true
  static_configs:
  - targets: ['{ctx.address('exporter')}']
- job_name: kube-state-metrics
  honor_labels: true
  static_configs:
  - targets: ['{ctx.address('kube-state-metrics')}']
""")
    return [ctx.program("prometheus"), f"--config.file={config}", f"--storage.tsdb.path={ctx.dir / 'prometheus'}",
            f"--web.listen-address={ctx.address('prometheus')}", "--storage.tsdb.retention.time=1d",
            "--web.enable-admin-api", "--log.level=warn"]


def prometheus_ready(ctx):
    status, text = ask(ctx.url("prometheus") + "/-/ready")
    if status != 200:
        return False, text
    status, answer = ask_json(ctx.url("prometheus") + "/api/v1/targets?state=active")
    if status != 200 or not isinstance(answer, dict):
        return False, str(answer)
    targets = answer["data"]["activeTargets"]
    seen = ", ".join(f"{t['labels']['job']} {t['health']} {t['lastError']}".strip() for t in targets)
    return len(targets) == 2 and all(t["health"] == "up" for t in targets), seen


def exporter_argv(ctx):
    return [ctx.python, STACK / "load/exporter.py", "--port", str(ctx.ports["exporter"])]


def exporter_ready(ctx):
    status, text = ask(ctx.url("exporter") + "/metrics")
    return status == 200, text[:100]


# -- cloud ------------------------------------------------------------------------------------

def aws_argv(ctx):
    return [ctx.python, STACK / "aws/emulator.py", "--port", str(ctx.ports["aws"]), "--state-dir", ctx.dir / "aws"]


def aws_ready(ctx):
    status, text = ask(ctx.url("aws") + "/drover/ready")
    return status == 200, text[:200]


def dynamodb_argv(ctx):
    return [ctx.program("dynoxide"), "--host", "127.0.0.1", "--port", str(ctx.ports["dynamodb"])]


def list_tables(url):
    status, text = ask(url, method="POST", body="{}", headers={
        "Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": "DynamoDB_20120810.ListTables",
        "X-Amz-Date": "20200101T000000Z",
        "Authorization": "AWS4-HMAC-SHA256 Credential=stack/20200101/us-east-1/dynamodb/aws4_request, "
                         "SignedHeaders=host, Signature=0"})
    return status == 200 and "TableNames" in text, text[:200]


def dynamodb_ready(ctx):
    return list_tables(ctx.url("dynamodb") + "/")


# -- fault proxies ----------------------------------------------------------------------------

def proxy(name, target, extra, check):
    listen, control = f"{name}-proxy", f"{name}-proxy-control"

    def argv(ctx):
        return [ctx.python, STACK / "proxy/proxy.py", "--listen", str(ctx.ports[listen]), "--target",
                ctx.address(target), "--control", str(ctx.ports[control]), *extra]

    def ready(ctx):
        return check(ctx, listen)

    return Part(listen, [listen, control], ["python"], [target], argv, ready, program=STACK / "proxy/proxy.py")


def prometheus_proxy_ready(ctx, port):
    status, text = ask(ctx.url(port) + "/-/ready")
    return status == 200, text[:100]


def apiserver_proxy_ready(ctx, port):
    status, text = ask(ctx.url(port, "https") + "/readyz", ca=ctx.pki("ca.crt"),
                       cert=(ctx.pki("admin.crt"), ctx.pki("admin.key")))
    return status == 200, text[:100]


# -- boot glue --------------------------------------------------------------------------------

def glue_argv(ctx):
    return [ctx.python, STACK / "glue/glue.py", "--kubeconfig", ctx.dir / "kubeconfig", "--aws", ctx.url("aws"),
            "--port", str(ctx.ports["glue"]), "--boot-seconds", str(ctx.options["boot_sec"]),
            "--kubernetes-version", versions()["KUBERNETES_VERSION"]]


def glue_ready(ctx):
    status, text = ask(ctx.url("glue") + "/ready")
    return status == 200, text[:200]


def quiet_python(ctx):
    """Python parts of ours write their log line by line and leave no byte code in the clone."""
    return dict(os.environ, PYTHONUNBUFFERED="1", PYTHONDONTWRITEBYTECODE="1", AWS_ACCESS_KEY_ID="stack",
                AWS_SECRET_ACCESS_KEY="stack", AWS_DEFAULT_REGION=ctx.options["region"], AWS_EC2_METADATA_DISABLED="true")


def small_go(_ctx):
    """Trades processor time, of which a small cluster needs little, for memory."""
    return dict(os.environ, GOGC="50")


def all_parts():
    parts = [
        Part("etcd", ["etcd", "etcd-peer"], ["etcd"], [], etcd_argv, etcd_ready),
        Part("aws", ["aws"], ["python"], [], aws_argv, aws_ready, program=STACK / "aws/emulator.py"),
        Part("dynamodb", ["dynamodb"], ["dynoxide"], [], dynamodb_argv, dynamodb_ready),
        Part("exporter", ["exporter"], ["python"], [], exporter_argv, exporter_ready, program=STACK / "load/exporter.py"),
        Part("apiserver", ["apiserver"], ["kubernetes"], ["etcd"], apiserver_argv, apiserver_ready),
        Part("controller-manager", ["controller-manager"], ["kubernetes"], ["apiserver"], controller_manager_argv,
             controller_manager_ready),
        Part("scheduler", ["scheduler"], ["kubernetes"], ["apiserver"], scheduler_argv, scheduler_ready),
        Part("kwok", ["kwok"], ["kwok"], ["apiserver"], kwok_argv, kwok_ready),
        Part("kube-state-metrics", ["kube-state-metrics", "kube-state-metrics-telemetry"], ["kube-state-metrics"],
             ["apiserver"], kube_state_metrics_argv, kube_state_metrics_ready),
        Part("prometheus", ["prometheus"], ["prometheus"], ["exporter", "kube-state-metrics"], prometheus_argv,
             prometheus_ready),
        proxy("dynamodb", "dynamodb", [], lambda ctx, port: list_tables(ctx.url(port) + "/")),
        proxy("prometheus", "prometheus", [], prometheus_proxy_ready),
        proxy("apiserver", "apiserver", ["--tls"], apiserver_proxy_ready),
        Part("glue", ["glue"], ["python"], ["apiserver", "aws", "kwok"], glue_argv, glue_ready,
             program=STACK / "glue/glue.py"),
    ]
    for part in parts:
        if part.program is not None:
            part.env = quiet_python
        elif part.name != "dynamodb":
            part.env = small_go
    return parts
