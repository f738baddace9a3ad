"""Export and import: everything comes back, and a faulty file changes nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from app.history.errors import HistoryError, HistoryFileError, HistoryImportError, HistoryMissingError
from app.history.export import export_json
from app.history.importing import import_json
from app.history.records import Attachment, ChatSettings
from app.history.store import HistoryStore
from tests.support.wall_clock import WallClock

OpenStore = Callable[[], HistoryStore]
BRIEF = ChatSettings(system_prompt="簡潔に", temperature=0.0, min_p=0.25)


@pytest.fixture
def other(tmp_path: Path, wall_clock: WallClock) -> Iterator[HistoryStore]:
    with closing(HistoryStore(tmp_path / "other.db", wall_clock)) as store:
        store.create_conversation("was here before")
        yield store


@pytest.fixture
def rich(store: HistoryStore, wall_clock: WallClock) -> HistoryStore:
    """1: three branches with everything there is; 2: plain; 3: deleted."""
    store.create_conversation('旅行 "x" 😀')
    question = store.add_user_message(1, "読んで", (Attachment("メモ.txt", "a\r\n\0"), Attachment("b", "")))
    wall_clock.seconds += 10
    first = store.begin_answer(1, "moe-1")
    store.finish_answer(first.id, "<think>hm</think>one", "complete", {"tokens": 3, "ttft": {"ns": [1, 2.5]}})
    second = store.begin_answer(1, "moe-2", parent_id=question.id)
    store.finish_answer(second.id, "half", "stopped", None)
    gone = store.add_user_message(1, "deleted words")
    store.delete_message(gone.id)
    store.add_user_message(1, "edited", parent_id=None)
    store.choose_version(first.id)
    store.set_pinned(1, True)
    store.set_folder(1, "仕事")
    store.set_settings(1, ChatSettings(seed=7, top_p=0.5))
    store.set_preset(1, store.save_preset("Brief", BRIEF).id)
    store.save_preset("Unused", ChatSettings(top_k=2))
    store.create_conversation("plain")
    store.add_user_message(2, "hello")
    store.create_conversation("deleted")
    store.delete(3)
    return store


def test_all_of_it_comes_back_the_same(rich: HistoryStore, other: HistoryStore) -> None:
    text = export_json(rich)
    assert import_json(other, text) == [2, 3]
    assert json.loads(export_json(other, [2, 3]))["conversations"] == json.loads(text)["conversations"]
    assert other.presets()[1].name == "Unused"
    first, *_ = other.conversations()
    assert (first.title, first.is_pinned, first.folder) == ('旅行 "x" 😀', True, "仕事")
    assert (first.created_at_seconds, first.updated_at_seconds, first.model_name) == (
        1_800_000_000.0,
        1_800_000_010.0,
        "moe-2",
    )
    assert other.settings_of(2) == ChatSettings(seed=7, top_p=0.5)
    preset = other.preset_of(2)
    assert preset is not None
    assert (preset.name, preset.settings) == ("Brief", BRIEF)


def test_branches_files_and_figures_come_back(rich: HistoryStore, other: HistoryStore) -> None:
    import_json(other, export_json(rich, [1]))
    question, answer = other.messages(2)
    assert question.attachments == (Attachment("メモ.txt", "a\r\n\0"), Attachment("b", ""))
    assert (answer.text, answer.model_name) == ("<think>hm</think>one", "moe-1")
    assert answer.stats == {"tokens": 3, "ttft": {"ns": [1, 2.5]}}
    assert (question.sibling_ids, answer.sibling_ids) == ((1, 4), (2, 3))
    assert answer.created_at_seconds == 1_800_000_010.0
    other.choose_version(3)
    assert [(each.text, each.status) for each in other.messages(2)][1] == ("half", "stopped")
    other.choose_version(4)
    assert [each.text for each in other.messages(2)] == ["edited"]
    assert (other.search("deleted words"), len(other.search("読ん"))) == ([], 1)
    assert other.add_user_message(2, "goes on").parent_id == 4


def test_json_is_readable_text(rich: HistoryStore) -> None:
    text = export_json(rich, [2])
    assert json.loads(text)["conversations"][0]["messages"][0]["text"] == "hello"
    assert "読んで" in export_json(rich, [1])


def test_an_answer_that_streams_is_exported_as_it_is_now(rich: HistoryStore, other: HistoryStore) -> None:
    answer = rich.begin_answer(2, "m")
    rich.save_answer_text(answer.id, "so far")
    import_json(other, export_json(rich, [2]))
    kept = other.messages(2)[1]
    assert (kept.text, kept.status) == ("so far", "interrupted")
    assert rich.messages(2)[1].status == "streaming"


def test_unknown_conversation_is_named(rich: HistoryStore) -> None:
    with pytest.raises(HistoryMissingError):
        export_json(rich, [2, 99])


def test_a_preset_is_shared_if_it_is_the_same_and_numbered_if_not(
    rich: HistoryStore, other: HistoryStore
) -> None:
    mine = other.save_preset("brief", ChatSettings(top_k=9))
    text = export_json(rich, [1])
    import_json(other, text)
    import_json(other, text)
    assert [each.name for each in other.presets()] == ["brief", "Brief (2)"]
    assert other.presets()[0] == mine
    assert {other.preset_of(each) for each in (2, 3)} == {other.presets()[1]}


# --- faulty files ----------------------------------------------------------------------------


def export_with(conversation: object = None, **values: object) -> str:
    whole = {"format": "emberglass-conversations", "version": 1}
    if conversation is not None:
        whole |= {"conversations": [{"title": "sound"}, conversation]}  # type: ignore[dict-item]
    return json.dumps(whole | values)


def with_message(**values: object) -> str:
    sound = {"role": "user", "text": "sound"}
    return export_with({"messages": [sound, {"role": "user", "text": "x", **values}]})


FAULTY = [
    ("", "is not JSON, or it is cut off"),
    ("<html>", "is not JSON"),
    (export_with({"title": "x"})[:-5], "is not JSON, or it is cut off"),
    ("[" * 100_000, "JSON|nested too deeply"),
    ("1" * 10_000, "is not JSON"),
    ("[]", "no export of conversations"),
    ('{"messages": []}', "no export of conversations"),
    (export_with(version=2), "newer version of Emberglass"),
    (export_with(version="1"), "“version” must be a whole number"),
    (export_with(version=True), "“version” must be a whole number"),
    (export_with(conversations={}), "“conversations” must be a list"),
    (export_with(conversations=["x"]), "“conversations” must be a list of objects"),
    (export_with(presets=[{"name": " "}]), "preset 1: “name” must not be empty"),
    (export_with(presets=[{"name": "x", "settings": {"seed": "y"}}]), "preset 1: “settings.seed”"),
    (export_with({"title": 5}), "conversation 2: “title” must be a text"),
    (export_with({"is_pinned": 1}), "conversation 2: “is_pinned” must be true or false"),
    (export_with({"preset": "none such"}), "conversation 2: “preset” must be the name"),
    (export_with({"settings": []}), "conversation 2: “settings” must be an object"),
    (export_with({"settings": {"top_k": 1.5}}), "“settings.top_k” has a value of the wrong kind"),
    (export_with({"created_at_seconds": -1}), "“created_at_seconds” must be a time"),
    (export_with({"created_at_seconds": 1e300}), "“created_at_seconds” must be a time"),
    (export_with({"updated_at_seconds": float("nan")}), "is not JSON"),
    (export_with({"leaf": 0}), "conversation 2: “leaf” must be the place of one of the messages"),
    (export_with({"messages": [{"text": "x"}]}), "conversation 2, message 1: “role” must be a text"),
    (with_message(role="robot"), "conversation 2, message 2: “role” must be “user” or “assistant”"),
    (with_message(text=None), "message 2: “text” must be a text"),
    (with_message(status="odd"), "message 2: “status” must be one of complete, failed"),
    (with_message(parent=1), "message 2: “parent” must be the place of a message before"),
    (with_message(parent=-1), "message 2: “parent” must be the place"),
    (with_message(stats=[]), "message 2: “stats” must be an object"),
    (with_message(attachments=[{"name": "x"}]), "message 2, attachment 1: “text” must be a text"),
]


@pytest.mark.parametrize(("text", "fault"), FAULTY)
def test_faulty_file_is_named_and_changes_nothing(other: HistoryStore, text: str, fault: str) -> None:
    with pytest.raises(HistoryImportError, match=fault) as raised:
        import_json(other, text)
    assert raised.value.next_step
    assert [each.title for each in other.conversations()] == ["was here before"]
    assert other.presets() == []


def test_a_fault_of_the_disk_imports_nothing(rich: HistoryStore, other: HistoryStore) -> None:
    text = export_json(rich)
    connection = other._database.connection
    connection.execute(
        "CREATE TEMP TRIGGER full BEFORE INSERT ON main.messages WHEN new.text = 'hello' "
        "BEGIN SELECT RAISE(ABORT, 'disk'); END"
    )
    with pytest.raises(HistoryError, match="disk"):
        import_json(other, text)
    assert ([each.id for each in other.conversations()], other.presets()) == ([1], [])


def test_short_and_later_files_are_understood(other: HistoryStore) -> None:
    text = with_message(status="streaming", parent=0, later={"x": 1})
    assert import_json(other, text) == [2, 3]
    assert [(each.text, each.status) for each in other.messages(3)] == [
        ("sound", "complete"),
        ("x", "interrupted"),
    ]
    assert import_json(other, export_with()) == []


# --- duplicates and backups -------------------------------------------------------------------


def test_duplicate_has_all_branches_and_a_life_of_its_own(rich: HistoryStore, wall_clock: WallClock) -> None:
    wall_clock.seconds += 5
    twin = rich.duplicate(1)
    assert (twin.title, twin.is_pinned, twin.folder) == ('旅行 "x" 😀 (copy)', False, "仕事")
    assert twin.updated_at_seconds == wall_clock.seconds
    assert [each.text for each in rich.messages(twin.id)] == ["読んで", "<think>hm</think>one"]
    assert [len(each.sibling_ids) for each in rich.messages(twin.id)] == [2, 2]
    assert rich.preset_of(twin.id) == rich.preset_of(1)
    assert rich.settings_of(twin.id) == rich.settings_of(1)
    rich.add_user_message(twin.id, "only here")
    assert len(rich.messages(1)) == 2
    assert len(rich.presets()) == 2


def test_backup_in_one_file_holds_everything(rich: HistoryStore, tmp_path: Path) -> None:
    target = tmp_path / "副本 folder" / "backup.sqlite3"
    target.parent.mkdir()
    target.write_text("an older one")
    rich.backup_to(target)
    assert [each.name for each in target.parent.iterdir()] == ["backup.sqlite3"]
    with closing(HistoryStore(target)) as opened:
        assert opened.opening_note == ""
        assert export_json(opened) == export_json(rich)


def test_backup_that_cannot_be_written_is_named(rich: HistoryStore, path: Path, tmp_path: Path) -> None:
    for target, fault in (
        (tmp_path / "no such folder" / "b.sqlite3", "couldn’t be written"),
        (path, "keeps its own files under that name"),
        (path.with_name("history.db-wal"), "keeps its own files under that name"),
    ):
        with pytest.raises(HistoryFileError, match=fault):
            rich.backup_to(target)
    assert len(rich.conversations()) == 2
