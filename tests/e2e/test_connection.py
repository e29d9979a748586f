"""Ways to reach the API server: by the tags of its machine, through a proxy, with a token from SSM, by a kubeconfig."""

import json
import select
import shutil
import socket
import socketserver
import threading

import certs
from client.kube import wait_for
from gate import Gate
from world import EndToEnd


class Tunnel(socketserver.StreamRequestHandler):
    """CONNECT, as a proxy of a company answers it; every host is one place here."""

    def handle(self):
        self.server.asked.append(self.rfile.readline().decode().split()[1])
        while self.rfile.readline().strip():
            pass
        self.wfile.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        with socket.create_connection(("127.0.0.1", self.server.port_behind)) as behind:
            pair = {self.connection: behind, behind: self.connection}
            while True:
                for side in select.select(list(pair), [], [])[0]:
                    part = side.recv(65536)
                    if not part:
                        return
                    pair[side].sendall(part)


class Proxy(socketserver.ThreadingTCPServer):
    daemon_threads = True

    def __init__(self, port_behind):
        super().__init__(("127.0.0.1", 0), Tunnel)
        self.asked, self.port_behind = [], port_behind
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()


class Connection(EndToEnd):
    def works(self, program):
        """A pass reads the cluster: a worker comes, and is known to have joined."""
        self.ticks(program, lambda: (len(self.nodes(ready=True)) == 1 and self.settled()[0], self.settled()), "one worker")

    def test_server_is_found_by_its_tags_and_reached_through_a_proxy(self):
        server = self.launch(tags={"drover.dev/role": "server", "stack.drover.dev/join": "never"})
        wait_for(lambda: self.instances("running", id=server), "a server that runs")
        address = self.instances(id=server)[0]["private_ip"]
        pki = self.dir / "pki"
        shutil.copytree(self.stack.dir / "pki", pki, dirs_exist_ok=True)
        certs.signed(pki, "found", "/CN=kube-apiserver", f"subjectAltName=IP:{address}\nextendedKeyUsage=serverAuth\n")
        gate = Gate("kubernetes", self.stack.env["STACK_APISERVER_URL"], cafile=str(pki / "ca.crt"),
                    cert=(str(pki / "found.crt"), str(pki / "found.key")))
        self.addCleanup(gate.shut)
        proxy = Proxy(gate.port)
        self.addCleanup(proxy.server_close)
        self.addCleanup(proxy.shutdown)
        program = self.program(minWorkers=1, kubernetes={"endpoint": "https://{server}:6443"})
        program.environment["HTTPS_PROXY"] = f"http://127.0.0.1:{proxy.server_address[1]}"
        self.works(program)
        self.assertEqual(set(proxy.asked), {f"{address}:6443"})
        self.assertTrue(gate.seen("list nodes"))
        self.assertIn(address, program("check").out)

    def test_no_server_with_the_tags_is_said_with_the_tags(self):
        program = self.program(kubernetes={"endpoint": "https://{server}:6443", "serverTags": ["Name=nobody"]})
        for command in ("tick", "check"):
            result = program(command)
            self.assertEqual(result.code, 1, result)
            self.assertIn("kubernetes.serverTags", result.out + result.err)

    def test_token_from_ssm_is_taken_and_never_told(self):
        token = self.shared.token_file.read_text()
        name = f"/{self.account['cluster']}/token"
        self.person("ssm").put_parameter(Name=name, Value=token, Type="SecureString", Overwrite=True)
        program = self.program(minWorkers=1, kubernetes={"token": f"ssm:{name}"})
        self.works(program)
        self.assertTrue(self.calls("GetParameter"))
        said = "".join(f.read_text() for f in self.dir.glob("*.log")) + program("config").out + program("check").out
        self.assertNotIn(token, said)

    def test_kubeconfig_with_several_contexts(self):
        ca = str((self.stack.dir / "pki/ca.crt").resolve())
        config = {
            "apiVersion": "v1", "kind": "Config", "current-context": "wrong",
            "clusters": [{"name": "stack", "cluster": {"server": self.gates.kubernetes.url, "certificate-authority": ca}},
                         {"name": "elsewhere", "cluster": {"server": "https://127.0.0.1:1"}}],
            "users": [{"name": "drover", "user": {"tokenFile": str(self.shared.token_file.resolve())}}],
            "contexts": [{"name": "wrong", "context": {"cluster": "elsewhere", "user": "drover"}},
                         {"name": "right", "context": {"cluster": "stack", "user": "drover"}}],
        }
        file = self.dir / "kubeconfig"
        file.write_text(json.dumps(config))
        ways = {"endpoint": None, "token": None, "caFile": None, "kubeconfig": str(file)}
        self.assertEqual(self.program("wrong", kubernetes=ways)("check").code, 1)
        self.works(self.program(minWorkers=1, kubernetes={**ways, "context": "right"}))
