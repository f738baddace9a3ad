"""A byte-level vocabulary with ChatML markers, and the metadata that describes it."""

from __future__ import annotations

from gguf import GGUFWriter, TokenType

CONTROL_TOKENS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
BYTE_TOKENS = 256
N_VOCAB = BYTE_TOKENS + len(CONTROL_TOKENS)

CHAT_TEMPLATE = (
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)


def byte_level_tokens() -> list[str]:
    """The 256 byte tokens of GPT-2's byte-level encoding, byte 0 first, then the control tokens."""
    printable = {*range(33, 127), *range(161, 173), *range(174, 256)}
    stand_ins = iter(range(256, 512))
    byte_tokens = [chr(byte) if byte in printable else chr(next(stand_ins)) for byte in range(256)]
    return [*byte_tokens, *CONTROL_TOKENS]


def add_vocabulary(writer: GGUFWriter, n_vocab: int) -> None:
    """Add tokenizer, special ids and chat template to the metadata; tokens beyond N_VOCAB are unused."""
    n_unused = n_vocab - N_VOCAB
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list([*byte_level_tokens(), *(f"<|unused_{number}|>" for number in range(n_unused))])
    writer.add_token_types(
        [TokenType.NORMAL] * BYTE_TOKENS
        + [TokenType.CONTROL] * len(CONTROL_TOKENS)
        + [TokenType.UNUSED] * n_unused
    )
    # llama.cpp demands the list; the pair has no token of its own, so its bytes stay apart
    writer.add_token_merges(["a b"])
    writer.add_bos_token_id(256)
    writer.add_eos_token_id(256)
    writer.add_eot_token_id(258)
    writer.add_add_bos_token(False)
    writer.add_chat_template(CHAT_TEMPLATE)
