"""The base of tests that use the running stack: an empty one before each test."""

import os
import unittest

from client.stack import Stack

_attached = {}


def stack():
    directory = os.environ["STACK_DIR"]
    if directory not in _attached:
        _attached[directory] = Stack(directory)
    return _attached[directory]


class StackTest(unittest.TestCase):
    uses_stack = True
    needs = ()  # names of parts without which a test of this class cannot run

    def setUp(self):
        self.stack = stack()
        for name in self.needs:
            if name in self.stack.missing:
                self.skipTest(f"{name}: {self.stack.missing[name]}")
        self.stack.reset()
        self.kube, self.work = self.stack.kube, self.stack.work

    def join(self, count=1, **options):
        """Instances that have joined: their ids and Nodes."""
        self.stack.glue.post("/settings", {"bootSeconds": 0})
        ids = self.stack.launch(count, **options)
        return ids, self.stack.wait_joined(ids)
