"""What is on the screen for Markdown, formulas, money, thinking and hostile input, case by case.

The notation of the expected lines is that of `answer_lines`; they were written by hand.
"""

from __future__ import annotations

import pytest
from pytestqt.qtbot import QtBot

from app.chat.transcript import Transcript
from app.history.records import Message
from tests.support.document_words import answer_lines

THOUGHT = "thinking: ▸ Thought"

MARKDOWN = {
    "plain": ("Hello", ["Hello"]),
    "two paragraphs": ("One\n\nTwo", ["One", "Two"]),
    "a line break in a paragraph stays": ("One\nTwo", ["One⏎Two"]),
    "a break by two spaces": ("One  \nTwo", ["One⏎Two"]),
    "a break by a backslash": ("One\\\nTwo", ["One⏎Two"]),
    "bold": ("a **b** c", ["a **b** c"]),
    "bold by underscores": ("a __b__ c", ["a **b** c"]),
    "italic": ("a *b* c", ["a *b* c"]),
    "bold italic": ("***b***", ["***b***"]),
    "struck": ("~~b~~", ["~b~"]),
    "one tilde is no mark": ("~5 minutes~", ["~5 minutes~"]),
    "bold without an end": ("a **b", ["a **b"]),
    "underscores in a name": ("snake_case_name", ["snake_case_name"]),
    "stars of a product": ("2*3*4", ["2*3*4"]),
    "stars with spaces": ("2 * 3 * 4", ["2 * 3 * 4"]),
    "escaped stars": ("\\*not italic\\*", ["*not italic*"]),
    "bold beside Japanese": ("これは**重要**です", ["これは**重要**です"]),
    "bold brackets beside Japanese": ("これは**「重要」**です", ["これは**「重要」**です"]),
    "bold before a Japanese full stop": ("**終わり。**次", ["**終わり。**次"]),
    "bold in Chinese": ("这是**“重点”**。", ["这是**“重点”**。"]),
    "italic beside Japanese": ("*「斜体」*は", ["*「斜体」*は"]),
    "a star between spaces beside Japanese": ("三 * 四 * 五", ["三 * 四 * 五"]),
    "inline code": ("use `x = 1`", ["use `x = 1`"]),
    "code with a backtick": ("``a ` b``", ["`a ` b`"]),
    "markup in code": ("`**b** $x$ <i>`", ["`**b** $x$ <i>`"]),
    "a backtick without an end": ("a ` b", ["a ` b"]),
    "heading 1": ("# A", ["# **A**"]),
    "heading 6": ("###### A", ["###### **A**"]),
    "seven signs are no heading": ("####### A", ["####### A"]),
    "a hash without a space": ("#tag", ["#tag"]),
    "heading under a line": ("A\n===", ["# **A**"]),
    "heading with code": ("## `f`", ["## **`f`**"]),
    "rule": ("a\n\n---\n\nb", ["a", "----", "b"]),
    "rule of stars": ("***", ["----"]),
    "list": ("- a\n- b", ["• a", "• b"]),
    "list of stars": ("* a\n* b", ["• a", "• b"]),
    "list right after a paragraph": ("Text:\n- a", ["Text:", "• a"]),
    "numbers": ("1. a\n2. b", ["1. a", "2. b"]),
    "numbers that begin late": ("7. a\n8. b", ["7. a", "8. b"]),
    "numbers that are all the same": ("1. a\n1. b", ["1. a", "2. b"]),
    "numbers with brackets": ("1) a\n2) b", ["1. a", "2. b"]),
    "a year is no list": ("In\n1986. What", ["In⏎1986. What"]),
    "nested list": ("- a\n  - b\n    - c\n- d", ["• a", "  ◦ b", "    ▪ c", "• d"]),
    "numbers in bullets": ("- a\n  1. b", ["• a", "  1. b"]),
    "two paragraphs in an item": ("- a\n\n  b\n- c", ["• a", "  b", "• c"]),
    "an empty item": ("- \n- b", ["• ", "• b"]),
    "tasks": ("- [ ] a\n- [x] b\n- [X] c", ["• ☐ a", "• ☑ b", "• ☑ c"]),
    "no task": ("- [y] a", ["• [y] a"]),
    "text after a task list is no task": ("- [x] a\n\nb", ["• ☑ a", "b"]),
    "numbered tasks": ("1. [ ] a", ["1. ☐ a"]),
    "quote": ("> a\n> b", ["> a⏎b"]),
    "quote in a quote": ("> a\n>\n> > b", ["> a", "> > b"]),
    "list in a quote": ("> - a", ["> • a"]),
    "code in a quote": ("> ```\n> x\n> ```", ["code|x"]),
    "code": ("```python\nx = 1\n```", ["code|x = 1"]),
    "code of tildes": ("~~~\nx\n~~~", ["code|x"]),
    "code with blank lines": ("```\na\n\nb\n```", ["code|a", "code|", "code|b"]),
    "code without an end": ("```\na\nb", ["code|a", "code|b"]),
    "a fence in a longer fence": ("````\n```\na\n```\n````", ["code|```", "code|a", "code|```"]),
    "indented code": ("    a\n    b", ["code|a", "code|b"]),
    "two code blocks": ("```\na\n```\n```\nb\n```", ["code|a", "code|b"]),
    "code in an item": ("- a\n  ```\n  b\n  ```\n- c", ["• a", "code|b", "• c"]),
    "markup in code blocks": ("```\n**b** <i> $x$ [l](u)\n```", ["code|**b** <i> $x$ [l](u)"]),
    "table": ("| a | b |\n|---|---|\n| 1 | 2 |", ["table 2x2", "**a**", "**b**", "1", "2"]),
    "table without outer lines": ("a | b\n--|--\n1 | 2", ["table 2x2", "**a**", "**b**", "1", "2"]),
    "table with a short row": ("| a | b |\n|---|---|\n| 1 |", ["table 2x2", "**a**", "**b**", "1", ""]),
    "table with markup": ("| a |\n|---|\n| **b** `c` |", ["table 2x1", "**a**", "**b** `c`"]),
    "table with an escaped line": ("| a |\n|---|\n| x \\| y |", ["table 2x1", "**a**", "x | y"]),
    "text after a table": ("| a |\n|---|\n\nb", ["table 1x1", "**a**", "b"]),
    "lines without a table": ("| a | b |\ntext", ["| a | b |⏎text"]),
    "entities": ("&lt;b&gt; &amp; &copy;", ["<b> & ©"]),
}

