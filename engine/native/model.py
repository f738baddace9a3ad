"""A loaded llama.cpp model with all its weights in buffers of ours."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from llama_cpp import llama_cpp as ll

from engine.errors import Cancelled, NativeError, UnsupportedModelError
from engine.native import abi, log
from engine.native.buffer_types import BufferType, Overrides
from engine.native.dense_placement import dense_placement
from engine.native.device_share import DeviceShare
from engine.native.device_weights import DeviceWeights
from engine.native.memory import HugeBuffer, Reservation
from engine.native.no_prefetch import no_prefetch
from engine.native.repack import RepackedBuffer, RepackedForm, repack_entries

EXPERT_PATTERN = r"^blk\.[0-9]+\.ffn_(up|down|gate|gate_up)_exps\.(weight|bias)$"
_LOAD_MODE_MMAP, _LOAD_MODE_DIRECT, _LAZY_OFF = 1, 4, 0


def initialise() -> None:
    """Check the ABI and start the backend; idempotent. Raises AbiError."""
    log.capture()  # first: even the checks make the library talk
    abi.check()
    ll.llama_backend_init()


class NativeModel:
    """Owns llama_model and the memory of its weights.

    If `is_ours`, nothing of the weights is read by loading: `dense` and `repacked` tensors are allocated (and
    empty) in memory of ours, `experts` and the tensors named in `row_tables` only in reserved address space.
    Which dense tensors are repacked llama.cpp decides, as it always does; without `is_repacking` none is.
    Otherwise the model is left to llama.cpp, which reads (and repacks) the weights; `on_progress` gets the
    share done (0 to 1) and stops the load by returning False. `share`: which layers' dense weights and KV
    cache go to devices; `on_devices` are those weights, allocated there and empty too.
    """

    def __init__(
        self,
        path: Path,
        on_progress: Callable[[float], bool],
        is_ours: bool,
        is_repacking: bool,
        share: DeviceShare | None = None,
        row_tables: Sequence[str] = (),
    ) -> None:
        initialise()
        self._repacking = repack_entries() if is_repacking and is_ours else None
        self._is_repacking = self._repacking is not None if is_ours else is_repacking
        self.dense = BufferType("Emberglass dense", HugeBuffer)
        self.repacked = BufferType("Emberglass repacked", HugeBuffer, self._repacking)
        self.experts = BufferType("Emberglass slots", Reservation)
        self.rows = BufferType("Emberglass rows", Reservation)
        self._repacked_slots = RepackedBuffer(self._repacking) if self._repacking else None
        self.on_devices = DeviceWeights()
        self._is_ours, self._share = is_ours, share or DeviceShare()
        rows = [(f"^{re.escape(name)}$", self.rows) for name in row_tables]
        self._overrides = Overrides([(EXPERT_PATTERN, self.experts), *rows, *self._host_patterns()])
        self._error: BaseException | None = None
        self._on_progress = on_progress
        self._progress = ll.llama_progress_callback(self._report)
        self.handle = self._load(path)

    def _load(self, path: Path) -> Any:  # noqa: ANN401 - an opaque pointer of llama_cpp
        log.recent_faults()
        params = ll.llama_model_default_params()
        params.lazy_mode = _LAZY_OFF
        params.load_mode = _LOAD_MODE_MMAP if self._is_ours else _LOAD_MODE_DIRECT
        params.use_extra_bufts = self._is_repacking or self._is_choosing
        if self._is_ours:
            params.no_host = True  # a device's kind of memory here would come before ours
            params.tensor_buft_overrides = self._overrides.address
        params.progress_callback = self._progress
        self._kept = self._share.write(params)
        devices = self._share.devices if self._is_ours else ()
        with no_prefetch(), self.on_devices.capture(devices), self._dense_choice():
            handle = ll.llama_model_load_from_file(os.fsencode(path), params)
        if not handle:
            buffers = (self.dense, self.repacked, self.experts, self.rows)
            error = self._error or next((buffer.error for buffer in buffers if buffer.error), None)
            self._free_memory()
            self._share.check()
            raise error or _load_error(path, log.recent_faults())
        self.on_devices.release()
        if ll.llama_model_has_encoder(handle) or not ll.llama_model_has_decoder(handle):
            ll.llama_model_free(handle)
            self._free_memory()
            raise UnsupportedModelError(
                f"{path.name} is no chat model: it needs an encoder, and only decoders are run here.",
                "Choose a text generation model.",
            )
        return handle

    def _host_patterns(self) -> list[tuple[str, BufferType]]:
        """Which weights are not llama.cpp's to place: all of them, if there is nothing to choose."""
        return [] if self._is_choosing else [(".", self.dense)]

    @property
    def _is_choosing(self) -> bool:
        """Whether llama.cpp chooses among the types of memory that we give it (see `dense_placement`)."""
        return self._is_ours and (self._repacking is not None or bool(self._share.devices))

    def _dense_choice(self) -> AbstractContextManager[None]:
        if not self._is_choosing:
            return nullcontext()
        return dense_placement(self.dense, self.repacked, self._repacking)

    def _report(self, share: float, _: object) -> bool:
        try:
            if self._on_progress(share):
                return True
            self._error = Cancelled()
        except BaseException as error:  # noqa: BLE001 - C calls this; _load raises it again
            self._error = error
        return False

    def hold_repacked(self, expert_tensor: int, form: RepackedForm) -> None:
        """The slots of this tensor (its address) hold repacked weights; between passes only."""
        assert self._repacked_slots is not None, "the model was loaded with repacking"
        self._repacked_slots.adopt(expert_tensor, form)

    def close(self) -> None:
        """Free the model, then the memory of its weights; idempotent."""
        if self.handle:
            ll.llama_model_free(self.handle)
            self.handle = None
        self._free_memory()

    def _free_memory(self) -> None:
        for buffer_type in (self.dense, self.repacked, self.experts, self.rows):
            buffer_type.close()
        if self._repacked_slots is not None:
            self._repacked_slots.close()

    @property
    def vocabulary(self) -> Any:  # noqa: ANN401 - an opaque pointer of llama_cpp
        return ll.llama_model_get_vocab(self.handle)

    def chat_template(self) -> str | None:
        """The jinja template stored in the file, or None."""
        text = ll.llama_model_chat_template(self.handle, None)
        return text.decode(errors="replace") if text else None


def _load_error(path: Path, details: str) -> NativeError | UnsupportedModelError:
    for line in details.splitlines():
        if "unknown model architecture" in line:
            name = line.rpartition("architecture:")[2].strip().strip("'")
            return UnsupportedModelError(
                f"llama.cpp does not know the architecture “{name}” of {path.name}.",
                "Update Emberglass when llama.cpp supports it, or choose another model.",
                details,
            )
    return NativeError(
        f"llama.cpp could not load {path.name}.",
        "The details name its reason; the file may be damaged.",
        details,
    )
