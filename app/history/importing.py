"""Conversations out of an exported text; a fault is named by its place, and then nothing is imported."""

from __future__ import annotations

import json
from typing import NoReturn

from app.history.conversation_copy import HistoryCopy
from app.history.errors import HistoryImportError
from app.history.export import FORMAT, FORMAT_VERSION
from app.history.import_reading import Fields, read_conversation, read_preset
from app.history.store import HistoryStore

_NEXT_STEP = "Nothing was imported. Choose a JSON file that Emberglass has exported."


def import_json(store: HistoryStore, text: str) -> list[int]:
    """Add the conversations of an export, all or none; returns their new ids in the order of the file.

    What is there stays: importing twice gives two of each. Raises HistoryImportError for a faulty text.
    """
    return store.add_copy(read_json(text))


def read_json(text: str) -> HistoryCopy:
    """Raises HistoryImportError."""
    try:
        values = json.loads(text, parse_constant=_refuse_constant)
    except RecursionError as error:
        raise HistoryImportError("The file is nested too deeply to be an export.", _NEXT_STEP) from error
    except ValueError as error:
        raise HistoryImportError("The file is not JSON, or it is cut off.", _NEXT_STEP, str(error)) from error
    return _read_history(values)


def _read_history(values: object) -> HistoryCopy:
    if not isinstance(values, dict) or values.get("format") != FORMAT:
        raise HistoryImportError("The file is JSON, but no export of conversations.", _NEXT_STEP)
    fields = Fields(values, "")
    if fields.whole("version", at_least=1) > FORMAT_VERSION:
        raise HistoryImportError(
            "The file was exported by a newer version of Emberglass.", "Update Emberglass and import again."
        )
    presets = dict(read_preset(each) for each in fields.objects("presets", "preset"))
    conversations = [
        read_conversation(each, presets.keys()) for each in fields.objects("conversations", "conversation")
    ]
    return HistoryCopy(tuple(conversations), tuple(presets.items()))


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON value")