LINKS = {
    "link": ("[w](https://w.org)", ["w<https://w.org>"]),
    "link with bold words": ("[**w**](https://w.org)", ["**w**<https://w.org>"]),
    "bare address": ("see https://w.org/a?b=1.", ["see https://w.org/a?b=1<https://w.org/a?b=1>."]),
    "address without a scheme": ("www.w.org", ["www.w.org<http://www.w.org>"]),
    "address before Japanese": ("https://w.org/aを見る", ["https://w.org/a<https://w.org/a>を見る"]),
    "address before a Japanese full stop": ("https://w.org。次", ["https://w.org<https://w.org>。次"]),
    "angle brackets": ("<https://w.org>", ["https://w.org<https://w.org>"]),
    "mail": ("<me@w.org>", ["me@w.org<mailto:me@w.org>"]),
    "by reference": ("[w][1]\n\n[1]: https://w.org", ["w<https://w.org>"]),
    "script": ("[x](javascript:alert)", ["[x](javascript:alert)"]),
    "file": ("[x](file:///etc/passwd)", ["[x](file:///etc/passwd)"]),
    "the program's own scheme": ("[x](emberglass:delete/1)", ["x (emberglass:delete/1)"]),
    "a relative address": ("[x](README.md)", ["x (README.md)"]),
    "picture": ("![a](https://w.org/a.png)", ["[picture: a: https://w.org/a.png]<https://w.org/a.png>"]),
    "picture in the data": ("![a](data:image/png;base64,AA)", ["[picture: a: data:image/png;base64,AA]"]),
    "picture as a link": (
        "[![a](https://w.org/a.png)](https://w.org)",
        ["[picture: a: https://w.org/a.png]<https://w.org/a.png>"],
    ),
}

