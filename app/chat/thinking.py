"""Splits an answer into thinking and answer, however the model's tags arrive."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

Kind = Literal["thinking", "answer"]
THINKING: Final = "thinking"
ANSWER: Final = "answer"

# opening and closing words as models write them
_PAIRS = (
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<reasoning>", "</reasoning>"),
    ("<seed:think>", "</seed:think>"),
    ("[THINK]", "[/THINK]"),
    ("◁think▷", "◁/think▷"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<|channel|>analysis<|message|>", "<|channel|>final<|message|>"),
    ("<|channel>thought", "<channel|>"),
)
_OPENINGS = {opening.lower() for opening, _closing in _PAIRS}
_WORDS = [word for pair in _PAIRS for word in pair]
_TAG = re.compile("|".join(re.escape(word) for word in _WORDS), re.IGNORECASE)
# what chat templates put between turns; never meant to be read
_CONTROLS = (
    "<|im_start|>assistant", "<|im_start|>", "<|im_end|>", "<|endoftext|>", "<|end_of_text|>",
    "<|begin_of_text|>", "<|eot_id|>", "<|eom_id|>", "<|start|>assistant", "<|start|>", "<|end|>",
    "<|return|>", "<|start_header_id|>", "<|end_header_id|>", "<|START_RESPONSE|>", "<|END_RESPONSE|>",
    "<|eos|>", "<|START_OF_TURN_TOKEN|>", "<|END_OF_TURN_TOKEN|>", "<|CHATBOT_TOKEN|>",
    "<start_of_turn>model", "<start_of_turn>", "<end_of_turn>", "<|channel|>final<|message|>",
    "<|channel|>commentary<|message|>",
)  # fmt: skip
_CONTROL = re.compile("|".join(re.escape(word) for word in _CONTROLS) + r"|</s>\s*\Z")
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})([^\n]*)$", re.MULTILINE)
_INLINE_CODE = re.compile(r"(?<!`)(`+)(?!`)([^`\n]|(?!\1(?!`))`)+?\1(?!`)")
_STARTS = [word.lower() for word in (*_WORDS, *_CONTROLS)]
_LONGEST_WORD = max(len(word) for word in _STARTS)


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of an answer without its tags. `is_open`: thinking whose end has not come."""

    kind: Kind
    text: str
    is_open: bool = False


@dataclass(frozen=True, slots=True)
class _Tag:
    start: int
    end: int
    is_opening: bool
    counts: bool


def split_thinking(text: str, is_growing: bool = False) -> list[Segment]:
    """Segments in order, neighbours of different kinds, none blank.

    Tags inside code, and tags between words (“the <think> tag”), are text. A closing tag without an opening
    one makes everything before it thinking (some templates open it in the prompt). Tags may be repeated
    and nested. `is_growing`: an unfinished tag at the end is kept back.
    """
    if is_growing:
        text = text[: len(text) - _unfinished_length(text)]
    tags = _tags(text)
    if not tags:
        return _joined([Segment(ANSWER, text)])
    return _joined(_segments(text, tags))


def without_thinking(text: str) -> str:
    """Only what is meant for the reader, without tags and control tokens."""
    return "\n\n".join(each.text.strip("\n") for each in split_thinking(text) if each.kind == ANSWER)


def may_change_split(text: str, added_length: int) -> bool:
    """Whether the latest characters can belong to a tag or a control token."""
    end = text[-(added_length + _LONGEST_WORD) :]
    return any(sign in end for sign in "<[◁>▷]")


# --- tags and where they stand ------------------------------------------------------------------


def _tags(text: str) -> list[_Tag]:
    found = list(_TAG.finditer(text))
    if not found:
        return []
    codes = _code_spans(text)
    return [
        _Tag(*match.span(), is_opening=match[0].lower() in _OPENINGS, counts=_counts(text, match, codes))
        for match in found
    ]


