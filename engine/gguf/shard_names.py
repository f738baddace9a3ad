"""Names of the files of a model that was split: NAME-00001-of-00003.gguf."""

from __future__ import annotations

import re
from pathlib import Path

from engine.errors import ModelFileError
from engine.gguf.file_faults import shown

# llama.cpp finds the other parts by exactly this pattern
_NAME = re.compile(r"(?P<stem>.+)-(?P<number>[0-9]{5})-of-(?P<count>[0-9]{5})\.gguf", re.DOTALL)


def model_stem(path: Path) -> str:
    """The file's name without its suffix and without the number of the part."""
    match = _NAME.fullmatch(path.name)
    return match["stem"] if match else path.stem


def shard_paths(path: Path, number: int, count: int) -> tuple[Path, ...]:
    """All files of the model that `path` begins; `number` and `count` are its split.no and split.count.

    Raises ModelFileError if `path` is not the first, or if one is missing.
    """
    if count <= 1:
        return (path,)
    match = _NAME.fullmatch(path.name)
    if match is None or (int(match["number"]), int(match["count"])) != (number + 1, count):
        raise ModelFileError(
            f"{shown(path)} is part {number + 1} of {count} of a model, but its name does not say so.",
            f"Give all parts their names back: this one must end in -{number + 1:05d}-of-{count:05d}.gguf.",
        )
    paths = tuple(path.with_name(f"{match['stem']}-{i:05d}-of-{count:05d}.gguf") for i in range(1, count + 1))
    if number != 0:
        raise ModelFileError(
            f"{shown(path)} is part {number + 1} of {count} of a model.",
            f"Open the first part instead: {shown(paths[0])}.",
        )
    _refuse_missing(paths)
    return paths


def _refuse_missing(paths: tuple[Path, ...]) -> None:
    missing = [shown(path) for path in paths if not path.exists()]
    if missing:
        names = ", ".join(missing[:3]) + (f" and {len(missing) - 3} more" if len(missing) > 3 else "")
        raise ModelFileError(
            f"The model has {len(paths)} parts; missing here: {names}.",
            f"Put all parts into the folder of {shown(paths[0])}.",
        )