HOSTILE = {
    "tags": ("<b>a</b>", ["<b>a</b>"]),
    "script": ("<script>alert(1)</script>", ["<script>alert(1)</script>"]),
    "picture tag": ('<img src="https://w.org/a.png">', ['<img src="https://w.org/a.png">']),
    "block of tags": ("<div>\n\n# a\n\n</div>", ["<div>", "# **a**", "</div>"]),
    "comment": ("<!-- a -->", ["<!-- a -->"]),
    "a break tag": ("a<br>b", ["a<br>b"]),
    "sign that replaces nothing": ("a\x00b", ["a\ufffdb"]),
    "carriage returns": ("a\r\n\r\nb", ["a", "b"]),
    "many quotes": (">" * 60 + " a", [">" * 60 + " a"]),
    "some quotes": (">" * 12 + " a", ["> " * 12 + "a"]),
    "only blanks": (" \n \n", []),
}

FORMULAS = {
    "inline by brackets": ("a \\(x^2\\) b", ["a ⟦\\(x^2\\)⟧ b"]),
    "display by brackets": ("\\[x^2\\]", ["⟦\\[x^2\\]⟧"]),
    "display by brackets over lines": ("\\[\nx\n\\]", ["⟦\\[\nx\n\\]⟧"]),
    "display by dollars": ("$$x^2$$", ["⟦$$x^2$$⟧"]),
    "display by dollars over lines": ("a\n$$\nx\n$$\nb", ["a", "⟦$$\nx\n$$⟧", "b"]),
    "display with a blank line and a list sign": ("$$\na\n\n- b\n$$", ["⟦$$\na\n\n- b\n$$⟧"]),
    "display in a sentence": ("so $$x^2$$ is", ["so ⟦$$x^2$$⟧ is"]),
    "display by brackets in a sentence": ("so \\[x\\] is", ["so ⟦\\[x\\]⟧ is"]),
    "display in an item": ("- \\[ x \\]\n- b", ["• ⟦\\[ x \\]⟧", "• b"]),
    "single letter": ("let $x$ be", ["let ⟦$x$⟧ be"]),
    "scripts": ("$a_1 + b^2$", ["⟦$a_1 + b^2$⟧"]),
    "stars in a formula": ("\\(a * b * c\\)", ["⟦\\(a * b * c\\)⟧"]),
    "underscores in a formula": ("$a_i$ and $b_i$", ["⟦$a_i$⟧ and ⟦$b_i$⟧"]),
    "command": ("$\\alpha$-particle", ["⟦$\\alpha$⟧-particle"]),
    "equation": ("$E = mc^2$.", ["⟦$E = mc^2$⟧."]),
    "function": ("$f(x)$", ["⟦$f(x)$⟧"]),
    "sine": ("$\\sin x + \\cos x$", ["⟦$\\sin x + \\cos x$⟧"]),
    "number first": ("$2x + 1$", ["⟦$2x + 1$⟧"]),
    "words in text": ("$x \\text{ if even}$", ["⟦$x \\text{ if even}$⟧"]),
    "in a table": ("| a |\n|---|\n| $x^2$ |", ["table 2x1", "**a**", "⟦$x^2$⟧"]),
    "in bold": ("**$x^2$**", ["⟦$x^2$⟧"]),
    "in Japanese": ("これは$x^2$です", ["これは⟦$x^2$⟧です"]),
    "in Japanese by brackets": ("これは\\(x^2\\)です", ["これは⟦\\(x^2\\)⟧です"]),
    "without an end": ("\\(x and more", ["(x and more"]),
    "display without an end": ("$$\nx\n\nmore", ["$$⏎x", "more"]),
    "in code": ("`\\(x\\)` and `$x$`", ["`\\(x\\)` and `$x$`"]),
    "escaped reference": ("as said \\[1\\]", ["as said [1]"]),
    "empty": ("\\(\\) $$ $$", ["() $$ $$"]),
}

