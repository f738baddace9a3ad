"""Saves an answer while it streams, so that a crash costs at most its last second."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from app.history.errors import HistoryError
from app.history.records import FINAL_STATUSES
from app.history.store import HistoryStore

SAVE_INTERVAL_SECONDS = 0.5


class AnswerWriter:
    """Collects the text of one answer; the thread that owns the store calls it.

    The first words are saved at once, later ones half a second after the save before: by `append` while text
    arrives, by `flush_if_due` in a pause. The window calls that from a timer of at most 500 ms.
    A failed save loses nothing: the text stays here, `save_error` says why, the next due call tries again.
    """

    def __init__(
        self, store: HistoryStore, message_id: int, clock: Callable[[], float], text: str = ""
    ) -> None:
        """`clock` is monotonic, in seconds; `text` is what a resumed answer says already."""
        self._store = store
        self._message_id = message_id
        self._clock = clock
        self._parts = [text]
        self._due_at_seconds = clock()
        self._is_saved = True
        self._ending: tuple[str, Mapping[str, object] | None] | None = None
        self.save_error: HistoryError | None = None

    @property
    def text(self) -> str:
        return "".join(self._parts)

    @property
    def is_saved(self) -> bool:
        """Everything appended so far, and the ending if there is one, is in the store."""
        return self._is_saved

    def append(self, delta: str) -> None:
        """Cheap (a save now and then, about 0.2 ms); never raises HistoryError, see `save_error`."""
        if self._ending is not None:
            raise ValueError("this answer has ended")
        self._parts.append(delta)
        self._is_saved = False
        self.flush_if_due()

    def flush_if_due(self) -> None:
        """Save what is unsaved if the last attempt is half a second old; never raises HistoryError."""
        if not self._is_saved and self._clock() >= self._due_at_seconds:
            self._try_to_save()

    def finish(self, status: str, stats: Mapping[str, object] | None = None) -> None:
        """End the answer (see `HistoryStore.finish_answer`). Raises HistoryError if that can't be saved:
        call `finish` again, or leave it to `flush_if_due`, which keeps trying.
        """
        if status not in FINAL_STATUSES:
            raise ValueError(f"an answer can't end as {status!r}")
        self._ending = (status, stats)
        self._is_saved = False
        self._try_to_save()
        if self.save_error is not None:
            raise self.save_error

    def _try_to_save(self) -> None:
        text = self.text
        self._parts = [text]
        try:
            if self._ending is None:
                self._store.save_answer_text(self._message_id, text)
            else:
                self._store.finish_answer(self._message_id, text, *self._ending)
            self._is_saved, self.save_error = True, None
        except HistoryError as error:
            self.save_error = error
        # measured from the end: a slow disk must not take all of the window's time
        self._due_at_seconds = self._clock() + SAVE_INTERVAL_SECONDS
