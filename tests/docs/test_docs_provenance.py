"""Whatever ships beside code has an origin that is told."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

from docs_pages import DOCS, ROOT

PACKAGE = ROOT / "src" / "rubrica"


def told_patterns() -> list[str]:
    """The files that the tables of the page name, as patterns."""
    text = (DOCS / "provenance.md").read_text(encoding="utf-8")
    cells = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
    return [pattern for cell in cells for pattern in re.findall(r"`(src/[^`]+)`", cell)]


def shipped() -> list[str]:
    files = [path for path in PACKAGE.rglob("*") if path.is_file() and path.suffix not in {".py", ".pyc"}]
    return [path.relative_to(ROOT).as_posix() for path in files]


def test_every_shipped_file_beside_code_has_a_provenance() -> None:
    patterns = told_patterns()
    assert [name for name in shipped() if not any(fnmatchcase(name, pattern) for pattern in patterns)] == []


def test_the_page_tells_of_nothing_that_is_not_there() -> None:
    files = shipped()
    assert [pattern for pattern in told_patterns() if not any(fnmatchcase(name, pattern) for name in files)] == []


def test_every_public_set_that_training_reads_is_named_with_a_licence() -> None:
    """The scripts name sets by their file or source."""
    code = "".join((ROOT / "training" / name).read_text(encoding="utf-8") for name in ("exchanges.py", "labelled.py"))
    read = set(re.findall(r'records\(folder, "(\w+)"\)', code)) | set(re.findall(r'"(jailbreakbench|diasafety)', code))
    told = {"safety_responses", "jailbreakbench", "diasafety", "pandalm", "gsm8k_train_sample"}
    assert read == told | {"routing_gsm8k", "dialogue_usr_topical"}
    page = (DOCS / "provenance.md").read_text(encoding="utf-8")
    for name in ("JailbreakBench", "DiaSafety", "PandaLM", "GSM8K", "RouteLLM", "USR"):
        assert re.search(rf"^\| {name}[^|]*\|[^|]*\| (MIT|Apache-2\.0)\b[^|]*\|$", page, re.MULTILINE), name
