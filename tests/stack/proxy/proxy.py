#!/usr/bin/env python3
"""Fault rules in front of any server: HTTP by request, TLS by connection.

    proxy.py --listen P --target HOST:PORT --control P2 [--tls]

The rules are those of the AWS emulator (aws/faults.py), posted to the control port:

    GET, POST, DELETE /faults        rules; DELETE /faults?id=X takes one away
    GET, DELETE /calls               what passed: requests, or connections with --tls
    DELETE /connections              cut every open connection now
    POST /listening {"open": false}  really refuse connections until it is opened again
    POST /reset                      no rules, no calls, open
    GET /ready

A server behind it that is down looks like a connection that is cut.
"""

import argparse
import os
import sys
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [p for p in sys.path if os.path.abspath(p or ".") != HERE]
sys.path.insert(0, os.path.dirname(HERE))

from aws import faults, httpd  # noqa: E402
from proxy import control, http_mode, tls_mode  # noqa: E402


def parse_target(text):
    host, _, port = text.rpartition(":")
    if not host or not port.isdigit() or not 0 < int(port) < 65536:
        raise argparse.ArgumentTypeError(f"'{text}' is not HOST:PORT")
    return host, int(port)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--listen", type=int, required=True, help="port for clients; 0 takes a free one")
    parser.add_argument("--target", type=parse_target, required=True)
    parser.add_argument("--control", type=int, required=True, help="port for the rules; 0 takes a free one")
    parser.add_argument("--tls", action="store_true", help="pass bytes through; only cut, delay and refuse")
    args = parser.parse_args()
    rules = faults.Rules(faults.TCP_FAULTS if args.tls else faults.PROXY_FAULTS)
    log = control.Log()
    mode = tls_mode.TlsMode if args.tls else http_mode.HttpMode
    try:
        door = control.Door(args.listen, mode(args.target, rules, log))
        server = httpd.Server(args.control, control.Control(door, rules, log).serve)
    except OSError as exc:
        sys.exit(f"proxy: cannot listen on 127.0.0.1 (ports {args.listen}, {args.control}): {exc.strerror}")
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(f"proxy: listening on http://127.0.0.1:{door.port} control http://127.0.0.1:{server.server_port}", flush=True)
    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
