"""The instances of the emulated EC2 and the shapes of their types."""

import gzip
import json
import pathlib
import sysconfig
import urllib.request


class Machines:
    """Asks the emulator itself, not EC2's API: that answers with the truth, whatever a test did to
    EC2 (throttling, permissions, eventual consistency), and leaves no line in the log of calls."""

    def __init__(self, url):
        self.url = url
        self.shapes = {}

    def all(self):
        """Dictionaries with id, state, type, zone, private_ip and tags."""
        with urllib.request.urlopen(self.url + "/drover/instances", timeout=10) as answer:
            return json.load(answer)["instances"]

    def shape(self, kind):
        """(vCPUs, MiB) of an instance type, from the list that EC2's emulation answers with."""
        if kind not in self.shapes:
            path = pathlib.Path(sysconfig.get_path("purelib")) / "moto/ec2/resources/instance_types.json.gz"
            with gzip.open(path) as source:
                entry = json.load(source)[kind]
            self.shapes[kind] = (entry["VCpuInfo"]["DefaultVCpus"], entry["MemoryInfo"]["SizeInMiB"])
        return self.shapes[kind]
