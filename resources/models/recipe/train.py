"""Train the demo model: `python train.py --out DIR` (PyTorch, two cores, under two hours), then export.py."""

from __future__ import annotations

import argparse
import json
import math
import time
from dataclasses import asdict
from pathlib import Path

import torch
from batches import IGNORED, Batch, Batches, development_batches
from corpus import Corpus
from network import Guide, Shape
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn import functional
from vocabulary import ChatFormat, train_tokenizer

_TOKENS_PER_BATCH = 2048
_PEAK_RATE, _LAST_RATE_SHARE, _WARM_UP_STEPS = 2.5e-3, 0.02, 150
_SECOND_PEAK_RATE = 1.5e-3
_WEIGHT_DECAY, _DROPOUT, _BALANCE = 0.1, 0.1, 0.003
_SEED = 20261129
_REPORT_EVERY, _CHECK_EVERY = 50, 300


def rate_share(step: int, steps: int) -> float:
    """Share of the peak learning rate: linear warm-up, then half a cosine down to a fiftieth."""
    if step < _WARM_UP_STEPS:
        return (step + 1) / _WARM_UP_STEPS
    place = (step - _WARM_UP_STEPS) / max(1, steps - _WARM_UP_STEPS)
    return _LAST_RATE_SHARE + (1 - _LAST_RATE_SHARE) * (1 + math.cos(math.pi * place)) / 2


class TopicHead(nn.Linear):
    """Names the topic of a question where it ends; thrown away after training.

    An answer's words follow from its first ones, so the choice between topics is a small part of the loss of
    the text. This makes it a loss of its own.
    """

    def __init__(self, shape: Shape, topics: int) -> None:
        super().__init__(shape.width, topics)


def losses_of(model: Guide, head: TopicHead, batch: Batch) -> tuple[Tensor, Tensor]:
    """Cross-entropy of the taught tokens (only those: the output matrix is the dearest part) and topics."""
    states = model.hidden(batch.tokens)
    is_taught = batch.targets != IGNORED
    logits = states[is_taught] @ model.embedding.weight.t()
    topics = head(states[batch.asked[:, 0], batch.asked[:, 1]])
    return (
        functional.cross_entropy(logits, batch.targets[is_taught]),
        functional.cross_entropy(topics, batch.topics, label_smoothing=0.05),
    )


@torch.no_grad()
def development_score(model: Guide, batches: list[Batch]) -> tuple[float, float]:
    """Share of kept-out questions whose whole answer is right; share of picks of the busiest quarter."""
    model.eval()
    right = total = 0
    picks = torch.zeros(model.shape.layers, model.shape.experts)
    for batch in batches:
        logits = model(batch.tokens)
        picks += model.picks()
        is_right = (logits.argmax(-1) == batch.targets) | (batch.targets == IGNORED)
        right += int(is_right.all(dim=1).sum())
        total += len(batch.tokens)
    model.train()
    busiest = picks.sort(dim=1, descending=True).values[:, : model.shape.experts // 4].sum(1) / picks.sum(1)
    return right / total, float(busiest.mean())


def optimiser(weights: list[nn.Parameter]) -> torch.optim.AdamW:
    """Weights decay, gains of the norms and biases don't."""
    matrices = [each for each in weights if each.dim() > 1]
    gains = [each for each in weights if each.dim() == 1]
    groups = [{"params": matrices, "weight_decay": _WEIGHT_DECAY}, {"params": gains, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=_PEAK_RATE, betas=(0.9, 0.98), fused=True)


def save(model: Guide, out: Path) -> None:
    part = out / "weights.part"
    torch.save(model.state_dict(), part)
    part.replace(out / "weights.pt")
    (out / "shape.json").write_text(json.dumps(asdict(model.shape)), encoding="utf-8")


def load(folder: Path) -> tuple[Tokenizer, Guide]:
    """What a first stage left; the topic head is made anew."""
    model = Guide(Shape(), _DROPOUT)
    model.load_state_dict(torch.load(folder / "weights.pt", weights_only=True))
    return Tokenizer.from_file(str(folder / "tokenizer.json")), model


def train(out: Path, steps: int, threads: int, start: Path | None) -> None:
    """The first stage, from nothing; or the second, from the folder of the first."""
    torch.manual_seed(_SEED)
    torch.set_num_threads(threads)
    out.mkdir(parents=True, exist_ok=True)
    corpus, shape = Corpus(is_rich=start is not None), Shape()
    # the order matters: each draws its first weights from the same source of chance
    if start is None:
        tokenizer, model = train_tokenizer(corpus.all_text(), shape.vocabulary), Guide(shape, _DROPOUT)
        head = TopicHead(shape, len(corpus.topics))
    else:
        head = TopicHead(shape, len(corpus.topics))
        tokenizer, model = load(start)
    tokenizer.save(str(out / "tokenizer.json"))
    chat = ChatFormat(tokenizer)
    batches = Batches(corpus, chat, _TOKENS_PER_BATCH, _SEED + (start is not None), start is not None)
    development = development_batches(corpus, chat)
    peak = _PEAK_RATE if start is None else _SECOND_PEAK_RATE
    everything = [*model.parameters(), *head.parameters()]
    optimise = optimiser(everything)
    started, seen = time.monotonic(), []
    for step in range(steps):
        for group in optimise.param_groups:
            group["lr"] = peak * rate_share(step, steps)
        text, topic = losses_of(model, head, batches.make(step))
        (text + topic + _BALANCE * model.balance_loss()).backward()
        nn.utils.clip_grad_norm_(everything, 1.0)
        optimise.step()
        optimise.zero_grad()
        seen.append((text.item(), topic.item()))
        if (step + 1) % _REPORT_EVERY == 0:
            text_mean, topic_mean = (sum(each) / _REPORT_EVERY for each in zip(*seen, strict=True))
            seen.clear()
            print(f"step {step + 1}/{steps} loss text {text_mean:.3f} topic {topic_mean:.3f} "
                  f"balance {model.balance_loss():.2f} minutes {(time.monotonic() - started) / 60:.1f}",
                  flush=True)  # fmt: skip
        if (step + 1) % _CHECK_EVERY == 0 or step + 1 == steps:
            right, busiest = development_score(model, development)
            print(f"  kept-out answers right {right:.3f}, busiest quarter {busiest:.2f}", flush=True)
            save(model, out)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="folder for weights and tokenizer")
    parser.add_argument("--steps", type=int, default=2400)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--start", type=Path, help="folder of the first stage: train the second")
    chosen = parser.parse_args()
    train(chosen.out, chosen.steps, chosen.threads, chosen.start)
