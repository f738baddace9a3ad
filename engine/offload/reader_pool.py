"""Reader threads that fill memory handed to them, demand before streaming."""

from __future__ import annotations

import ctypes as c
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from functools import partial

from engine.errors import DiskReadError, EngineError
from engine.native.memory import PAGE, HugeBuffer
from engine.offload.read_job import Latch, ReadJob, ReadPart, ReadReason
from engine.offload.weight_files import WeightFiles

_Work = tuple[ReadJob, ReadPart]


class ReaderPool:
    """A few threads reading parts of jobs; the engine thread submits, waits and closes.

    Byte and busy counters are cumulative; read them through `snapshot`.
    """

    def __init__(self, files: WeightFiles, n_threads: int, largest_staged_bytes: int) -> None:
        self._files = files
        self._stage_bytes = largest_staged_bytes + 2 * PAGE
        self._lock = threading.Lock()
        self._has_work = threading.Condition(self._lock)
        self._urgent: deque[_Work] = deque()
        self._background: deque[_Work] = deque()
        self._in_flight = 0  # parts that a thread has, read or on their way out of its staging memory
        self._reading = 0  # of these, parts not read yet
        self._busy_since_ns = 0
        self._busy_ns = 0
        self._bytes: Counter[str] = Counter()
        self._errors = 0
        self._is_closed = False
        self._threads = [
            threading.Thread(target=self._run, name=f"emberglass-reader-{i}", daemon=True)
            for i in range(n_threads)
        ]
        for thread in self._threads:
            thread.start()

    def submit(self, jobs: Sequence[ReadJob]) -> None:
        """Queue jobs; STREAM jobs wait behind all others."""
        with self._lock:
            for job in jobs:
                job.remaining = len(job.parts)
                queue = self._background if job.reason is ReadReason.STREAM else self._urgent
                queue.extend((job, part) for part in job.parts)
            self._has_work.notify(sum(len(job.parts) for job in jobs))

    def hasten(self, jobs: Sequence[ReadJob]) -> None:
        """The layer in flight needs these streamed jobs now: move what has not started to the front."""
        wanted = {id(job) for job in jobs}
        with self._lock:
            self._urgent.extend(work for work in self._background if id(work[0]) in wanted)
            self._background = deque(work for work in self._background if id(work[0]) not in wanted)

    def withdraw(self, jobs: Sequence[ReadJob]) -> None:
        """Nobody needs these streamed jobs any more: fail those of which nothing has started."""
        with self._lock:
            queued: Counter[int] = Counter(id(job) for job, _ in self._background)
            gone = {id(job) for job in jobs if queued[id(job)] == len(job.parts)}
            dropped = [work for work in self._background if id(work[0]) in gone]
            self._background = deque(work for work in self._background if id(work[0]) not in gone)
            for job, _ in dropped:
                self._finish_part(job, 0, DiskReadError("The read was withdrawn."))

    def wait(self, jobs: Sequence[ReadJob], check: Callable[[], None]) -> None:
        """Until all jobs are done (well or badly); `check` runs every 50 ms and may raise."""
        with self._lock:
            open_jobs = [job for job in jobs if not job.is_done]
            latch = Latch(len(open_jobs))
            for job in open_jobs:
                job.latches.append(latch)
        while not latch.wait(0.05):
            check()

    def drop_queued(self) -> None:
        """Fail everything that has not started and wait out what has; afterwards no memory is written."""
        with self._lock:
            dropped = [*self._urgent, *self._background]
            self._urgent.clear()
            self._background.clear()
            for job, _ in dropped:
                self._finish_part(job, 0, DiskReadError("The read was called off."))
        while True:
            with self._lock:
                if self._in_flight == 0:
                    return
            time.sleep(0.001)

    def snapshot(self) -> tuple[dict[str, int], int, int]:
        """(bytes by reason, nanoseconds with at least one read in flight, failed reads)."""
        with self._lock:
            running = time.perf_counter_ns() - self._busy_since_ns if self._reading else 0
            return dict(self._bytes), self._busy_ns + running, self._errors

    def close(self) -> None:
        """Stop and join all threads; idempotent."""
        self.drop_queued()
        with self._lock:
            self._is_closed = True
            self._has_work.notify_all()
        for thread in self._threads:
            thread.join()

    # --- reader threads ---------------------------------------------------------------------

    def _run(self) -> None:
        stages: list[HugeBuffer] = []  # one, once it is needed
        while (work := self._next()) is not None:
            job, part = work
            is_staged = part.deliver is not None or (self._files.is_direct and not part.is_congruent)
            got, error = _attempt(partial(self._read, part, stages if is_staged else None))
            with self._lock:
                self._end_read()
            if is_staged and error is None:
                _, error = _attempt(partial(self._hand_over, part, stages[0]))
            with self._lock:
                self._in_flight -= 1
                self._errors += error is not None
                self._finish_part(job, got, error)
        for stage in stages:
            stage.close()

    def _next(self) -> _Work | None:
        with self._lock:
            while not self._urgent and not self._background:
                if self._is_closed:
                    return None
                self._has_work.wait()
            if self._reading == 0:
                self._busy_since_ns = time.perf_counter_ns()
            self._reading += 1
            self._in_flight += 1
            return self._urgent.popleft() if self._urgent else self._background.popleft()

    def _end_read(self) -> None:
        self._reading -= 1
        if self._reading == 0:
            self._busy_ns += time.perf_counter_ns() - self._busy_since_ns

    def _finish_part(self, job: ReadJob, got: int, error: EngineError | None) -> None:
        self._bytes[job.reason.value] += got
        job.bytes_read += got
        if error is not None:
            job.error = job.error or error
        job.remaining -= 1
        if job.remaining == 0:
            for latch in job.latches:
                latch.count_down()

    def _read(self, part: ReadPart, stages: list[HugeBuffer] | None) -> int:
        if stages is not None and not stages:
            stages.append(HugeBuffer(self._stage_bytes))
        lead = part.offset % PAGE if self._files.is_direct else 0
        length = -(-(lead + part.size) // PAGE) * PAGE if self._files.is_direct else part.size
        target = stages[0].view if stages else part.target if self._files.is_direct else part.data
        got = self._files.read(part.shard, target[:length], part.offset - lead, lead + part.size)
        self._files.forget(part.shard, part.offset, part.size)
        return got

    def _hand_over(self, part: ReadPart, stage: HugeBuffer) -> int:
        """Not reading any more: what is rewritten or sent to a device costs other time."""
        source = stage.address + (part.offset % PAGE if self._files.is_direct else 0)
        if part.deliver is not None:
            part.deliver(source)
        else:
            c.memmove(part.address, source, part.size)
        return part.size


def _attempt(work: Callable[[], int]) -> tuple[int, EngineError | None]:
    """What it gives, and the fault if it fails: a reader must report, never die."""
    try:
        return work(), None
    except EngineError as fault:
        return 0, fault
    except Exception as fault:  # noqa: BLE001 - named as a fault of the read
        return 0, DiskReadError("A reader thread failed.", "Load the model again.", repr(fault))
