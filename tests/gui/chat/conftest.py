from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from tests.support.running_chat import OpenChat, running_chats


@pytest.fixture
def open_chat(qtbot: QtBot, tmp_path: Path) -> Iterator[OpenChat]:
    """Opens the chat of one data folder; opening it again first quits the one before."""
    with running_chats(qtbot, tmp_path) as open_one:
        yield open_one
