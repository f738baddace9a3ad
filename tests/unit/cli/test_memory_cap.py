"""Control groups on a plain folder tree that stands for the kernel's."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from engine.cli.memory_cap import V1, V2, CappedGroup, GroupTree, candidate_parents, capped_group
from engine.cli.page_cache import drop_page_cache

CAP = 2_500_000_000
V1_FILES = ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes", "memory.max_usage_in_bytes")
V2_FILES = ("memory.max", "memory.swap.max", "memory.peak")


class FakeTree(GroupTree):
    """A new group has the files that the kernel would put there; some parents refuse."""

    def __init__(self, files: tuple[str, ...], refusing: tuple[Path, ...] = ()) -> None:
        self.files, self.refusing = files, refusing
        self.made: list[Path] = []
        self.limits: dict[str, str] = {}

    def make(self, folder: Path) -> None:
        if folder.parent in self.refusing:
            raise PermissionError(13, "Permission denied")
        folder.mkdir()
        self.made.append(folder)
        for name in self.files:
            (folder / name).write_text("")

    def remove(self, folder: Path) -> None:
        self.limits = {file.name: file.read_text() for file in folder.iterdir()}
        for file in folder.iterdir():
            file.unlink()
        folder.rmdir()


@pytest.fixture
def membership(tmp_path: Path) -> Path:
    for path in ("memory/service/job", "unified/service"):
        (tmp_path / path).mkdir(parents=True)
    file = tmp_path / "cgroup"
    file.write_text("5:cpu:/elsewhere\n4:memory:/service/job\n0::/gone\n")
    return file


def test_parents_are_tried_from_the_own_group_upwards(tmp_path: Path, membership: Path) -> None:
    v1 = [tmp_path / "memory/service/job", tmp_path / "memory/service", tmp_path / "memory"]
    found = candidate_parents(membership.read_text(), tmp_path)
    assert found == [*((folder, V1) for folder in v1), (tmp_path, V2)]


def test_version_1_limits_memory_and_swap_and_cleans_up(tmp_path: Path, membership: Path) -> None:
    tree = FakeTree(V1_FILES)
    with capped_group(CAP, membership, tmp_path, tree) as group:
        assert group.folder is not None
        assert group.folder.parent == tmp_path / "memory/service/job"
        (group.folder / "memory.max_usage_in_bytes").write_text("123\n")
        assert group.peak_bytes() == 123
    assert not group.folder.exists()
    assert tree.limits["memory.limit_in_bytes"] == tree.limits["memory.memsw.limit_in_bytes"] == str(CAP)


def test_version_2_allows_no_swap(tmp_path: Path) -> None:
    file = tmp_path / "cgroup"
    file.write_text("0::/user\n")
    (tmp_path / "user").mkdir()
    tree = FakeTree(V2_FILES)
    with capped_group(CAP, file, tmp_path, tree) as group:
        assert group.folder is not None
        assert group.folder.parent == tmp_path / "user"
    assert (tree.limits["memory.max"], tree.limits["memory.swap.max"]) == (str(CAP), "0")


def test_swap_limit_is_optional(tmp_path: Path, membership: Path) -> None:
    tree = FakeTree(V1_FILES[:1])
    with capped_group(CAP, membership, tmp_path, tree) as group:
        assert group.refusal == ""
    assert tree.limits == {"memory.limit_in_bytes": str(CAP)}


def test_a_refusing_parent_is_passed_over(tmp_path: Path, membership: Path) -> None:
    tree = FakeTree(V1_FILES, refusing=(tmp_path / "memory/service/job",))
    with capped_group(CAP, membership, tmp_path, tree) as group:
        assert group.folder is not None
        assert group.folder.parent == tmp_path / "memory/service"


def test_groups_without_a_memory_limit_are_removed_again_and_named(tmp_path: Path, membership: Path) -> None:
    tree = FakeTree(())
    with capped_group(CAP, membership, tmp_path, tree) as group:
        assert group.folder is None
        assert group.refusal == "the control group takes no memory limit (No such file or directory)"
        assert group.wrap(["program"]) == ["program"]
        assert group.peak_bytes() is None
    assert tree.made
    assert not any(folder.exists() for folder in tree.made)


def test_no_permission_is_named(tmp_path: Path, membership: Path) -> None:
    everything = (tmp_path, *(tmp_path / path for path in ("memory", "memory/service", "memory/service/job")))
    with capped_group(CAP, membership, tmp_path, FakeTree(V1_FILES, everything)) as group:
        assert group.refusal == "no control group may be made (Permission denied)"


def test_a_system_without_control_groups_is_named(tmp_path: Path) -> None:
    with capped_group(CAP, tmp_path / "missing", tmp_path) as group:
        assert group.refusal == "this system has no memory control groups"


def test_group_is_removed_when_the_child_fails(tmp_path: Path, membership: Path) -> None:
    tree = FakeTree(V1_FILES)

    def fail() -> None:
        with capped_group(CAP, membership, tmp_path, tree):
            raise ValueError

    with pytest.raises(ValueError, match=r"^$"):
        fail()
    assert not any(folder.exists() for folder in tree.made)


def test_command_joins_the_group_before_it_starts(tmp_path: Path) -> None:
    (tmp_path / "cgroup.procs").write_text("")
    command = CappedGroup(tmp_path).wrap(["/bin/sh", "-c", "echo $$ $1", "sh", "a 'b'"])
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=20)
    own_id, word = done.stdout.split(" ", 1)
    assert word.strip() == "a 'b'"
    assert (tmp_path / "cgroup.procs").read_text().strip() == own_id


def test_page_cache_note_says_what_was_done(tmp_path: Path) -> None:
    model, switch = tmp_path / "m.gguf", tmp_path / "drop_caches"
    model.write_bytes(b"x" * 5000)
    assert drop_page_cache([model], switch) == "the whole file cache was dropped"
    assert switch.read_text() == "1\n"
    refused = drop_page_cache([model], tmp_path / "missing" / "drop_caches")
    assert refused == "the model's pages were dropped from the file cache"
    assert model.read_bytes() == b"x" * 5000
