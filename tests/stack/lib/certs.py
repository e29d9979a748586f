"""The certificates of one stack: a CA, the API server, three clients, the service-account keys."""

import pathlib
import subprocess

from pins import StackError

CLIENTS = {
    "admin": "/O=system:masters/CN=admin",
    "controller-manager": "/CN=system:kube-controller-manager",
    "scheduler": "/CN=system:kube-scheduler",
}
DAYS = "3650"


def _openssl(*argv, stdin=None):
    try:
        done = subprocess.run(["openssl", *map(str, argv)], input=stdin, capture_output=True, text=True)
    except FileNotFoundError:
        raise StackError("openssl: command not found; tests/stack/prepare installs it") from None
    if done.returncode != 0:
        raise StackError(f"openssl {argv[0]}: {done.stderr.strip()}")


def _key(path):
    _openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", path)
    path.chmod(0o600)


def signed(pki, name, subject, extensions):
    """NAME.key and NAME.crt beside the CA that signs it."""
    _key(pki / f"{name}.key")
    _openssl("req", "-new", "-key", pki / f"{name}.key", "-subj", subject, "-out", pki / f"{name}.csr")
    (pki / f"{name}.ext").write_text(extensions)
    _openssl("x509", "-req", "-in", pki / f"{name}.csr", "-CA", pki / "ca.crt", "-CAkey", pki / "ca.key",
             "-CAcreateserial", "-days", DAYS, "-extfile", pki / f"{name}.ext", "-out", pki / f"{name}.crt")
    (pki / f"{name}.csr").unlink()
    (pki / f"{name}.ext").unlink()


def make(pki):
    """Fills an empty directory; the keys are readable for their owner alone."""
    pki = pathlib.Path(pki)
    pki.mkdir(mode=0o700, parents=True, exist_ok=True)
    _key(pki / "ca.key")
    _openssl("req", "-x509", "-new", "-key", pki / "ca.key", "-days", DAYS, "-subj", "/CN=drover-stack-ca",
             "-addext", "keyUsage=critical,keyCertSign,cRLSign,digitalSignature", "-out", pki / "ca.crt")
    signed(pki, "server", "/CN=kube-apiserver",
            "subjectAltName=DNS:localhost,DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc,"
            "IP:127.0.0.1,IP:10.43.0.1\nextendedKeyUsage=serverAuth\n")
    for name, subject in CLIENTS.items():
        signed(pki, name, subject, "extendedKeyUsage=clientAuth\n")
    # Service-account tokens are signed with RSA, as K3s does.
    _openssl("genrsa", "-out", pki / "sa.key", "2048")
    (pki / "sa.key").chmod(0o600)
    _openssl("rsa", "-in", pki / "sa.key", "-pubout", "-out", pki / "sa.pub")


def kubeconfig(path, server, pki, client):
    """A kubeconfig for one of the clients; it refers to the files by absolute path."""
    pki = pathlib.Path(pki).resolve()
    path.write_text(f"""apiVersion: v1
kind: Config
clusters:
- name: stack
  cluster:
    server: {server}
    certificate-authority: {pki}/ca.crt
users:
- name: {client}
  user:
    client-certificate: {pki}/{client}.crt
    client-key: {pki}/{client}.key
contexts:
- name: stack
  context:
    cluster: stack
    user: {client}
current-context: stack
""")
    path.chmod(0o600)
