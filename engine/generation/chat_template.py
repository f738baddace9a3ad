"""The model's chat template: messages in, prompt text out."""

from __future__ import annotations

import traceback
from collections.abc import Sequence

import jinja2

from engine.config import ChatMessage
from engine.errors import TemplateError, UsageError
from engine.generation.opening_tag import opening_tag
from engine.generation.template_sandbox import (
    MAX_CHARACTERS,
    BoundedEnvironment,
    LimitExceededError,
    RejectedError,
)

# For a file without a template. Contents are trimmed so that an answer that began with the space after
# the colon renders the same again, and its tokens stay cached.
PLAIN_SOURCE = """\
{%- for message in messages %}
{{ message.role | capitalize }}: {{ message.content | trim }}{{ '\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}Assistant:{% endif %}"""
PLAIN_STOPS = ("\nUser:", "\nAssistant:")

_FILE_NEXT_STEP = "Get a corrected file of this model, or choose another model."
_MESSAGES_NEXT_STEP = "Edit the messages it objects to, or start a new chat."
_PROBE_USER = "Hello"
_PROBE_SYSTEM = "Emberglass-system-probe"
_PROBE_ANSWER = "Emberglass-answer-probe"


class ChatTemplate:
    """Renders conversations as the model was trained to read them.

    `source` is jinja text, None for the plain fallback “User: … / Assistant:” (with its `stops`).
    Construction renders a short chat and raises TemplateError if that fails, so that a broken template
    is named when the model loads. A template that rejects or drops the system role gets the system text
    at the beginning of the first user message instead. One thread at a time.
    """

    def __init__(self, source: str | None, bos: str, eos: str) -> None:
        self.bos = bos
        self._source = PLAIN_SOURCE if source is None else source
        self.stops: tuple[str, ...] = PLAIN_STOPS if source is None else ()
        self._environment = BoundedEnvironment()
        self._variables = {"bos_token": bos, "eos_token": eos, "tools": None, "documents": None}
        self._rejected_next_step = _FILE_NEXT_STEP  # even a plain greeting was rejected
        self._template = self._compile()
        user = ChatMessage("user", _PROBE_USER)
        if _PROBE_USER not in self._render((user,), True):
            raise self._error("leaves out the user's message", "it is not in the rendered text", 0)
        self._has_system_role = self._accepts_system(user)
        self._rejected_next_step = _MESSAGES_NEXT_STEP

    def render(self, messages: Sequence[ChatMessage], add_generation_prompt: bool = True) -> str:
        """Prompt text; raises TemplateError with the template's line if it rejects the messages."""
        accepted = messages if self._has_system_role else fold_system(messages)
        return self._render(accepted, add_generation_prompt)

    def continuation(self, messages: Sequence[ChatMessage]) -> str:
        """Prompt text that ends inside the last message, an assistant's, without its end marker.

        It is the prompt of that answer followed by its text: exactly what the model has read and written, so
        its tokens are still cached, and no template can trim or rewrite the text. Raises UsageError if
        there is no such message, otherwise as `render`.
        """
        if not messages or messages[-1].role != "assistant":
            raise UsageError(
                "Only an assistant’s message can be continued, and the last one is none.", "Send a message."
            )
        *before, last = messages
        prompt = self.render(before)
        if self.render(before, add_generation_prompt=False) == prompt:
            prompt += self._turn_header(before, prompt)
        opening = opening_tag(prompt)
        for said in filter(None, (opening, opening.rstrip())):
            if last.content.startswith(said):
                return prompt + last.content.removeprefix(said)
        # the text doesn't think: in the open thinking block it would be a part of it
        return prompt.removesuffix(opening) + last.content

    def _turn_header(self, before: Sequence[ChatMessage], prompt: str) -> str:
        """What a template without a generation prompt writes between `prompt` and an assistant's text.

        White space alone doesn't count: the model writes its own.
        """
        try:
            whole = self.render((*before, ChatMessage("assistant", _PROBE_ANSWER)), False)
        except TemplateError:
            return ""
        header, found, _ = whole.removeprefix(prompt).partition(_PROBE_ANSWER)
        return header if found and whole.startswith(prompt) and header.strip() else ""

    def _compile(self) -> jinja2.Template:
        try:
            return self._environment.from_string(self._source)
        except jinja2.TemplateSyntaxError as error:
            raise self._error("can't be read", str(error.message), error.lineno) from error
        except Exception as error:
            raise self._error("can't be read", _words(error), 0) from error

    def _accepts_system(self, user: ChatMessage) -> bool:
        try:
            return _PROBE_SYSTEM in self._render((ChatMessage("system", _PROBE_SYSTEM), user), True)
        except TemplateError:
            return False

    def _render(self, messages: Sequence[ChatMessage], add_generation_prompt: bool) -> str:
        turns = [{"role": message.role, "content": message.content} for message in messages]
        try:
            return self._bounded_text(turns, add_generation_prompt)
        except RejectedError as error:
            raise self._error(
                "rejects these messages", str(error), _line(error), self._rejected_next_step
            ) from error
        except LimitExceededError as error:
            raise self._error("was stopped because it asks for too much", str(error), _line(error)) from error
        except Exception as error:
            raise self._error("failed", _words(error), _line(error)) from error

    def _bounded_text(self, turns: list[dict[str, str]], add_generation_prompt: bool) -> str:
        self._environment.begin()
        pieces: list[str] = []
        length = 0
        for piece in self._template.generate(
            self._variables, messages=turns, add_generation_prompt=add_generation_prompt
        ):
            pieces.append(piece)
            length += len(piece)
            if length > MAX_CHARACTERS:
                raise LimitExceededError(f"more than {MAX_CHARACTERS} characters of text")
        return "".join(pieces)

    def _error(self, fault: str, reason: str, line: int, next_step: str = _FILE_NEXT_STEP) -> TemplateError:
        lines = self._source.splitlines()
        where = f" (line {line})" if line else ""
        shown = lines[line - 1].strip()[:200] if 0 < line <= len(lines) else ""
        return TemplateError(f"The chat template {fault}: {reason.rstrip('.')}{where}.", next_step, shown)


def fold_system(messages: Sequence[ChatMessage]) -> list[ChatMessage]:
    """Move all system texts to the beginning of the first user message (a new one if there is none)."""
    texts = [message.content for message in messages if message.role == "system"]
    turns = [message for message in messages if message.role != "system"]
    if not texts:
        return turns
    first = next((i for i, turn in enumerate(turns) if turn.role == "user"), None)
    if first is None:
        return [ChatMessage("user", "\n\n".join(texts)), *turns]
    turns[first] = ChatMessage("user", "\n\n".join([*texts, turns[first].content]))
    return turns


def _line(error: BaseException) -> int:
    """Template line of the fault; jinja rewrites its frames to the template's lines."""
    frames = traceback.extract_tb(error.__traceback__)
    return next((frame.lineno or 0 for frame in reversed(frames) if frame.filename == "<template>"), 0)


def _words(error: Exception) -> str:
    if isinstance(error, SyntaxError):
        return error.msg  # its line is one of the generated code
    return str(error) or type(error).__name__
