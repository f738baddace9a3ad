"""Pins, folders, settings, presets, drafts."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from app.history.errors import HistoryMissingError, HistoryNameError
from app.history.records import ChatSettings
from app.history.store import HistoryStore
from tests.support.wall_clock import WallClock

OpenStore = Callable[[], HistoryStore]
BRIEF = ChatSettings(system_prompt="Sei kurz. 簡潔に。", temperature=0.0, top_k=1, seed=0)


@pytest.fixture
def three(store: HistoryStore, wall_clock: WallClock) -> HistoryStore:
    for title in "abc":
        wall_clock.seconds += 1
        store.create_conversation(title)
    return store


def test_pinned_conversations_come_first(three: HistoryStore) -> None:
    three.set_pinned(1, True)
    assert [(each.title, each.is_pinned) for each in three.conversations()] == [
        ("a", True),
        ("c", False),
        ("b", False),
    ]
    three.set_pinned(1, False)
    assert [each.title for each in three.conversations()] == ["c", "b", "a"]


def test_folders_are_those_in_use(three: HistoryStore) -> None:
    three.set_folder(1, "仕事")
    three.set_folder(2, " recipes ")
    three.set_folder(3, "Books")
    assert three.folders() == ["Books", "recipes", "仕事"]
    assert [each.folder for each in three.conversations()] == ["Books", "recipes", "仕事"]
    three.delete(3)
    three.set_folder(2, "")
    assert three.folders() == ["仕事"]


def test_settings_belong_to_one_conversation(three: HistoryStore, open_store: OpenStore) -> None:
    three.set_settings(1, BRIEF)
    three.close()
    store = open_store()
    assert (store.settings_of(1), store.settings_of(2)) == (BRIEF, ChatSettings())
    store.set_settings(1, ChatSettings())
    assert store.settings_of(1) == ChatSettings()


@pytest.mark.parametrize(
    "stored", ["", "[1]", "{", '{"temperature": "hot", "top_k": 1.5, "seed": true, "later": 1}']
)
def test_damaged_settings_read_as_unset(three: HistoryStore, stored: str) -> None:
    three._database.connection.execute("UPDATE conversations SET settings = ?", (stored,))
    assert three.settings_of(1) == ChatSettings()


def test_presets_are_kept_by_name(three: HistoryStore, open_store: OpenStore) -> None:
    brief = three.save_preset(" Brief ", BRIEF)
    three.save_preset("art", ChatSettings(top_p=0.5))
    three.set_preset(1, brief.id)
    three.close()
    store = open_store()
    assert [each.name for each in store.presets()] == ["art", "Brief"]
    assert store.preset_of(1) == brief
    assert store.preset_of(2) is None
    longer = store.save_preset("Brief", ChatSettings(max_tokens=9), brief.id)
    assert store.preset_of(1) == longer != brief
    store.set_preset(1, None)
    assert store.preset_of(1) is None


def test_deleted_preset_leaves_its_conversations(three: HistoryStore) -> None:
    preset = three.save_preset("Brief", BRIEF)
    three.set_preset(1, preset.id)
    three.delete_preset(preset.id)
    assert (three.presets(), three.preset_of(1), len(three.conversations())) == ([], None, 3)


def test_names_of_presets_are_there_and_differ(three: HistoryStore) -> None:
    preset = three.save_preset("Brief", BRIEF)
    with pytest.raises(HistoryNameError, match="already a preset named “BRIEF”"):
        three.save_preset("BRIEF", BRIEF)
    with pytest.raises(HistoryNameError, match="needs a name"):
        three.save_preset("　", BRIEF)
    assert three.save_preset("BRIEF", BRIEF, preset.id).name == "BRIEF"


def test_unknown_presets_and_conversations_are_named(three: HistoryStore) -> None:
    for action in (
        lambda: three.set_preset(1, 9),
        lambda: three.save_preset("x", BRIEF, 9),
        lambda: three.set_settings(9, BRIEF),
        lambda: three.settings_of(9),
        lambda: three.preset_of(9),
        lambda: three.set_pinned(9, True),
        lambda: three.set_folder(9, "x"),
        lambda: three.duplicate(9),
    ):
        with pytest.raises(HistoryMissingError, match="no longer exists"):
            action()


def test_drafts_stay_with_their_conversation(three: HistoryStore, open_store: OpenStore) -> None:
    three.keep_draft(1, "half a thought 途中")
    three.keep_draft(None, "new")
    three.keep_draft(None, "newer")
    three.close()
    store = open_store()
    assert [store.draft(each) for each in (1, 2, None)] == ["half a thought 途中", "", "newer"]
    store.keep_draft(1, "")
    store.keep_draft(None, "")
    store.keep_draft(99, "nowhere to go")
    assert [store.draft(each) for each in (1, None, 99)] == ["", "", ""]
