"""Bytes through, unread: faults strike connections."""

import socket
import threading

from aws import faults
from proxy import control

CHUNK = 65536
CONNECT_TIMEOUT_S = 10


class TlsMode:
    def __init__(self, target, rules, log):
        self.target, self.rules, self.log = target, rules, log

    def serve(self, connection):
        rule = self.rules.pick({})
        entry = self.log.begin(method=None, path=None, target=None)
        entry["fault"] = rule.id if rule else None
        if rule is not None and rule.fault == "refuse":
            faults.wait(rule)
            entry["reply"] = "refused"
            control.reset_connection(connection)
            return
        faults.wait(rule)
        limit = (rule.bytes or 0) if rule is not None and rule.fault == "cut" else None
        if limit == 0:
            connection.recv(CHUNK)  # the client speaks first; then nobody answers
            entry["reply"] = "cut"
            return
        try:
            behind = socket.create_connection(self.target, CONNECT_TIMEOUT_S)
        except OSError as exc:
            entry["reply"] = f"target: {exc}"
            return
        behind.settimeout(None)
        behind.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with behind:
            entry["reply"] = self._pass(connection, behind, limit)

    @staticmethod
    def _pass(connection, behind, limit):
        """Both ways until either side ends, or `limit` bytes have come back."""
        upwards = threading.Thread(target=pump, args=(connection, behind, None), daemon=True)
        upwards.start()
        cut = pump(behind, connection, limit)
        for side in (connection, behind):
            try:
                side.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        upwards.join()
        return "cut" if cut else "sent"


def pump(source, sink, limit):
    """Copies until the end or the limit; True if the limit cut it. Passes a half-close on."""
    passed = 0
    try:
        while True:
            data = source.recv(CHUNK)
            if not data:
                sink.shutdown(socket.SHUT_WR)
                return False
            if limit is not None and passed + len(data) >= limit:
                sink.sendall(data[: limit - passed])
                return True
            sink.sendall(data)
            passed += len(data)
    except OSError:
        for side in (source, sink):
            try:
                side.shutdown(socket.SHUT_RDWR)  # wakes the other direction too
            except OSError:
                pass
        return False
