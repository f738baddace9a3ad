"""`bench`, `plan` and `chat` with experts on a device."""

from __future__ import annotations

import json

import pytest

from tests.native.conftest import TinyModels
from tests.support.command_line import run_engine
from tests.support.device_server import serving_device

_SHORT = ("--prompt-tokens", "20", "--decode-tokens", "4", "--threads", "1")


def test_bench_on_a_device_tells_what_it_waited_for(tiny_models: TinyModels) -> None:
    path = str(tiny_models("qwen3moe"))
    with serving_device() as server:
        words = ("--device", server.name, "--vram", "3MiB", "--hot", "1", "--unit", "4")
        printed = run_engine("bench", path, *_SHORT, *words, "--compare", "stock", "--json")
    assert printed.code == 0, printed.err
    document = json.loads(printed.out)
    assert document["settings"]["devices"] == [server.name]
    (device,) = document["placement"]["devices"]
    assert device["name"] == server.name
    assert 0 < device["used_bytes"] <= 3 << 20
    assert [row["state"] for row in document["rows"]] == ["cold", "warm-identical", "rotating"]
    assert document["rows"][0]["transfer_wait_ns"] > 0
    assert all(row["transfer_wait_ns"] >= 0 for row in document["rows"])
    # stock has its dense weights on the device too, and its experts in RAM
    assert len(document["stock"]) == 3
    assert all(value > 0 for value in document["ratios"].values())
    assert document["identical_logits"] is None  # another device adds in another order


def test_plan_shows_the_device_beside_the_host(tiny_models: TinyModels) -> None:
    path = str(tiny_models("qwen3moe", is_tied=True, n_vocab=4000))
    with serving_device() as server:
        document = json.loads(run_engine("plan", path, "--device", server.name, "--no-measure", "--json").out)
        text = run_engine("plan", path, "--device", server.name, "--no-measure").out
    plain = json.loads(run_engine("plan", path, "--no-measure", "--json").out)
    here, without = document["tiers"]["host"], plain["tiers"]["host"]
    assert document["tiers"]["vram"]["total_bytes"] > without["dense_bytes"] - here["dense_bytes"] > 0
    assert here["dense_bytes"] >= 4000 * 256 * 18 // 32  # the embedding in Q4_0 is here and there
    assert f"device {server.name}" in text
    assert "experts of 4 layers" in text


@pytest.mark.parametrize("name", ["CUDA7", "rpc:127.0.0.1:1", "rpc:127.0.0.1:99999", "rpc:127.0.0.1"])
@pytest.mark.parametrize("command", ["chat", "bench"])
def test_a_device_that_is_gone_is_named_with_the_next_step(
    tiny_models: TinyModels, command: str, name: str
) -> None:
    more = ("--prompt", "hello") if command == "chat" else _SHORT
    printed = run_engine(command, str(tiny_models("qwen3moe")), "--device", name, *more)
    assert printed.code in (1, 2)
    assert f"“{name}”" in printed.err
    assert any(word in printed.err for word in ("rpc:HOST:PORT", "serve-device"))
