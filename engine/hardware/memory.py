"""How much memory this process has and may take."""

from __future__ import annotations

from pathlib import Path

import psutil

_V2_ROOT = Path("/sys/fs/cgroup")
_UNLIMITED_STACK_BYTES = 2 << 20  # what glibc gives a thread then
_CAP_IPC_LOCK = 1 << 14  # root's right to lock memory without a limit


def resident_bytes() -> int:
    """Resident memory of this process now."""
    return int(psutil.Process().memory_info().rss)


def private_bytes() -> int:
    """Private writable address space of this process (allocated, touched or not); Linux, else resident."""
    info = psutil.Process().memory_info()
    return int(getattr(info, "data", info.rss))


def claimed_bytes() -> int:
    """Like `private_bytes`, without the stacks of threads, of which hardly anything is ever touched."""
    process = psutil.Process()
    if not hasattr(process, "rlimit"):
        return private_bytes()
    stack_bytes = int(process.rlimit(psutil.RLIMIT_STACK)[0])
    if stack_bytes == psutil.RLIM_INFINITY:
        stack_bytes = _UNLIMITED_STACK_BYTES
    return private_bytes() - (process.num_threads() - 1) * stack_bytes


def lockable_bytes(status_file: Path = Path("/proc/self/status")) -> int | None:
    """Memory that this process may still lock into RAM, None without a limit; 0 where that is unknown."""
    try:
        status = dict(line.split(":", 1) for line in status_file.read_text().splitlines())
    except OSError:
        return 0
    soft_limit = psutil.Process().rlimit(psutil.RLIMIT_MEMLOCK)[0]
    if soft_limit == psutil.RLIM_INFINITY or int(status["CapEff"], 16) & _CAP_IPC_LOCK:
        return None
    locked_bytes = int(status["VmLck"].split()[0]) << 10
    return max(0, int(soft_limit) - locked_bytes)


def available_bytes() -> int:
    """Memory that can be taken without swapping, also within this process's control group."""
    system = int(psutil.virtual_memory().available)
    group = _group_room_bytes(Path("/proc/self/cgroup"), _V2_ROOT)
    return system if group is None else min(system, group)


def _group_room_bytes(membership: Path, root: Path) -> int | None:
    """Limit minus what can't be reclaimed, for cgroup v2 and v1; None if there is no limit."""
    try:
        lines = membership.read_text().splitlines()
    except OSError:
        return None
    rooms = []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            rooms.append(_room(root / path.lstrip("/"), "memory.max", "memory.current", "inactive_file"))
        elif "memory" in controllers.split(","):
            folder = root / "memory" / path.lstrip("/")
            rooms.append(
                _room(folder, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
            )
    return min((room for room in rooms if room is not None), default=None)


def _room(folder: Path, limit_name: str, usage_name: str, reclaimable: str) -> int | None:
    try:
        limit_text = (folder / limit_name).read_text().strip()
        usage = int((folder / usage_name).read_text())
        statistics = (folder / "memory.stat").read_text().split()
    except (OSError, ValueError):
        return None
    if limit_text == "max" or int(limit_text) >= 1 << 60:
        return None
    fields = dict(zip(statistics[::2], statistics[1::2], strict=False))
    return max(0, int(limit_text) - usage + int(fields.get(reclaimable, 0)))
