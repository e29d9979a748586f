"""The pins: which version of each part, and where the built parts are kept."""

import hashlib
import os
import pathlib
import platform
import sys

STACK = pathlib.Path(__file__).resolve().parent.parent
CLONE = STACK.parent.parent

# Grows when the way of building changes although no version does.
RECIPE = "2"


class StackError(Exception):
    """A failure that is told to the user as it is, without a traceback."""


def versions():
    """The pins of tests/stack/versions as a dictionary."""
    pins = {}
    for number, line in enumerate((STACK / "versions").read_text().splitlines(), 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        name, sign, value = line.partition("=")
        if not sign or not name or not value:
            raise StackError(f"tests/stack/versions:{number}: want NAME=VALUE, got: {line}")
        pins[name] = value
    return pins


def pins_hash():
    """A name for this set of pins: any change of them is another cache."""
    digest = hashlib.sha256()
    for name in ("versions", "python.lock", "go/go.mod", "go/go.sum"):
        data = (STACK / name).read_bytes()
        if name == "versions":
            data = "\n".join(f"{k}={v}" for k, v in sorted(versions().items())).encode()
        digest.update(f"{name} {len(data)}\n".encode() + data)
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    digest.update(f"{RECIPE} {platform.machine()} {python}".encode())
    return digest.hexdigest()[:16]


def cache_root():
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return pathlib.Path(base) / "drover" / "stack"


def cache_dir():
    """Where the parts for the present pins are, or will be."""
    return cache_root() / pins_hash()
