"""Signature V4 against the published vectors and, with odd requests, against botocore. Needs no stack, only its Python."""

import datetime
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tarfile
import tempfile
import unittest
from unittest import mock
from urllib.parse import quote

import botocore
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

ROOT = pathlib.Path(__file__).resolve().parents[2]
# The source package of botocore carries the public suite; it is fetched here, not copied into this tree.
SUITE = "tests/unit/auth/aws4_testsuite"
REQUESTS = 5000


def tool():
    given = os.environ.get("DROVER_SIGV4_TOOL")
    if given:
        return given
    subprocess.run([str(ROOT / "scripts/build"), "release", "tool_sigv4"], check=True)
    return str(ROOT / "build/release/tool_sigv4")


def sign(requests):
    """The tool's answers to a list of requests, in their order."""
    lines = "".join(json.dumps(r, ensure_ascii=r["ascii"]) + "\n" for r in requests)
    done = subprocess.run([tool()], input=lines.encode(), stdout=subprocess.PIPE, check=True)
    answers = [json.loads(line) for line in done.stdout.decode().splitlines()]
    assert len(answers) == len(requests), f"{len(answers)} answers to {len(requests)} requests"
    return answers


def millis(moment):
    return int(moment.replace(tzinfo=datetime.timezone.utc).timestamp() * 1000)


class Vectors(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        """Name of a vector -> ending of a file -> its text."""
        cls.suite = {}
        package = f"botocore-{botocore.__version__}"
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-deps", "--no-binary", "botocore",
                            "-d", folder, f"botocore=={botocore.__version__}"], check=True)
            with tarfile.open(pathlib.Path(folder) / f"{package}.tar.gz") as archive:
                for member in archive:
                    path = pathlib.PurePosixPath(member.name)
                    if member.isfile() and member.name.startswith(f"{package}/{SUITE}/") and path.suffix in (".req", ".creq", ".authz", ".sreq"):
                        text = archive.extractfile(member).read().decode().replace("\r\n", "\n")
                        cls.suite.setdefault(path.stem, {})[path.suffix] = text

    def request(self, files):
        head, _, body = files[".req"].partition("\n\n")
        first, *lines = head.split("\n")
        method, target = first.rsplit(" ", 1)[0].split(" ", 1)
        path, _, query = target.partition("?")
        headers = []
        for line in lines:
            if line.startswith((" ", "\t")):
                headers[-1][1] += "\n" + line  # a value on several lines
            elif line:
                headers.append(line.split(":", 1))
        token = re.search("^x-amz-security-token:(.*)$", files[".sreq"], re.IGNORECASE | re.MULTILINE)
        if "x-amz-security-token" in files[".authz"] and "token" not in files[".req"].lower():
            headers.append(["X-Amz-Security-Token", token[1]])  # the signer is to add it
        return {"method": method, "path": path, "query": query, "headers": headers, "body": body,
                "time": millis(datetime.datetime(2015, 8, 30, 12, 36)), "access_key": "AKIDEXAMPLE",
                "secret_key": "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "region": "us-east-1", "service": "service", "ascii": True}

    def test_every_vector_has_its_canonical_request_and_signature(self):
        self.assertGreaterEqual(len(self.suite), 34)
        answers = sign([self.request(files) for files in self.suite.values()])
        for (name, files), answer in zip(self.suite.items(), answers):
            with self.subTest(name):
                self.assertEqual(answer["canonical"], files[".creq"])
                self.assertEqual(answer["authorization"], files[".authz"].strip())


class Differential(unittest.TestCase):
    ALPHABET = "abzABZ019-_.~ /?&=+%:;,@!$'()*[]{}|\\^`\"<>#\t äßሴ中😀\u0301\u200b"

    def setUp(self):
        self.seed = int(os.environ.get("SIGV4_SEED", random.SystemRandom().randrange(1 << 32)))
        self.random = random.Random(self.seed)

    def word(self, most):
        return "".join(self.random.choice(self.ALPHABET) for _ in range(self.random.randrange(most + 1)))

    def path(self):
        r = self.random
        parts = [r.choice(["", ".", "..", "a", "...", quote(self.word(5), safe=""), quote(quote(self.word(3), safe=""), safe="")])
                 for _ in range(r.randrange(6))]
        return "/" + "/".join(parts)

    def query(self):
        """Escaped pairs: repeated names, empty values, no '=' at all, escapes of escapes."""
        r, names = self.random, [self.word(3) for _ in range(3)]
        pairs = []
        for _ in range(r.randrange(8)):
            name = quote(r.choice(names) or "n", safe="-_.~")
            value = quote(r.choice([self.word(6), "", quote(self.word(3), safe="")]), safe="-_.~")
            pairs.append(r.choice([f"{name}={value}", f"{name}=", name]) if r.random() < 0.3 else f"{name}={value}")
        return "&".join(pairs)

    def headers(self):
        """Repeated names in mixed case, blanks at both ends and in runs."""
        r = self.random
        found = []
        for name in r.sample(["X-Amz-Target", "content-type", "My-Header", "my-header", "X-a", "X-A-b", "MY-HEADER"], r.randrange(6)):
            value = "".join(r.choice("ab1 \t,;=\"") for _ in range(r.randrange(12)))
            found.append([name, value])
        return found

    def case(self):
        r = self.random
        moment = datetime.datetime(2001, 1, 1) + datetime.timedelta(seconds=r.randrange(3_000_000_000))
        return {"method": r.choice(["GET", "POST", "PUT", "DELETE", "HEAD"]), "path": self.path(), "query": self.query(),
                "headers": self.headers(), "body": r.choice(["", self.word(40), json.dumps({self.word(4): self.word(9)})]),
                "token": r.choice([None, "t/o+k=en"]), "moment": moment, "time": millis(moment) + r.randrange(1000),
                "access_key": "AKID" + str(r.randrange(1000)), "secret_key": "s/" + self.word(20).strip().encode("ascii", "ignore").decode(),
                "region": r.choice(["us-east-1", "eu-west-3", "cn-north-1"]), "service": r.choice(["ec2", "dynamodb", "sqs", "sts"]),
                "ascii": r.random() < 0.5}

    def expected(self, case):
        url = f"https://example.amazonaws.com{case['path']}" + (f"?{case['query']}" if case["query"] else "")
        request = AWSRequest(method=case["method"], url=url, data=case["body"].encode())
        for name, value in case["headers"]:
            request.headers.add_header(name, value)
        signer = SigV4Auth(Credentials(case["access_key"], case["secret_key"], case["token"]), case["service"], case["region"])
        with mock.patch("botocore.auth.get_current_datetime", return_value=case["moment"]):
            signer.add_auth(request)
        return request.headers["Authorization"], signer.canonical_request(request)

    def test_odd_requests_are_signed_as_botocore_signs_them(self):
        cases = [self.case() for _ in range(REQUESTS)]
        asked = []
        for case in cases:
            headers = case["headers"] + [["Host", "example.amazonaws.com"], ["X-Amz-Date", case["moment"].strftime("%Y%m%dT%H%M%SZ")]]
            headers += [["X-Amz-Security-Token", case["token"]]] if case["token"] else []
            asked.append({k: v for k, v in case.items() if k not in ("moment", "token")} | {"headers": headers})
        for case, answer in zip(cases, sign(asked)):
            authorization, canonical = self.expected(case)
            if answer["authorization"] != authorization:
                self.fail(f"SIGV4_SEED={self.seed}: {case}\nours:\n{answer['canonical']}\nbotocore (without its own authorization):\n{canonical}")


if __name__ == "__main__":
    unittest.main()
