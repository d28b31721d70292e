"""A run under way whose folder is committed to an object store, now and then and at its end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from threading import Event, Thread
from uuid import uuid4

from rubrica.errors import RubricaError
from rubrica.file_lock import LockHeldError
from rubrica.runs.files.folder import EVALUATIONS
from rubrica.runs.objects.address import ObjectAddress, store_address
from rubrica.runs.objects.object_store import ObjectStore

from .claim import CLAIMS, USUAL_PACE, RunClaim, StorePace
from .copy import FileState, RunCopy, scan
from .index import SEGMENTS, FileSegment, FileSegments, MirrorIndex, new_segment_name
from .prune import prune_copies

LINES = ".jsonl"
"""Files that grow; all others are written whole, under another name first."""
SMALL = 4_000_000
"""Bytes of a last segment up to which what comes after it is written together with it: so segments stay few."""
LARGEST = 32_000_000
"""Bytes of a segment of lines."""
_BLOCK = 1 << 16


class RunMirror:
    """Commits what changed in the copy of a run. Use it while the copy is held and the run is claimed."""

    def __init__(self, store: ObjectStore, copy: RunCopy) -> None:
        self._store, self._copy, self._address = store, copy, copy.address
        self._committed: set[str] = set()  # names of segments

    def clean(self, index: MirrorIndex | None) -> None:
        """Delete segments that were written and never committed, by a driver that died."""
        self._committed = index.segments if index is not None else set()
        folder = self._address.under(SEGMENTS)
        stale = [info.key for info in self._store.listed(folder) if info.key.rpartition("/")[2] not in self._committed]
        self._store.delete(stale)

    def commit(self) -> bool:
        """Commit the folder as it is; False where it was changing too much to tell, or is as it was."""
        folder, known = self._copy.folder, self._copy.state.files
        before = _listing(folder)
        by_inode = {state.inode: state for state in known.values()}
        try:
            files = {name: self._state(folder / name, by_inode.get(before[name])) for name in before}
        except FileNotFoundError:
            return False  # it was renamed or deleted just now
        if _listing(folder) != before or not files:
            self._discard(files)
            return False
        if {name: state.segments for name, state in files.items()} == {n: s.segments for n, s in known.items()}:
            return False
        index = MirrorIndex(uuid4().hex, {name: state.segments for name, state in files.items()})
        index.write(self._store, self._address)
        self._copy.remember(index.version, files)
        replaced, self._committed = self._committed - index.segments, index.segments
        self._store.delete(self._key(name) for name in replaced)
        return True

    def _state(self, path: Path, known: FileState | None) -> FileState:
        """A file with its segments, those written that are missing."""
        now = FileState.of(path)
        if known is not None and now.is_same(known):
            return known
        if path.name != EVALUATIONS:
            return FileState(now.inode, now.size, now.changed, self._written(path, 0, now.size))
        if known is not None and (known.inode != now.inode or known.size > now.size):
            known = None  # it was written anew
        kept: FileSegments = known.segments if known is not None else ()
        if kept and kept[-1].size < SMALL:
            kept = kept[:-1]
        start = sum(segment.size for segment in kept)
        end = _end_of_lines(path, start, now.size)
        if known is not None and end == known.size:
            return FileState(now.inode, end, now.changed, known.segments)
        return FileState(now.inode, end, now.changed, (*kept, *self._cut(path, start, end)))

    def _cut(self, path: Path, start: int, end: int) -> Iterator[FileSegment]:
        """A stretch of a file of lines as segments, each of which is held in memory while it is written."""
        while start < end:
            stop = _end_of_lines(path, start, min(start + LARGEST, end))
            stop = stop if stop > start else end
            yield from self._written(path, start, stop)
            start = stop

    def _written(self, path: Path, start: int, end: int) -> FileSegments:
        """A stretch of a file as a segment in the store."""
        if start == end:
            return ()
        segment, lines = new_segment_name(path.name), 0
        if path.suffix == LINES:  # it may be growing
            with path.open("rb") as stream:
                stream.seek(start)
                data = stream.read(end - start)
            if len(data) < end - start:
                raise FileNotFoundError(path)
            lines = data.count(b"\n")
            self._store.write(self._key(segment), data)
        else:
            self._store.write(self._key(segment), path)
        return (FileSegment(segment, end - start, lines),)

    def _discard(self, files: dict[str, FileState]) -> None:
        """Delete what was written for a commit that does not come."""
        names = {segment.name for state in files.values() for segment in state.segments}
        self._store.delete(self._key(name) for name in names - self._committed)

    def _key(self, segment: str) -> str:
        return self._address.under(f"{SEGMENTS}/{segment}")


class MirrorThreads:
    """Keeps a claim alive and commits now and then, until it is stopped or the store is gone."""

    def __init__(self, claim: RunClaim, mirror: RunMirror, pace: StorePace) -> None:
        self.problem = ""
        self._stop = Event()
        jobs: list[tuple[Callable[[], object], float]] = [(claim.renew, pace.beat), (mirror.commit, pace.commit)]
        self._threads = [Thread(target=self._repeat, args=job, daemon=True) for job in jobs]
        for thread in self._threads:
            thread.start()

    def _repeat(self, do: Callable[[], object], every: float) -> None:
        while not self._stop.wait(every) and not self.problem:
            self.try_to(do)

    def try_to(self, do: Callable[[], object]) -> None:
        """Do something; what is in the way is the problem from then on."""
        try:
            do()
        except (RubricaError, OSError) as error:
            self.problem = self.problem or str(error)

    def end(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()


@contextmanager
def mirrored(text: str, note: Callable[[str], None], pace: StorePace = USUAL_PACE) -> Iterator[Callable[[], None]]:
    """Around a run in its copy: it begins with what is committed, and what it does is committed. The function that is
    given raises once the store is gone, or another driver has the run."""
    address = store_address(text)
    copy, store = RunCopy(address), ObjectStore(address, pace.patience)
    with ExitStack() as stack:
        try:
            stack.enter_context(copy.held())
        except LockHeldError as error:
            message = f"process {error.holder} is running {text}"
            raise RubricaError(f"{message}; wait for it, or name another place") from None
        claim, mirror = RunClaim(store, address, copy.state.id, pace), RunMirror(store, copy)
        claim.take(note)
        with copy.fetching():
            index = copy.fetch(store)
        if index is None:
            _refuse_strangers(store, address)
        mirror.clean(index)
        prune_copies()
        threads = MirrorThreads(claim, mirror, pace)

        def check() -> None:
            if threads.problem:
                message = f"what was judged is in {copy.folder}, and the same command goes on"
                raise RubricaError(f"{threads.problem}; {message}")

        try:
            yield check
        finally:
            threads.end()
            if not threads.problem:
                threads.try_to(mirror.commit)
                threads.try_to(claim.release)
            check()


def _listing(folder: Path) -> dict[str, int]:
    """The inodes of a run's files by name."""
    found = {}
    for path in scan(folder):
        with suppress(FileNotFoundError):
            found[path.relative_to(folder).as_posix()] = path.stat().st_ino
    return found


def _end_of_lines(path: Path, start: int, end: int) -> int:
    """Where the last finished line ends, in a stretch of a file that begins with a line."""
    at = end
    with path.open("rb") as stream:
        while at > start:
            from_ = max(start, at - _BLOCK)
            stream.seek(from_)
            found = stream.read(at - from_).rfind(b"\n")
            if found >= 0:
                return from_ + found + 1
            at = from_
    return start


def _refuse_strangers(store: ObjectStore, address: ObjectAddress) -> None:
    own = (address.under(f"{CLAIMS}/"), address.under(f"{SEGMENTS}/"))
    for info in store.listed(address.key):
        if not info.key.startswith(own):
            raise RubricaError(f"{address} holds {info.key.rpartition('/')[2]}, but no run; name another place")
