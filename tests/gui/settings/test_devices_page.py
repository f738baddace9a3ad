"""Other machines are added after a warning, listed, removed, and kept."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QSettings, Qt
from PySide6.QtWidgets import QMessageBox, QPushButton
from pytestqt.qtbot import QtBot

from app.settings.device_choices import DeviceChoices
from app.settings.devices_page import DevicesPage


@pytest.fixture
def settings(tmp_path: Path) -> QSettings:
    return QSettings(str(tmp_path / "window.ini"), QSettings.Format.IniFormat)


@pytest.fixture
def choices(settings: QSettings) -> DeviceChoices:
    return DeviceChoices(settings)


@pytest.fixture
def page(qtbot: QtBot, choices: DeviceChoices) -> DevicesPage:
    page = DevicesPage(choices)
    qtbot.addWidget(page)
    page.show()
    return page


def _enter(qtbot: QtBot, page: DevicesPage, text: str) -> None:
    page.address.setText(text)
    qtbot.keyClick(page.address, Qt.Key.Key_Return)


def _listed(page: DevicesPage) -> list[str]:
    return [page.list.item(row).text() for row in range(page.list.count())]


def _warning(page: DevicesPage) -> QMessageBox:
    return next(box for box in page.findChildren(QMessageBox) if box.isVisible())


def test_this_machine_needs_no_warning(
    qtbot: QtBot, page: DevicesPage, choices: DeviceChoices, settings: QSettings
) -> None:
    with qtbot.waitSignal(choices.changed):
        _enter(qtbot, page, "127.0.0.1:50052")
    assert page.findChildren(QMessageBox) == []
    assert _listed(page) == ["rpc:127.0.0.1:50052"]
    assert page.address.text() == ""
    assert DeviceChoices(settings).addresses == ("rpc:127.0.0.1:50052",)


def test_another_machine_is_added_only_after_the_warning(
    qtbot: QtBot, page: DevicesPage, choices: DeviceChoices
) -> None:
    _enter(qtbot, page, "192.168.1.20:50052")
    box = _warning(page)
    assert "no authentication and no encryption" in box.informativeText()
    assert choices.addresses == ()
    box.reject()
    assert choices.addresses == ()
    assert page.address.text() == "192.168.1.20:50052"  # what was typed is not lost
    page.add.click()
    next(each for each in _warning(page).findChildren(QPushButton) if each.text() == "Add it").click()
    assert choices.addresses == ("rpc:192.168.1.20:50052",)


def test_a_bad_address_is_named_and_stays(qtbot: QtBot, page: DevicesPage, choices: DeviceChoices) -> None:
    _enter(qtbot, page, "box")
    assert page.fault.text() == "⚠ “box” names no port. Write HOST:PORT, like 192.168.1.20:50052."
    assert page.address.text() == "box"
    assert choices.addresses == ()
    qtbot.keyClicks(page.address, ":1")
    assert page.fault.isHidden()


def test_one_address_is_there_once(qtbot: QtBot, page: DevicesPage, choices: DeviceChoices) -> None:
    _enter(qtbot, page, "localhost:1")
    _enter(qtbot, page, "rpc:LOCALHOST:1")
    assert page.fault.text() == "⚠ “rpc:localhost:1” is in the list already."
    assert choices.addresses == ("rpc:localhost:1",)


def test_the_chosen_one_is_removed(qtbot: QtBot, page: DevicesPage, choices: DeviceChoices) -> None:
    assert not page.remove.isEnabled()
    for port in (1, 2, 3):
        _enter(qtbot, page, f"localhost:{port}")
    page.list.setCurrentRow(1)
    page.remove.click()
    assert _listed(page) == ["rpc:localhost:1", "rpc:localhost:3"]
    assert choices.addresses == ("rpc:localhost:1", "rpc:localhost:3")


@pytest.mark.parametrize("stored", ["", "nonsense", "3", '["box", 3, "RPC:box:1"]'])
def test_damaged_settings_are_ignored(settings: QSettings, choices: DeviceChoices, stored: str) -> None:
    settings.setValue("devices/remote", stored)
    assert choices.addresses == ()