def _counts(text: str, match: re.Match[str], codes: Sequence[tuple[int, int]]) -> bool:
    """Neither in code nor a word of a sentence."""
    place = bisect_right(codes, (match.start(), len(text))) - 1
    if place >= 0 and match.start() < codes[place][1]:
        return False
    line = text[text.rfind("\n", 0, match.start()) + 1 : match.start()]
    is_after_words = bool(_TAG.sub("", line).strip()) and line[-1] in " \t(\"'“"
    return not (is_after_words and text[match.end() : match.end() + 1] in tuple(" .,;:!?)\"'”"))


def _code_spans(text: str) -> list[tuple[int, int]]:
    """Closed code fences and inline code; an open fence is not trusted to hold what follows."""
    spans: list[tuple[int, int]] = []
    fence, begin = "", 0
    for match in _FENCE.finditer(text):
        if not fence:
            fence, begin = match[1], match.start()
        elif match[1].startswith(fence) and not match[2].strip():
            spans.append((begin, match.end()))
            fence = ""
    inline = [match.span() for match in _INLINE_CODE.finditer(text)]
    spans += [each for each in inline if not any(start <= each[0] < end for start, end in spans)]
    return sorted(spans)


def _unfinished_length(text: str) -> int:
    """Characters at the end that begin a tag."""
    end = text[-_LONGEST_WORD:].lower()
    for length in range(min(len(end), _LONGEST_WORD), 0, -1):
        part = end[-length:]
        if any(word.startswith(part) and len(word) > length for word in _STARTS):
            return length
    return 0


# --- segments -----------------------------------------------------------------------------------


def _segments(text: str, tags: Sequence[_Tag]) -> list[Segment]:
    tags = [tag for tag in tags if tag.counts]
    segments: list[Segment] = []
    position, place = 0, 0
    if tags and not tags[0].is_opening:
        segments.append(Segment(THINKING, text[: tags[0].start]))
        position, place = tags[0].end, 1
    while place < len(tags):
        tag = tags[place]
        place += 1
        segments.append(Segment(ANSWER, text[position : tag.start]))
        position = tag.end
        if tag.is_opening:
            end = _closing_of(tags, place)
            stop = len(tags) if end is None else end
            begin = position
            thoughts_end, position = (len(text),) * 2 if end is None else (tags[end].start, tags[end].end)
            thoughts = _between(text, begin, tags[place:stop], thoughts_end)
            segments.append(Segment(THINKING, thoughts, is_open=end is None))
            place = stop + 1
    segments.append(Segment(ANSWER, text[position:]))
    return segments


def _between(text: str, start: int, tags: Sequence[_Tag], end: int) -> str:
    """The text without the tags in it."""
    parts = []
    for tag in tags:
        parts.append(text[start : tag.start])
        start = tag.end
    return "".join([*parts, text[start:end]])


def _closing_of(tags: Sequence[_Tag], first: int) -> int | None:
    """The closing tag of thinking that began before tag `first`.

    An opening tag inside only counts as nested if there is a closing tag for it too.
    """
    depth, candidate = 1, None
    for place in range(first, len(tags)):
        tag = tags[place]
        if tag.is_opening and candidate is not None:
            break  # the next block of thinking
        depth += 1 if tag.is_opening else -1
        if not tag.is_opening:
            candidate = place
        if depth == 0:
            break
    return candidate


def _joined(segments: Sequence[Segment]) -> list[Segment]:
    """Without blank ones, without control tokens; neighbours of one kind become one."""
    joined: list[Segment] = []
    for segment in segments:
        text = _without_control(segment.text)
        text = text.lstrip("\n") if segment.kind == ANSWER else text.strip()
        if not text.strip() and not segment.is_open:
            continue
        if joined and joined[-1].kind == segment.kind:
            text = f"{joined.pop().text.rstrip()}\n\n{text}"
        joined.append(Segment(segment.kind, text, segment.is_open))
    return joined


def _without_control(text: str) -> str:
    if "<" not in text or _CONTROL.search(text) is None:
        return text
    codes = _code_spans(text)

    def keep_code(match: re.Match[str]) -> str:
        return match[0] if any(start <= match.start() < end for start, end in codes) else ""

    return _CONTROL.sub(keep_code, text)
