#!/usr/bin/env python3
"""AWS on one port: moto with what moto leaves out. See README.md."""

import argparse
import os
import sys
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [p for p in sys.path if os.path.abspath(p or ".") != HERE]
sys.path.insert(0, os.path.dirname(HERE))

# moto reads these when it is imported.
os.environ["MOTO_ENABLE_AMI_VALIDATION"] = "true"
os.environ["MOTO_EC2_ENABLE_INSTANCE_TYPE_VALIDATION"] = "true"
# boto3 inside moto must never look for a real account.
os.environ.update(AWS_ACCESS_KEY_ID="emulator", AWS_SECRET_ACCESS_KEY="emulator", AWS_EC2_METADATA_DISABLED="true")
os.environ.setdefault("AWS_DEFAULT_REGION", "us-east-1")

from aws import control, httpd, world  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True, help="0 takes a free one and prints it")
    parser.add_argument("--state-dir", required=True, help="for calls.jsonl and failures.log")
    args = parser.parse_args()
    os.makedirs(args.state_dir, exist_ok=True)
    the_world = world.World(args.state_dir)
    endpoints = control.Control(the_world)

    def handle(request):
        if request.path.startswith("/drover/"):
            return endpoints.serve(request)
        return the_world.serve(request)

    try:
        server = httpd.Server(args.port, handle)
    except OSError as exc:
        sys.exit(f"emulator: cannot listen on 127.0.0.1:{args.port}: {exc.strerror}")
    threading.Thread(target=the_world.beat_for_ever, daemon=True).start()
    print(f"emulator: listening on http://127.0.0.1:{server.server_port}", flush=True)
    try:
        server.serve_forever(poll_interval=0.2)
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
