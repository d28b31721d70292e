"""What clients are told a model is called."""

from __future__ import annotations

from pathlib import PurePath


def public_name(name: str) -> str:
    """A model's name without where it runs: addresses and folders are nobody's business outside.

    >>> public_name("openai:gpt-4o-mini"), public_name("http://10.0.0.7:8080/v1#llama-3")
    ('openai:gpt-4o-mini', 'llama-3')
    >>> public_name("local:/models/smol.gguf"), public_name("local:")
    ('local:smol', 'local:')
    """
    scheme, _, rest = name.partition(":")
    if scheme in ("http", "https"):
        return rest.partition("#")[2] or scheme
    if scheme in ("local", "scripted", "replay"):
        return f"{scheme}:{PurePath(rest).stem}"
    return name
