"""`make-model OUT`: a synthetic model of random weights, for measurements; its name says so."""

from __future__ import annotations

import argparse
from pathlib import Path

from engine.cli.arguments import natural, positive
from engine.cli.terminal import Terminal
from engine.config import format_size
from engine.errors import UsageError
from engine.gguf.synthetic import LAYOUTS, SyntheticSpec, write_model

_PLAIN = SyntheticSpec()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `make-model`; defaults are those of SyntheticSpec."""
    parser.add_argument("out", metavar="OUT", type=Path, help="file to write")
    parser.add_argument("--layout", default=_PLAIN.layout, help=f"one of {', '.join(LAYOUTS)}")
    counts = (
        ("--layers", _PLAIN.n_layer, "layers"),
        ("--experts", _PLAIN.n_expert, "experts per layer"),
        ("--top-k", _PLAIN.top_k, "experts used per token"),
        ("--embd", _PLAIN.n_embd, "embedding width"),
        ("--ff", _PLAIN.n_ff, "width of one expert"),
        ("--head-dim", _PLAIN.head_dim, "width of an attention head"),
        ("--ctx", _PLAIN.context_tokens, "context the file claims to be trained on"),
        ("--vocab", _PLAIN.n_vocab, "tokens of the vocabulary"),
        ("--embd-per-layer", _PLAIN.embd_per_layer, "per-layer embedding width of the gemma4 layouts"),
        ("--shards", _PLAIN.shards, "files to split into"),
    )
    for flag, default, words in counts:
        parser.add_argument(flag, type=positive, default=default, metavar="N", help=f"{words} ({default})")
    parser.add_argument(
        "--type", default=_PLAIN.expert_type, help="type of the experts, such as q4_0 or q4_k"
    )
    parser.add_argument("--dense-type", default=_PLAIN.dense_type, help="type of the dense weights")
    parser.add_argument("--down-types", default="", help="types of the down projections, layer by layer: a,b")
    parser.add_argument("--skew", type=float, default=_PLAIN.skew, help="how unevenly experts are used (0)")
    parser.add_argument("--seed", type=natural, default=_PLAIN.seed, metavar="N")
    parser.add_argument("--force", action="store_true", help="replace an existing file")


def run(arguments: argparse.Namespace, terminal: Terminal) -> int:
    """Write the file and name what was written."""
    spec = spec_of(arguments)
    if arguments.out.exists() and not arguments.force:
        raise UsageError(f"“{arguments.out}” exists.", "Choose another name, or add --force to replace it.")

    def progress(done_bytes: int, total_bytes: int) -> None:
        terminal.progress(f"Writing {format_size(done_bytes)} of {format_size(total_bytes)}")

    paths = write_model(spec, arguments.out, progress)
    size_bytes = sum(path.stat().st_size for path in paths)
    if terminal.is_json:
        terminal.document({"paths": [str(path) for path in paths], "size_bytes": size_bytes})
    else:
        terminal.write("".join(f"{path}\n" for path in paths))
        terminal.note(f"{format_size(size_bytes)} of random weights: good for measurements, not for answers.")
    return 0


def spec_of(arguments: argparse.Namespace) -> SyntheticSpec:
    """The model that the arguments describe; raises UsageError for bad shapes."""
    return SyntheticSpec(
        layout=arguments.layout,
        n_layer=arguments.layers,
        n_expert=arguments.experts,
        top_k=arguments.top_k,
        n_embd=arguments.embd,
        n_ff=arguments.ff,
        expert_type=arguments.type.upper(),
        dense_type=arguments.dense_type.upper(),
        down_types=tuple(name.upper() for name in arguments.down_types.split(",") if name),
        head_dim=arguments.head_dim,
        context_tokens=arguments.ctx,
        seed=arguments.seed,
        shards=arguments.shards,
        skew=arguments.skew,
        n_vocab=arguments.vocab,
        embd_per_layer=arguments.embd_per_layer,
    )
