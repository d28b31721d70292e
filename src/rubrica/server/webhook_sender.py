"""Sends what waits for webhooks, and tries again what did not arrive. The queue is in the database."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta

import aiohttp

from rubrica import __version__
from rubrica.errors import InputError, StoreError
from rubrica.store.database import Database
from rubrica.store.webhooks import Delivery, DueDelivery, claim_due, forget_deliveries, next_due, save_attempt

from .webhook_signature import signed_headers
from .webhook_target import INSIDE, InsideAddressError, PublicResolver, check_target

LOG = logging.getLogger("rubrica.server")
PAUSES = tuple(map(timedelta, (0, 0, 0, 0, 0), (10, 60, 300, 1_800, 7_200)))
"""Between one attempt and the next; after the last of them a message has failed."""
TIMEOUT = 10.0
"""Seconds that a webhook has to reply."""
LEASE = timedelta(seconds=60)
"""How long a message that is being sent is left alone by other servers, and after a crash."""
AT_ONCE = 10
LOOKED = 15.0
"""Seconds between two looks at the queue where nobody says that something was put in."""
KEPT = timedelta(days=30)
"""How long the log of deliveries is kept."""


class WebhookSender:
    """Works the queue off while it runs. What it was doing when it ends is done again."""

    def __init__(self, database: Database, clock: Callable[[], datetime], *, private: bool = False) -> None:
        self._database, self._clock, self._private = database, clock, private
        self._woken = asyncio.Event()

    def wake(self) -> None:
        """Say that something was put into the queue."""
        self._woken.set()

    async def run(self) -> None:
        """Send what is due, for ever."""
        async with self._session() as session:
            while True:
                try:
                    self._woken.clear()
                    while await self.send_due(session):
                        pass
                    pause = await self._pause()
                except StoreError as error:
                    LOG.warning("webhooks wait for the database: %s", error)
                    pause = LOOKED
                with suppress(TimeoutError):
                    async with asyncio.timeout(pause):
                        await self._woken.wait()

    async def send_due(self, session: aiohttp.ClientSession) -> int:
        """Send what is due now; how many messages that were."""
        if await self._database.read(next_due) is None:
            return 0
        due = await self._database.write(claim_due, self._clock(), LEASE, AT_ONCE)
        await asyncio.gather(*(self._attempt(session, one) for one in due))
        return len(due)

    async def forget(self) -> None:
        """Drop the oldest of the log."""
        await self._database.write(forget_deliveries, self._clock() - KEPT)

    def _session(self) -> aiohttp.ClientSession:
        connector = aiohttp.TCPConnector(
            resolver=PublicResolver(private=self._private), use_dns_cache=False, force_close=True
        )
        return aiohttp.ClientSession(
            connector=connector,
            timeout=aiohttp.ClientTimeout(total=TIMEOUT),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"User-Agent": f"Rubrica/{__version__}", "Content-Type": "application/json"},
        )

    async def _pause(self) -> float:
        due = await self._database.read(next_due)
        if due is None:
            return LOOKED
        return min(max((due - self._clock()).total_seconds(), 0.05), LOOKED)

    async def _attempt(self, session: aiohttp.ClientSession, due: DueDelivery) -> None:
        status, error, final = await self._posted(session, due)
        ended = attempted(due.delivery, status, error, self._clock(), final=final)
        await self._database.write(save_attempt, ended)

    async def _posted(self, session: aiohttp.ClientSession, due: DueDelivery) -> tuple[int | None, str, bool]:
        """The status of the reply, what went wrong, and whether trying again is of no use."""
        body = due.delivery.body.encode()
        headers = signed_headers(due.secret, str(due.delivery.id), int(self._clock().timestamp()), body)
        try:
            check_target(due.url, private=self._private)
            async with session.post(due.url, data=body, headers=headers, allow_redirects=False) as reply:
                status = reply.status  # and nothing of what it says
        except InputError as error:
            return None, str(error), True
        except InsideAddressError:
            return None, INSIDE, True
        except TimeoutError:
            return None, f"no reply within {TIMEOUT:g} seconds", False
        except (aiohttp.ClientError, OSError, ValueError) as error:
            if isinstance(getattr(error, "os_error", None), InsideAddressError):
                return None, INSIDE, True
            return None, "it cannot be reached", False
        except Exception:  # one message shall not keep the others from being sent
            LOG.exception("a message to a webhook could not be sent")
            return None, "it could not be sent, and the server's log says why", False
        if 200 <= status < 300:
            return status, "", False
        if 300 <= status < 400:
            return status, "it sends on to another address, which is not followed (name that one)", True
        return status, f"it answered with {status}", status == 410


def attempted(delivery: Delivery, status: int | None, error: str, now: datetime, *, final: bool) -> Delivery:
    """A message after an attempt: delivered, to be tried again, or given up."""
    attempts = delivery.attempts + 1
    tried = replace(delivery, attempts=attempts, status=status, error=error[:500])
    if not error:
        return replace(tried, state="delivered", ended_at=now)
    if final or attempts > len(PAUSES):
        return replace(tried, state="failed", ended_at=now)
    return replace(tried, due_at=now + PAUSES[attempts - 1])
