"""One function in AWS's own Lambda runtime interface emulator."""

import http.client
import json
import os
import pathlib
import signal
import socket
import subprocess
import time


class LambdaFailed(Exception):
    pass


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class LambdaFunction:
    """Runs `bootstrap` as a custom runtime; use as a context manager."""

    def __init__(self, emulator, bootstrap, log, environment=None, timeout_sec=3):
        self.port, self.log = free_port(), pathlib.Path(log)
        values = dict(os.environ, AWS_LAMBDA_FUNCTION_TIMEOUT=str(timeout_sec), AWS_LAMBDA_FUNCTION_NAME="drover",
                      AWS_LAMBDA_FUNCTION_MEMORY_SIZE="128", **(environment or {}))
        with open(self.log, "ab") as out:
            self.process = subprocess.Popen(
                [str(emulator), "--runtime-interface-emulator-address", f"127.0.0.1:{self.port}", "--runtime-api-address",
                 f"127.0.0.1:{free_port()}", str(bootstrap)], stdout=out, stderr=out, stdin=subprocess.DEVNULL, env=values,
                start_new_session=True)
        self._wait()

    def _wait(self):
        deadline = time.monotonic() + 15
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise LambdaFailed(f"the Lambda emulator ended with {self.process.returncode}: {self.log.read_text()[-500:]}")
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.02)
        self.close()
        raise LambdaFailed("the Lambda emulator does not listen")

    def invoke(self, event, timeout=30):
        """Returns (status, answer): the answer parsed if it is JSON, else text."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            connection.request("POST", "/2015-03-31/functions/function/invocations", json.dumps(event))
            answer = connection.getresponse()
            text = answer.read().decode(errors="replace")
        finally:
            connection.close()
        try:
            return answer.status, json.loads(text)
        except ValueError:
            return answer.status, text

    def close(self):
        """Ends the emulator and the bootstrap that it runs."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGTERM)
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                pass
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
