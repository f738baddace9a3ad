"""The page for devices: other machines whose memory holds weights."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent
from PySide6.QtWidgets import (
    QGroupBox,
    QHBoxLayout,
    QLabel,
    QListWidget,
    QListWidgetItem,
    QMessageBox,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from app.settings.device_address import is_loopback, parse_address
from app.settings.device_choices import DeviceChoices
from app.text_field import TextField
from engine.errors import UsageError

_ABOUT = (
    "A machine that runs llama.cpp’s “rpc-server” can hold weights and compute with them. Models you open "
    "from now on use the machines in this list; the Budget page of the inspector chooses for a single model. "
    "The demo model and the simulated run stay on this machine unless you choose otherwise there."
)
_WARNING = (
    "llama.cpp’s RPC protocol has no authentication and no encryption: whoever can reach the server can use "
    "it, and whoever is on the way can read and change what is sent, what your conversations say included. "
    "Use it only in a network where you trust everyone, and never open the server to the internet."
)
_QUESTION = "Use “{address}” without protection?"
_LIST_ROWS = 5


class DevicesPage(QWidget):
    """Each change takes effect with the next load."""

    def __init__(self, choices: DeviceChoices) -> None:
        super().__init__()
        self._choices = choices
        self.list = QListWidget()
        self.list.setAccessibleName("Other machines")
        self.list.setFixedHeight(self.fontMetrics().lineSpacing() * (_LIST_ROWS + 1))
        self.address = TextField("Address of another machine", "192.168.1.20:50052")
        self.fault = _words("")
        self.fault.setAccessibleName("What is wrong with the address")
        self.fault.hide()
        self.add, self.remove = QPushButton("Add"), QPushButton("Remove")
        for button in (self.add, self.remove):
            button.setAutoDefault(False)
        self.remove.setToolTip("Loads from now on don’t use the chosen machine any more.")
        self._build_layout()
        self.add.clicked.connect(self.add_typed)
        self.address.returnPressed.connect(self.add_typed)
        self.address.textEdited.connect(lambda _text: self._show_fault(""))
        self.remove.clicked.connect(self._remove_chosen)
        self.list.currentItemChanged.connect(lambda _now, _before: self._show_state())
        self._show_list()

    def _build_layout(self) -> None:
        box = QGroupBox("Memory of other machines")
        inside = QVBoxLayout(box)
        label = QLabel("Addr&ess")
        label.setBuddy(self.address)
        line, below = QHBoxLayout(), QHBoxLayout()
        for widget in (label, self.address, self.add):
            line.addWidget(widget)
        below.addWidget(self.remove)
        below.addStretch(1)
        inside.addWidget(_words(_ABOUT))
        inside.addWidget(_words(f"⚠ {_WARNING}"))
        inside.addLayout(line)
        inside.addWidget(self.fault)
        inside.addWidget(self.list)
        inside.addLayout(below)
        layout = QVBoxLayout(self)
        layout.addWidget(box)
        layout.addStretch(1)

    # --- changing -----------------------------------------------------------------------------

    def add_typed(self) -> None:
        """Add what is in the field; a machine in the network only after the warning was read."""
        try:
            address = parse_address(self.address.text())
        except UsageError as error:
            self._show_fault(str(error))
            return
        if address in self._choices.addresses:
            self._show_fault(f"“{address}” is in the list already.")
        elif is_loopback(address):
            self._add(address)
        else:
            self._ask(address)

    def _ask(self, address: str) -> None:
        box = QMessageBox(QMessageBox.Icon.Warning, "Another machine", _QUESTION.format(address=address),
                          QMessageBox.StandardButton.Cancel, self)  # fmt: skip
        box.setTextFormat(Qt.TextFormat.PlainText)
        box.setInformativeText(_WARNING)
        use = box.addButton("Add it", QMessageBox.ButtonRole.AcceptRole)
        box.setDefaultButton(QMessageBox.StandardButton.Cancel)
        use.clicked.connect(lambda: self._add(address))
        box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        box.open()

    def _add(self, address: str) -> None:
        self._choices.add(address)
        self.address.clear()
        self._show_list()
        self.address.setFocus()

    def _remove_chosen(self) -> None:
        item = self.list.currentItem()
        if item is not None:
            self._choices.remove(item.text())
            self._show_list()
            self.list.setFocus()

    # --- showing ------------------------------------------------------------------------------

    def _show_list(self) -> None:
        self.list.clear()
        for address in self._choices.addresses:
            self.list.addItem(QListWidgetItem(address))
        if self.list.count():
            self.list.setCurrentRow(self.list.count() - 1)
        self._show_fault("")
        self._show_state()

    def _show_state(self) -> None:
        self.remove.setEnabled(self.list.currentItem() is not None)

    def _show_fault(self, words: str) -> None:
        self.fault.setText(f"⚠ {words}" if words else "")
        self.fault.setVisible(bool(words))
        self.address.setAccessibleDescription(words)
        if words:
            QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self.address, words))


def _words(text: str) -> QLabel:
    label = QLabel(text)
    label.setWordWrap(True)
    label.setTextFormat(Qt.TextFormat.PlainText)
    return label
