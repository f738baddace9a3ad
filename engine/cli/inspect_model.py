"""`inspect FILE`: what a model file says about itself, without loading it."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from engine.cli.arguments import add_file
from engine.cli.table import facts_table, markdown_table
from engine.cli.terminal import Terminal
from engine.config import format_size
from engine.gguf.expert_layout import expert_layout
from engine.gguf.facts import ModelFacts, model_facts
from engine.gguf.model_file import ModelFile
from engine.gguf.reader import read_model
from engine.gguf.row_tables import row_tables


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `inspect`."""
    add_file(parser)


def run(arguments: argparse.Namespace, terminal: Terminal) -> int:
    """Print the facts; a file that can't be run from expert slots is refused by name."""
    model = read_model(arguments.file)
    facts = model_facts(model, expert_layout(model))
    if terminal.is_json:
        terminal.document(facts_document(model, facts))
    else:
        terminal.write(facts_text(model, facts))
    return 0


def facts_document(model: ModelFile, facts: ModelFacts) -> dict[str, object]:
    """All facts as JSON values; `row_tables` are those that a load leaves on disk."""
    tables = row_tables(model, bool(facts.moe_layers))
    return {
        "path": str(model.path),
        **asdict(facts),
        "row_tables": {
            "count": len(tables),
            "size_bytes": sum(table.tensor.size_bytes for table in tables),
            "stay_on_disk": bool(tables),
            "names": [table.tensor.name for table in tables],
        },
        "gguf_version": model.version,
        "shards": [
            {
                "path": str(shard.path),
                "size_bytes": shard.size_bytes,
                "alignment_bytes": shard.alignment_bytes,
            }
            for shard in model.shards
        ],
    }


def facts_text(model: ModelFile, facts: ModelFacts) -> str:
    """The facts as two tables."""
    rows = [
        ("name", facts.name),
        ("architecture", facts.architecture),
        ("file type", facts.file_type or "not stated"),
        ("file size", format_size(facts.file_bytes)),
        ("shards", str(facts.n_shards)),
        ("parameters", f"{facts.n_parameters / 1e9:.3g} billion"),
        ("layers", str(facts.n_layer)),
        *_expert_rows(facts),
        ("dense weights", format_size(facts.dense_bytes)),
        *_table_rows(model, facts),
        ("KV per token", format_size(facts.kv_bytes_per_token)),
        ("context", f"{facts.context_length:,} tokens" if facts.context_length else "not stated"),
        ("embedding", str(facts.n_embd)),
        ("vocabulary", f"{facts.n_vocab:,} tokens"),
        ("chat template", _template_words(facts.chat_template)),
    ]
    types = [(share.type_name, f"{share.tensors:,}", format_size(share.size_bytes)) for share in facts.types]
    text = facts_table(rows) + "\n" + markdown_table(("type", "tensors", "size"), types)
    if len(model.shards) > 1:
        shards = [(shard.path.name, format_size(shard.size_bytes)) for shard in model.shards]
        text += "\n" + markdown_table(("shard", "size"), shards)
    return text


def _expert_rows(facts: ModelFacts) -> list[tuple[str, str]]:
    if not facts.moe_layers:
        return [("experts", "none (a dense model)")]
    sizes = sorted(set(facts.layer_expert_bytes))
    layer_bytes = facts.all_experts_bytes / len(facts.moe_layers)
    return [
        ("MoE layers", str(len(facts.moe_layers))),
        ("experts", f"{facts.n_expert} per layer, {facts.top_k} used per token"),
        ("one expert", " or ".join(format_size(size) for size in sizes)),
        ("experts of a layer", f"{format_size(layer_bytes)} on average"),
        ("all experts", format_size(facts.all_experts_bytes)),
    ]


def _table_rows(model: ModelFile, facts: ModelFacts) -> list[tuple[str, str]]:
    tables = row_tables(model, bool(facts.moe_layers))
    if not tables:
        return []
    size = format_size(sum(table.tensor.size_bytes for table in tables))
    return [("  of it row tables", f"{len(tables)}, {size}: they stay on disk, a token reads a row of each")]


def _template_words(template: str | None) -> str:
    return "none" if template is None else f"{len(template):,} characters"
