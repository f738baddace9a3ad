"""A profile comes back as it was written, or not at all."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest

from engine.errors import ProfileFileError
from engine.placement import heat_profile
from engine.placement.heat_profile import HeatProfile, ProfileFile
from engine.placement.use_estimate import KnownUse

_LAYERS = (1, 3)
_CHANCE = np.array([[0.5, 0.25, 0.125, 0.125], [0.0, 1 / 3, 1 / 3, 1 / 3]])
_TOKENS = np.array([70, 4])
_USE = KnownUse(_CHANCE, _TOKENS)
_HEAT = np.array([[30.0, 10.0, 5.0, 5.0], [0.0, 0.0, 0.0, 0.0]])


def written(folder: Path, profile: HeatProfile) -> ProfileFile:
    file = ProfileFile(folder / "new" / "profiles", "0123abcd")
    file.save(profile)
    return file


def test_comes_back_bit_for_bit(tmp_path: Path) -> None:
    file = written(tmp_path, HeatProfile(_LAYERS, _USE, _HEAT))
    found = file.load()
    assert found is not None
    assert found.moe_layers == _LAYERS
    assert found.use is not None
    assert np.array_equal(found.use.chance, _CHANCE)
    assert np.array_equal(found.use.tokens, _TOKENS)
    assert np.array_equal(found.heat, _HEAT)
    assert [path.name for path in file.folder.iterdir()] == ["0123abcd.heat"]


def test_what_was_never_learned_is_not_there(tmp_path: Path) -> None:
    found = written(tmp_path, HeatProfile(_LAYERS, heat=_HEAT)).load()
    assert found is not None
    assert found.use is None
    assert ProfileFile(tmp_path, "other").load() is None


def test_damage_anywhere_is_noticed(tmp_path: Path) -> None:
    file = written(tmp_path, HeatProfile(_LAYERS, _USE))
    whole = file.path.read_bytes()
    for place in range(0, len(whole), 7):
        file.path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(ProfileFileError, match="damaged"):
            file.load()
    for length in (0, 5, 32, len(whole) - 1):
        file.path.write_bytes(whole[:length])
        with pytest.raises(ProfileFileError):
            file.load()


def test_a_sound_file_with_something_else_in_it(tmp_path: Path) -> None:
    file = ProfileFile(tmp_path, "0123abcd")
    for body in (b"", b"no archive", b"PK\x05\x06" + bytes(18)):
        file.path.write_bytes(hashlib.sha256(body).digest() + body)
        with pytest.raises(ProfileFileError):
            file.load()


def test_the_profile_of_another_model_is_refused(tmp_path: Path) -> None:
    file = written(tmp_path, HeatProfile(_LAYERS, _USE))
    foreign = ProfileFile(file.folder, "ffff")
    file.path.rename(foreign.path)
    with pytest.raises(ProfileFileError, match="another model"):
        foreign.load()


@pytest.mark.parametrize("wrong", [np.full((2, 4), np.nan), np.full((2, 4), -1.0), np.ones((3, 4))])
def test_impossible_tables_are_refused(tmp_path: Path, wrong: np.ndarray) -> None:
    file = written(tmp_path, HeatProfile(_LAYERS, heat=wrong))
    with pytest.raises(ProfileFileError, match="tables"):
        file.load()


def test_a_write_that_fails_leaves_the_old_profile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = written(tmp_path, HeatProfile(_LAYERS, _USE))

    def no_space(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(heat_profile.os, "fsync", no_space)
    with pytest.raises(ProfileFileError, match="No space left"):
        file.save(HeatProfile(_LAYERS, heat=_HEAT))
    found = file.load()
    assert found is not None
    assert found.use is not None
    assert np.array_equal(found.use.chance, _CHANCE)
    assert len(list(file.folder.iterdir())) == 1


def test_a_folder_that_is_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("x")
    with pytest.raises(ProfileFileError, match="taken"):
        ProfileFile(tmp_path / "taken", "ab").check_writable()


def test_chances_serve_as_heat_and_the_other_way_round() -> None:
    # an expert picked with chance p gains p per token while heat fades by 2 %
    heat = HeatProfile(_LAYERS, _USE).heat_of(_LAYERS, 4)
    gained = [sum(0.98**age for age in range(tokens)) for tokens in _TOKENS]
    assert heat == pytest.approx(_CHANCE * np.array(gained)[:, None])
    use = HeatProfile(_LAYERS, heat=_HEAT).use_of(_LAYERS, 4, top_k=2)
    assert use is not None
    assert use.chance == pytest.approx(np.array([[1.0, 0.4, 0.2, 0.2], [0, 0, 0, 0]]))
    assert use.tokens.tolist() == [25, 0]  # 50 picks, two of each token


def test_rows_are_found_by_layer_number() -> None:
    profile = HeatProfile(_LAYERS, _USE)
    found = profile.use_of((3, 7), 4, top_k=1)
    assert found is not None
    assert found.chance == pytest.approx(np.array([_CHANCE[1], [0, 0, 0, 0]]))
    assert found.tokens.tolist() == [4, 0]
    assert profile.use_of((1,), 8, top_k=1) is None
    assert HeatProfile(_LAYERS).heat_of(_LAYERS, 4) is None
