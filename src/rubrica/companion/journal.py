"""The journal of a trial: what the candidate replied, on disk as it comes, so that no reply is paid for twice.

A reply is found again by all that it depends on: the model, the system prompt, the conversation up to it, and how often
it was asked. So it serves whoever judges it, and by whichever rubric.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Self

import msgspec

from rubrica.jsontext import UNREADABLE
from rubrica.model.evaluation import Cost
from rubrica.runs.files.append_only import AppendOnlyFile, finished_lines
from rubrica.runs.files.folder import EARLIER

JOURNAL = "replies.jsonl"


class CandidateReply(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a model replied, and what that took."""

    text: str
    model: str  # as the provider calls it
    duration_ms: float = 0.0  # until the whole reply was there; 0 where nobody measured it
    cost: Cost | None = None


class JournalEntry(msgspec.Struct, frozen=True):
    """One line: a reply, by what it depends on."""

    key: str
    reply: CandidateReply


class Journal:
    """Replies that are known, and where new ones are kept. Without a file nothing is known and nothing kept.

    >>> Journal().find("5499befb38db") is None
    True
    """

    def __init__(self, path: Path | None = None, *, read_only: bool = False) -> None:
        self._known: dict[str, CandidateReply] = {}
        self.unreadable = 0  # lines; what they held is asked for again
        self._lines = AppendOnlyFile(path) if path is not None and not read_only else None
        for line in finished_lines(path) if path is not None else ():
            try:
                entry = msgspec.json.decode(line, type=JournalEntry)
            except UNREADABLE:
                self.unreadable += 1
            else:
                self._known[entry.key] = entry.reply

    @classmethod
    def in_folder(cls, folder: Path) -> Self:
        """The journal of a run's folder; one that is moved aside with an earlier run is taken along."""
        path = folder / JOURNAL
        if not path.exists() and (before := _latest_before(folder)) is not None:
            shutil.copyfile(before, path)
        return cls(path)

    def find(self, key: str) -> CandidateReply | None:
        return self._known.get(key)

    def keep(self, key: str, reply: CandidateReply) -> None:
        if self._lines is not None:
            self._lines.write(msgspec.json.encode(JournalEntry(key, reply)))
            self._known[key] = reply

    @property
    def replies(self) -> int:
        """How many replies are kept."""
        return len(self._known)

    def close(self) -> None:
        if self._lines is not None:
            self._lines.close()
            self._lines = None


NOWHERE = Journal()


def _latest_before(folder: Path) -> Path | None:
    found = [path for path in (folder / EARLIER).glob(f"*/{JOURNAL}") if path.parent.name.isdigit()]
    return max(found, key=lambda path: int(path.parent.name), default=None)
