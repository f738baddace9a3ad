"""A memory cap for child processes: a control group of their own (cgroup v1 or v2), removed afterwards."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

_MEMBERSHIP = Path("/proc/self/cgroup")
_ROOT = Path("/sys/fs/cgroup")
_REMOVE_ATTEMPTS, _REMOVE_PAUSE_SECONDS = (
    50,
    0.02,
)  # the kernel empties a group shortly after its last process


@dataclass(frozen=True, slots=True)
class GroupFiles:
    """File names of one cgroup version; `limits` are (file, value) in writing order, "{}" is the cap.

    Files of `optional` exist only where swap is accounted.
    """

    limits: tuple[tuple[str, str], ...]
    optional: tuple[str, ...]
    peak: str


V1 = GroupFiles(
    (("memory.limit_in_bytes", "{}"), ("memory.memsw.limit_in_bytes", "{}")),
    ("memory.memsw.limit_in_bytes",),
    "memory.max_usage_in_bytes",
)
V2 = GroupFiles((("memory.max", "{}"), ("memory.swap.max", "0")), ("memory.swap.max",), "memory.peak")


@dataclass(frozen=True, slots=True)
class CappedGroup:
    """A group under a cap; `folder` None: the cap could not be set, `refusal` says why."""

    folder: Path | None
    files: GroupFiles = V1
    refusal: str = ""

    def wrap(self, command: list[str]) -> list[str]:
        """The command line that joins the group before it becomes `command`, so that all memory counts."""
        if self.folder is None:
            return command
        return ["/bin/sh", "-c", 'echo $$ > "$0" && exec "$@"', str(self.folder / "cgroup.procs"), *command]

    def peak_bytes(self) -> int | None:
        """Most memory the group has held, page cache included; None if the system doesn't tell."""
        if self.folder is None:
            return None
        with suppress(OSError, ValueError):
            return int((self.folder / self.files.peak).read_text())
        return None


class GroupTree:
    """Makes and removes group folders; tests put a plain folder in its place."""

    def make(self, folder: Path) -> None:
        """Create one group."""
        folder.mkdir()

    def remove(self, folder: Path) -> None:
        """Remove one group; it must be empty of processes."""
        folder.rmdir()


def candidate_parents(membership: str, root: Path) -> list[tuple[Path, GroupFiles]]:
    """Groups to try as parent, nearest first: this process's own, then those above it."""
    found: list[tuple[Path, GroupFiles]] = []
    for line in membership.splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            found += [(folder, V2) for folder in _upwards(root, path)]
        elif "memory" in controllers.split(","):
            found += [(folder, V1) for folder in _upwards(root / "memory", path)]
    return [(folder, files) for folder, files in found if folder.is_dir()]


def _upwards(mount: Path, path: str) -> list[Path]:
    parts = [part for part in path.split("/") if part not in ("", "..")]
    return [mount.joinpath(*parts[:count]) for count in range(len(parts), -1, -1)]


@contextmanager
def capped_group(
    cap_bytes: int | None,
    membership: Path = _MEMBERSHIP,
    root: Path = _ROOT,
    tree: GroupTree | None = None,
) -> Iterator[CappedGroup]:
    """A group whose processes together may hold `cap_bytes`; no cap, no group. Removed at the end."""
    tree = tree or GroupTree()
    if cap_bytes is None:
        yield CappedGroup(None)
        return
    group = _make_group(cap_bytes, membership, root, tree)
    try:
        yield group
    finally:
        if group.folder is not None:
            _remove(group.folder, tree)


def _make_group(cap_bytes: int, membership: Path, root: Path, tree: GroupTree) -> CappedGroup:
    try:
        parents = candidate_parents(membership.read_text(), root)
    except OSError:
        parents = []
    refusal = "this system has no memory control groups"
    for parent, files in parents:
        folder = parent / f"emberglass-bench-{os.getpid()}"
        try:
            tree.make(folder)
        except OSError as error:
            refusal = f"no control group may be made ({error.strerror})"
            continue
        try:
            _limit(folder, files, cap_bytes)
            return CappedGroup(folder, files)
        except OSError as error:
            refusal = f"the control group takes no memory limit ({error.strerror})"
            _remove(folder, tree)
    return CappedGroup(None, refusal=refusal)


def _limit(folder: Path, files: GroupFiles, cap_bytes: int) -> None:
    for name, value in files.limits:
        file = folder / name
        if name in files.optional and not file.exists():
            continue
        with os.fdopen(os.open(file, os.O_WRONLY), "w") as target:  # never creates: a missing file is a fault
            target.write(value.format(cap_bytes))


def _remove(folder: Path, tree: GroupTree) -> None:
    for _ in range(_REMOVE_ATTEMPTS):
        try:
            tree.remove(folder)
        except FileNotFoundError:
            return
        except OSError:
            time.sleep(_REMOVE_PAUSE_SECONDS)
        else:
            return
