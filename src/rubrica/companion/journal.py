"""The journal of trials that are under way: replies and judgements on disk as they come, so that none is paid twice.

It lies in a folder of its own until the trials are over. Whatever stops them, the same command goes on from it; what
was asked on other terms is moved aside.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from rubrica.errors import StoredError
from rubrica.jsontext import UNREADABLE
from rubrica.model.evaluation import Evaluation
from rubrica.runs.files.append_only import AppendOnlyFile, finished_lines
from rubrica.runs.files.folder import EARLIER, LOCK, RunOpening, open_run_folder
from rubrica.runs.files.manifest import MANIFEST, Manifest

from .candidate import CandidateReply, SpokenTurn
from .judgement import JudgedReply

JOURNAL = "journal.jsonl"
NONE = msgspec.Raw(b"null")
Talk = tuple[str, str]
"""A candidate's key, and a scenario's id."""


class JournalEntry(msgspec.Struct, frozen=True, omit_defaults=True):
    """One line: a reply as it came, or how it was judged."""

    candidate: str
    scenario: str
    turn: int
    said: CandidateReply | None = None
    rules: msgspec.Raw = NONE
    judge: msgspec.Raw = NONE


class Journal:
    """What is known of trials, and where what comes is kept. Without a file nothing is known and nothing kept.

    >>> Journal().said(("5499befb38db", "basic/hello"))
    {}
    """

    def __init__(self, path: Path | None = None) -> None:
        self._said: dict[Talk, dict[int, CandidateReply]] = {}
        self._judged: dict[Talk, dict[int, tuple[Evaluation, Evaluation | None]]] = {}
        self.unreadable = 0  # lines; what they held is asked for again
        self._lines = AppendOnlyFile(path) if path is not None else None
        for line in finished_lines(path) if path is not None else ():
            try:
                self._take(msgspec.json.decode(line, type=JournalEntry))
            except (*UNREADABLE, StoredError):
                self.unreadable += 1

    @property
    def replies(self) -> int:
        """How many replies are kept."""
        return sum(map(len, self._said.values()))

    def said(self, talk: Talk) -> dict[int, CandidateReply]:
        """The replies of a conversation that are known, by turn."""
        return self._said.get(talk, {})

    def judged(self, talk: Talk, spoken: SpokenTurn) -> JudgedReply | None:
        """A reply as it was judged; None where that is still to be done."""
        known = self._judged.get(talk, {}).get(spoken.turn)
        return None if known is None else JudgedReply(spoken, *known)

    def keep_said(self, talk: Talk, turn: int, said: CandidateReply) -> None:
        """Keep a reply."""
        if self._lines is not None:
            self._lines.write(msgspec.json.encode(JournalEntry(*talk, turn, said)))
            self._said.setdefault(talk, {})[turn] = said

    def keep_judged(self, talk: Talk, judged: JudgedReply) -> None:
        """Keep how a reply was judged. Where the judge owes a score nothing is kept, so that it is asked again."""
        if self._lines is not None and not judged.owed:
            both = _raw(judged.by_rules), _raw(judged.by_judge)
            self._lines.write(msgspec.json.encode(JournalEntry(*talk, judged.spoken.turn, None, *both)))

    def close(self) -> None:
        if self._lines is not None:
            self._lines.close()
            self._lines = None

    def _take(self, entry: JournalEntry) -> None:
        talk = (entry.candidate, entry.scenario)
        if entry.said is not None:
            self._said.setdefault(talk, {})[entry.turn] = entry.said
        if (rules := _evaluation(entry.rules)) is not None:
            self._judged.setdefault(talk, {})[entry.turn] = rules, _evaluation(entry.judge)


NOWHERE = Journal()


@contextmanager
def open_journal(folder: Path, manifest: Manifest) -> Iterator[tuple[Journal, RunOpening]]:
    """The journal in a folder, for this process alone, and whether it is new or gone on with."""
    with open_run_folder(folder, manifest) as opening:
        journal = Journal(folder / JOURNAL)
        try:
            yield journal, opening
        finally:
            journal.close()


def under_way(folder: Path) -> bool:
    """Whether trials lie in a folder that are not over."""
    return (folder / MANIFEST).is_file()


def remove_journal(folder: Path) -> None:
    """Remove the folder of trials that are over; those of other terms that lie beside them stay."""
    for name in (JOURNAL, f"{JOURNAL}.torn", MANIFEST):
        (folder / name).unlink(missing_ok=True)
    if not (folder / EARLIER).exists():
        (folder / LOCK).unlink(missing_ok=True)
        with suppress(OSError):  # somebody has put something else there
            folder.rmdir()


def _raw(evaluation: Evaluation | None) -> msgspec.Raw:
    return NONE if evaluation is None else msgspec.Raw(evaluation.to_json().encode())


def _evaluation(raw: msgspec.Raw) -> Evaluation | None:
    return None if bytes(raw) == bytes(NONE) else Evaluation.from_json(bytes(raw))
