"""A small threaded HTTP/1.1 server whose handler may also break the connection.

Keep-alive is on, as at AWS: a client that reuses a connection meets a cut on it too.
"""

import http.server
import socket
import socketserver
import urllib.parse

MAX_BODY_BYTES = 64 * 1024 * 1024


class Request:
    def __init__(self, method, target, headers, body, peer=""):
        self.method = method
        self.target = target
        self.raw_path, _, self.query = target.partition("?")
        self.path = urllib.parse.unquote(self.raw_path)
        self.headers = {}
        for key, value in headers:
            known = self.headers.get(key.lower())
            self.headers[key.lower()] = value if known is None else f"{known},{value}"
        self.body = body
        self.peer = peer

    def argument(self, name, default=None):
        """A parameter of the query string."""
        values = urllib.parse.parse_qs(self.query, keep_blank_values=True).get(name)
        return values[-1] if values else default


class Reply:
    """An answer. `cut`: send nothing and close. `send_bytes`: send that much of the body, then close."""

    def __init__(self, status=200, body=b"", headers=(), cut=False, send_bytes=None):
        self.status = status
        self.body = body
        self.headers = list(headers)
        self.cut = cut
        self.send_bytes = send_bytes


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 256

    def __init__(self, port, handle, host="127.0.0.1"):
        self.handle_request_with = handle
        super().__init__((host, port), Connection)

    def server_bind(self):
        # HTTPServer would look its own name up in DNS; loopback needs none.
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = self.server_address[:2]

    def handle_error(self, request, client_address):
        pass  # a client that went away; the handler's own errors never get here


class Connection(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    timeout = 900

    def handle_one_request(self):
        self.raw_requestline = self.rfile.readline(65537)
        if not self.raw_requestline:
            self.close_connection = True
            return
        if len(self.raw_requestline) > 65536:
            self.send_error(414)
            return
        if self.parse_request():
            self._answer()

    def _answer(self):
        try:
            body = self._read_body()
        except ValueError as exc:
            self.close_connection = True
            self._send(Reply(400, f"{exc}\n".encode(), [("Content-Type", "text/plain")]))
            return
        request = Request(self.command, self.path, self.headers.items(), body, self.client_address[0])
        self._send(self.server.handle_request_with(request))

    def _read_body(self):
        if "chunked" in self.headers.get("Transfer-Encoding", "").lower():
            return self._read_chunks()
        length = int(self.headers.get("Content-Length") or 0)
        if not 0 <= length <= MAX_BODY_BYTES:
            raise ValueError(f"body of {length} bytes; at most {MAX_BODY_BYTES}")
        return self.rfile.read(length)

    def _read_chunks(self):
        parts, total = [], 0
        while True:
            size = int(self.rfile.readline(1024).split(b";")[0], 16)
            if size == 0:
                while self.rfile.readline(65537).strip():
                    pass
                return b"".join(parts)
            total += size
            if total > MAX_BODY_BYTES:
                raise ValueError(f"body of more than {MAX_BODY_BYTES} bytes")
            parts.append(self.rfile.read(size))
            self.rfile.readline(8)

    def _send(self, reply):
        if reply.cut:
            self._hang_up()
            return
        names = {key.lower() for key, _ in reply.headers}
        lines = [f"HTTP/1.1 {reply.status} {http.server.BaseHTTPRequestHandler.responses.get(reply.status, ('Status',))[0]}"]
        lines += [f"{key}: {value}" for key, value in reply.headers if key.lower() not in ("connection", "transfer-encoding", "content-length")]
        if "content-type" not in names and reply.body:
            lines.append("Content-Type: application/json")
        lines.append(f"Content-Length: {len(reply.body)}")
        if self.close_connection:
            lines.append("Connection: close")
        head = ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
        body = b"" if self.command == "HEAD" else reply.body
        if reply.send_bytes is not None:
            self.wfile.write(head + body[: reply.send_bytes])
            self._hang_up()
            return
        self.wfile.write(head + body)

    def _hang_up(self):
        self.close_connection = True
        try:
            self.connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    def log_message(self, *_):
        pass
