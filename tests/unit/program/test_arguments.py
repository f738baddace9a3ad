"""The command line answers without Qt and refuses what makes no sense."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from app.arguments import Arguments, parse_arguments

ROOT = Path(__file__).resolve().parents[3]


def test_everything_given() -> None:
    found = parse_arguments(
        [
            *("m.gguf", "--data-dir", "d", "--simulate", "--ram", "6GiB", "--ctx", "4096"),
            *("--log-level", "debug", "--temp", "0.5"),
        ]
    )
    assert found == Arguments(Path("m.gguf"), Path("d"), True, 6 * 1024**3, 4096, "debug", 0.5)


def test_nothing_given() -> None:
    assert parse_arguments([]) == Arguments()


@pytest.mark.parametrize(
    "argv",
    [
        ["--ram", "much"],
        ["--ram", "0"],
        ["--ctx", "-1"],
        ["--ctx", "many"],
        ["--temp", "-1"],
        ["--temp", "hot"],
        ["--nonsense"],
        ["a", "b"],
    ],
)
def test_bad_usage_ends_with_2(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        parse_arguments(argv)
    assert ended.value.code == 2
    assert "error" in capsys.readouterr().err


@pytest.mark.parametrize(("option", "word"), [("--version", "Emberglass 0"), ("--help", "--data-dir")])
def test_version_and_help_do_not_import_qt(option: str, word: str) -> None:
    check = (
        "import sys\nfrom app.__main__ import main as start\n"
        f"try:\n    start(['{option}'])\nexcept SystemExit as ended:\n    print('code', ended.code)\n"
        "print('qt', any(name.startswith('PySide6') for name in sys.modules))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", check], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60
    )
    assert word in done.stdout
    assert "code 0" in done.stdout
    assert "qt False" in done.stdout
