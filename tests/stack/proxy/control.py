"""The proxy's door (a listener that can be shut), its log and its control endpoints."""

import collections
import json
import socket
import struct
import threading
import time

from aws import checked, httpd

MAX_KEPT = 100000


class Log:
    """What passed, oldest first."""

    def __init__(self):
        self.lock = threading.Lock()
        self.entries = collections.deque(maxlen=MAX_KEPT)
        self.number = 0

    def begin(self, **facts):
        with self.lock:
            self.number += 1
            entry = {"n": self.number, "time": time.time(), **facts, "status": None, "fault": None, "reply": "open"}
            self.entries.append(entry)
        return entry

    def as_list(self):
        with self.lock:
            return list(self.entries)

    def clear(self):
        with self.lock:
            count = len(self.entries)
            self.entries.clear()
        return count


def reset_connection(connection):
    """Closes with RST: the peer sees a reset, not an orderly end."""
    try:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()
    except OSError:
        pass


class Door:
    """Accepts connections and gives each to `mode.serve(connection)` in a thread of its own."""

    def __init__(self, port, mode):
        self.mode = mode
        self.lock = threading.Lock()
        self.open_connections = set()
        self.listener = None
        self.port = port
        self.open()

    def open(self):
        with self.lock:
            if self.listener is not None:
                return
            listener = socket.socket()
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                listener.bind(("127.0.0.1", self.port))
                listener.listen(256)
            except OSError:
                listener.close()
                raise
            self.port = listener.getsockname()[1]
            self.listener = listener
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()

    def shut(self):
        """From now on connections are refused by the kernel; open ones live on."""
        with self.lock:
            listener, self.listener = self.listener, None
        if listener is not None:
            try:
                listener.shutdown(socket.SHUT_RDWR)  # wakes the accept
            except OSError:
                pass
            listener.close()

    def is_open(self):
        return self.listener is not None

    def cut_all(self):
        with self.lock:
            victims = list(self.open_connections)
        for connection in victims:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        return len(victims)

    def _accept(self, listener):
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        with self.lock:
            self.open_connections.add(connection)
        try:
            self.mode.serve(connection)
        except OSError:
            pass  # the peer went away
        finally:
            with self.lock:
                self.open_connections.discard(connection)
            try:
                connection.close()
            except OSError:
                pass


class Control:
    def __init__(self, door, rules, log):
        self.door, self.rules, self.log = door, rules, log
        self.routes = {
            ("GET", "ready"): lambda _: {"ready": True, "open": self.door.is_open()},
            ("POST", "reset"): self.reset,
            ("GET", "faults"): lambda _: {"rules": self.rules.as_list()},
            ("POST", "faults"): lambda request: {"ids": self.rules.add(checked.parse_object(request.body))},
            ("DELETE", "faults"): lambda request: {"removed": self.rules.remove(request.argument("id"))},
            ("GET", "calls"): lambda _: {"calls": self.log.as_list(), "last": self.log.number},
            ("DELETE", "calls"): lambda _: {"removed": self.log.clear()},
            ("DELETE", "connections"): lambda _: {"cut": self.door.cut_all()},
            ("POST", "listening"): self.listening,
        }

    def serve(self, request):
        name = request.path.strip("/")
        route = self.routes.get((request.method, name))
        if route is None:
            methods = [m for m, n in self.routes if n == name]
            return answer({"error": f"/{name} takes {', '.join(methods) or 'nothing: no such endpoint'}"}, 405 if methods else 404)
        try:
            return answer(route(request))
        except checked.Refused as exc:
            return answer({"error": str(exc)}, exc.status)
        except OSError as exc:
            return answer({"error": f"listening: {exc.strerror}"}, 409)

    def reset(self, request):
        checked.Fields(checked.parse_object(request.body)).done()
        self.rules.remove()
        self.log.clear()
        self.door.open()
        return {"reset": True}

    def listening(self, request):
        fields = checked.Fields(checked.parse_object(request.body))
        wanted = fields.boolean("open", required=True)
        fields.done()
        if wanted:
            self.door.open()
        else:
            self.door.shut()
        return {"open": self.door.is_open()}


def answer(value, status=200):
    return httpd.Reply(status, (json.dumps(value) + "\n").encode())
