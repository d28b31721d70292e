"""How a message to a webhook is signed: as the Standard Webhooks specification says, with HMAC-SHA256."""

from __future__ import annotations

import hmac
from base64 import b64decode, b64encode
from collections.abc import Mapping

from rubrica.workspace.webhooks import SECRET_MARK


def signed_headers(secret: str, message_id: str, timestamp: int, body: bytes) -> Mapping[str, str]:
    """What goes with a body: which message it is, when it was sent, and a signature of all three.

    >>> signed_headers("whsec_c2VjcmV0", "msg-1", 1700000000, b"{}")["webhook-signature"]
    'v1,bxoCRqIU3K0tTdDuvhsXEfYxEVUqJmCYC9pDrP7Vkjs='
    """
    key = b64decode(secret.removeprefix(SECRET_MARK))
    digest = hmac.digest(key, f"{message_id}.{timestamp}.".encode() + body, "sha256")
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": f"v1,{b64encode(digest).decode()}",
    }
