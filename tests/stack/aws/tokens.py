"""Client tokens of RunInstances, as EC2 keeps them.

The token counts per zone when the request names a subnet or a zone: the same token
in another zone launches again. In the same zone the same parameters give the same
reservation back, others are refused. When the instances of the reservation have
ended, EC2 refuses the token with IdempotentInstanceTerminated.
"""

import hashlib
import json

from . import errors

NOT_COMPARED = {"ClientToken", "DryRun", "Action", "Version"}
MAX_TOKEN_CHARACTERS = 64


def fingerprint(params):
    """Of the request's own parameters, as sent: order does not matter."""
    kept = sorted((k, v) for k, v in params.items() if k not in NOT_COMPARED)
    return hashlib.sha256(json.dumps(kept).encode()).hexdigest()


class Tokens:
    """The caller holds the world's lock."""

    def __init__(self):
        self.known = {}

    def clear(self):
        self.known.clear()

    def find(self, account, region, zone, token, mark):
        """The reservation that this token made before, or None. Raises on other parameters."""
        if len(token) > MAX_TOKEN_CHARACTERS:
            raise errors.AwsError("InvalidParameterValue", f"ClientToken is longer than {MAX_TOKEN_CHARACTERS} characters")
        held = self.known.get((account, region, zone, token))
        if held is None:
            return None
        if held[0] != mark:
            raise errors.AwsError(
                "IdempotentParameterMismatch",
                "Arguments on this idempotent request are inconsistent with arguments used in previous request(s).",
            )
        return held[1]

    def remember(self, account, region, zone, token, mark, reservation_id):
        self.known[(account, region, zone, token)] = (mark, reservation_id)
