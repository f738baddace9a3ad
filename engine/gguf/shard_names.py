"""Names of the files of a model that was split: NAME-00001-of-00003.gguf."""

from __future__ import annotations

import re
from pathlib import Path

from engine.errors import ModelFileError

_NAME = re.compile(r"^(?P<stem>.+)-(?P<number>\d{5})-of-(?P<count>\d{5})(?P<suffix>\.gguf)$", re.IGNORECASE)


def shard_paths(path: Path, number: int, count: int) -> tuple[Path, ...]:
    """All files of the model that `path` begins; `number` and `count` are its split.no and split.count.

    Raises ModelFileError if `path` is not the first, or if one is missing.
    """
    if count <= 1:
        return (path,)
    match = _NAME.match(path.name)
    if match is None:
        raise ModelFileError(
            f"{path.name} is part {number + 1} of {count} of a model, but its name does not say so.",
            f"Give the parts their names back, like model-00001-of-{count:05d}.gguf.",
        )
    paths = tuple(
        path.with_name(f"{match['stem']}-{i:05d}-of-{match['count']}{match['suffix']}")
        for i in range(1, count + 1)
    )
    if number != 0:
        raise ModelFileError(
            f"{path.name} is part {number + 1} of {count} of this model.",
            f"Open the first part instead: {paths[0].name}.",
        )
    missing = [other.name for other in paths if not other.exists()]
    if missing:
        raise ModelFileError(
            f"The model has {count} parts, and {', '.join(missing[:3])}"
            f"{' and more are' if len(missing) > 3 else ' is' if len(missing) == 1 else ' are'} missing.",
            f"Put all parts into the folder {path.parent}.",
        )
    return paths