MONEY = {
    "two prices": ("$5 and $10", ["$5 and $10"]),
    "range": ("$5-$10", ["$5-$10"]),
    "range with a dash": ("from $5–$10.", ["from $5–$10."]),
    "with cents": ("It is $4.99 or $5.99.", ["It is $4.99 or $5.99."]),
    "thousands": ("$1,000 to $2,000", ["$1,000 to $2,000"]),
    "other dollars": ("US$100, A$5 and NZ$7", ["US$100, A$5 and NZ$7"]),
    "millions": ("$1M in, $2M out", ["$1M in, $2M out"]),
    "per hour": ("$20/hour or $30/hour", ["$20/hour or $30/hour"]),
    "sign behind": ("5$ and 10$", ["5$ and 10$"]),
    "both sides": ("$5 or 10$", ["$5 or 10$"]),
    "both sides, glued": ("($5)/($10)", ["($5)/($10)"]),
    "sum": ("$5 + $5 = $10", ["$5 + $5 = $10"]),
    "bold prices": ("**$5** and **$10**", ["**$5** and **$10**"]),
    "prices in a table": ("| a | b |\n|---|---|\n| $5 | $6 |", ["table 2x2", "**a**", "**b**", "$5", "$6"]),
    "prices in a list": ("- $5\n- $10", ["• $5", "• $10"]),
    "variables of a shell": ("$HOME and $PATH", ["$HOME and $PATH"]),
    "variable at the end": ("set $HOME=$PWD", ["set $HOME=$PWD"]),
    "escaped": ("\\$5 and \\$10", ["$5 and $10"]),
    "words between signs": ("$the cost$ is high", ["$the cost$ is high"]),
    "repeated signs": ("cheap $ or dear $$$", ["cheap $ or dear $$$"]),
    "words between two signs each": ("from $$ to $$", ["from $$ to $$"]),
    "price and formula": ("costs $5 and $x^2$", ["costs $5 and ⟦$x^2$⟧"]),
    "in Japanese": ("$5から$10まで", ["$5から$10まで"]),
    "in Japanese, sign behind": ("5$から10$まで", ["5$から10$まで"]),
    "in Chinese": ("价格$5和$x", ["价格$5和$x"]),
}

THINKING = {
    "folded": ("<think>hm</think>Yes", [THOUGHT, "Yes"]),
    "over lines": ("<think>\nhm\n\nhm\n</think>\n\nYes", [THOUGHT, "Yes"]),
    "empty": ("<think>\n\n</think>\n\nYes", ["Yes"]),
    "only closing": ("hm</think>\nYes", [THOUGHT, "Yes"]),
    "only opening": ("<think>hm", [f"{THOUGHT}, not finished"]),
    "nested": ("<think>a<think>b</think>c</think>Yes", [THOUGHT, "Yes"]),
    "repeated": ("<think>a</think>b\n\n<think>c</think>d", [THOUGHT, "b", THOUGHT, "d"]),
    "closed twice": ("<think>a</think></think>b", [THOUGHT, "b"]),
    "markup inside": ("<think># a\n```\nb</think>\n# Yes", [THOUGHT, "# **Yes**"]),
    "tags in inline code": ("`<think>` opens", ["`<think>` opens"]),
    "tags in a code block": ("```\n<think>\n```", ["code|<think>"]),
    "other words": ("[THINK]a[/THINK]Yes", [THOUGHT, "Yes"]),
    "before a list": ("<think>a</think>\n- b", [THOUGHT, "• b"]),
    "control token": ("Yes<|im_end|>", ["Yes"]),
    "control token in code": ("`<|im_end|>`", ["`<|im_end|>`"]),
}

TABLES = {
    "markdown": MARKDOWN,
    "links": LINKS,
    "hostile": HOSTILE,
    "formulas": FORMULAS,
    "money": MONEY,
    "thinking": THINKING,
}
CASES = [
    pytest.param(*case, id=f"{table}: {name}")
    for table, cases in TABLES.items()
    for name, case in cases.items()
]


@pytest.fixture
def transcript(qtbot: QtBot) -> Transcript:
    """Held until it is closed: its timers go on a little after the test."""
    widget = Transcript()
    qtbot.addWidget(widget)
    return widget


@pytest.mark.parametrize(("text", "lines"), CASES)
def test_what_is_shown(transcript: Transcript, text: str, lines: list[str]) -> None:
    transcript.show_messages([Message(2, 1, "assistant", text, "complete", 0.0, None, "Model")])
    assert answer_lines(transcript.document()) == lines
