"""What may be broken in C++: its text, line by line, where spaces tell operators from types and pointers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from benchmarks.mutants.mutant import Site

_Change = str | Callable[[re.Match[str]], str]
# a site is what the pattern finds, changed into the text beside it
_OPERATORS: list[tuple[str, str, _Change]] = [
    ("sign", r" \+ ", " - "),
    ("sign", r" - ", " + "),
    ("sign", r" \+= ", " -= "),
    ("sign", r"(?<=[(,=] )-(?=[a-z(])", ""),
    ("factor", r" \* ", " / "),
    ("factor", r" / ", " * "),
    ("factor", r" \*= ", " /= "),
    ("comparison", r" < ", " <= "),
    ("comparison", r" <= ", " < "),
    ("comparison", r" > ", " >= "),
    ("comparison", r" >= ", " > "),
    ("comparison", r" == ", " != "),
    ("comparison", r" != ", " == "),
    ("and or", r" && ", " || "),
    ("and or", r" \|\| ", " && "),
    ("opposite", r"\bsmaller(?=\()", "larger"),
    ("opposite", r"\blarger(?=\()", "smaller"),
    ("opposite", r"(?<=std::)min(?=[<(])", "max"),
    ("opposite", r"(?<=std::)max(?=[<(])", "min"),
    ("off by one", r"(?<== )\d+(?=[;,])", lambda found: str(int(found[0]) + 1)),
    ("off by one", r"(?<=Real\()\d+(?=\))", lambda found: str(int(found[0]) + 1)),
    ("off by one", r"(?<=\[)\d+(?=\])", lambda found: str(int(found[0]) + 1)),
    ("swapped arguments", r"(?<=\()(\w+), (\w+)(?=[,)])", lambda found: f"{found[2]}, {found[1]}"),
    ("missing statement", r"^ +[a-z]\w* (\+|\*)= [^;]*;", ";"),
    ("missing statement", r"^ +(store|std::fill|std::copy)\([^;]*;", ";"),
]
_BEGINS = re.compile(r"^ {0,2}(?!if|for|else|while|return|namespace|struct|class|template)\S.*?\b(\w+)\(.*\{$")
_NOT_CODE = ("#", "//", "template", "static_assert", "using")


def sites(source: str) -> Iterator[Site]:
    """Everything that may be changed, one change a site."""
    function, start = "file", 0
    for line in source.splitlines(keepends=True):
        begins = _BEGINS.match(line.rstrip())
        if begins:
            function = begins[1]
        code = line.partition("//")[0]
        if function != "file" and not begins and not line.strip().startswith(_NOT_CODE):
            for operator, pattern, change in _OPERATORS:
                for found in re.finditer(pattern, code):
                    text = change if isinstance(change, str) else change(found)
                    yield Site(function, operator, start + found.start(), start + found.end(), text)
        start += len(line)
