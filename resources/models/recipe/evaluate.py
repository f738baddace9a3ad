"""Ask the demo model the held-out questions in Emberglass's own engine and mark the answers.

python resources/models/recipe/evaluate.py [--json FILE]     # from the top of the repository
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from rubric import OFF_SUBJECT, Marks, Question, Rubric, held_out_questions

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from engine.backends.llama_cpp import LlamaCppBackend
from engine.config import ChatMessage, SamplingSettings
from engine.demo_model import DEMO_PATH, demo_settings
from engine.events import Event, ExpertsSampled, FinishReason, GenerationFinished, ModelLoaded, RequestFailed
from engine.service import Engine

_SAMPLING = SamplingSettings(temperature=0, max_tokens=200)
_OUTCOMES = (GenerationFinished, ModelLoaded, RequestFailed)


@dataclass(frozen=True)
class Marked:
    """A question with its answer and marks."""

    question: Question
    answer: str
    marks: Marks


class Examiner:
    """One engine with the demo model at its default budget."""

    def __init__(self, path: Path) -> None:
        self._engine = Engine(LlamaCppBackend)
        self._experts: ExpertsSampled | None = None
        self._engine.load(demo_settings(path))
        self._outcome()

    def ask(self, text: str) -> tuple[str, bool]:
        """The answer, and whether it ended by itself."""
        self._engine.generate([ChatMessage("user", text)], _SAMPLING)
        finished = self._outcome()
        assert isinstance(finished, GenerationFinished), finished
        return finished.text, finished.reason is FinishReason.END_OF_TEXT

    def routing(self) -> tuple[list[float], list[float]]:
        """Per layer: share of experts used at all, and share of picks the busiest quarter took."""
        assert self._experts is not None
        uses = self._experts.prefill_uses + self._experts.decode_uses
        quarter = np.sort(uses, axis=1)[:, -(uses.shape[1] // 4) :]
        return (uses > 0).mean(axis=1).tolist(), (quarter.sum(axis=1) / uses.sum(axis=1)).tolist()

    def close(self) -> None:
        self._engine.close()

    def _outcome(self) -> Event:
        for event in self._events():
            if isinstance(event, ExpertsSampled):
                self._experts = event
            if isinstance(event, _OUTCOMES):
                return event
        raise AssertionError("the engine never stops reporting")

    def _events(self) -> Iterator[Event]:
        while True:
            self._engine.wait_for_events(1.0)
            yield from self._engine.drain()


def examine(path: Path) -> tuple[list[Marked], tuple[list[float], list[float]]]:
    """All held-out questions, each in a new conversation."""
    rubric, examiner = Rubric(), Examiner(path)
    try:
        marked = []
        for question in held_out_questions():
            answer, has_ended = examiner.ask(question.text)
            marked.append(Marked(question, answer, rubric.mark(question, answer, has_ended)))
        return marked, examiner.routing()
    finally:
        examiner.close()


def summary(marked: list[Marked], routing: tuple[list[float], list[float]]) -> dict[str, object]:
    """The figures of the model card."""
    subject = [entry for entry in marked if entry.question.topic != OFF_SUBJECT]
    declined = [entry for entry in marked if entry.question.topic == OFF_SUBJECT]
    languages = {
        language: _share(entry.marks.is_right for entry in subject if entry.question.language == language)
        for language in ("en", "ja", "zh")
    }
    used, busiest = routing
    return {
        "questions": len(subject),
        "right": _share(entry.marks.is_right for entry in subject),
        "right_by_language": languages,
        "readable": _share(entry.marks.is_readable for entry in marked),
        "off_subject_questions": len(declined),
        "declined": _share(entry.marks.is_right for entry in declined),
        "least_share_of_experts_used": round(min(used), 3),
        "busiest_quarter_of_experts": [round(min(busiest), 3), round(max(busiest), 3)],
    }


def _share(flags: Iterator[bool]) -> float:
    values = list(flags)
    return round(sum(values) / len(values), 3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, default=DEMO_PATH)
    parser.add_argument("--json", type=Path, help="write every answer and the scores here")
    chosen = parser.parse_args()
    marked, routing = examine(chosen.model)
    scores = summary(marked, routing)
    for entry in marked:
        mark = "right" if entry.marks.is_right else "WRONG"
        readable = "" if entry.marks.is_readable else " UNREADABLE"
        print(f"{mark}{readable} [{entry.question.language} {entry.question.topic}] {entry.question.text}")
        print(f"    {entry.answer}")
    print(json.dumps(scores, indent=2))
    if chosen.json is not None:
        document = {"scores": scores, "answers": [asdict(entry) for entry in marked]}
        chosen.json.write_text(json.dumps(document, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
