"""A caller from elsewhere cannot make the server open files of its own."""

from __future__ import annotations

from pathlib import Path

from servers import Running


def test_a_picture_named_by_a_path_is_refused_whether_the_file_is_there_or_not(server: Running, tmp_path: Path) -> None:
    there = tmp_path / "secret.png"
    there.write_bytes(b"not a picture")
    rule = {"type": "custom_expression", "name": "brief", "expression": "1 if image_readable > 0 else 0"}
    made = server.author.post("/api/evaluations", {"name": "Looks", "scoring_type": "binary", "rules": [rule]})
    assert made.status == 201, made.text
    said = set()
    for path in (there, tmp_path / "missing.png"):
        body = {"context": {"response": "Look.", "images": [str(path)]}}
        reply = server.author.post(f"/api/evaluations/{made.json['id']}/test", body)
        assert reply.status == 422
        said.add(reply.json["detail"])
    assert said == {"images: give http(s) or data: URLs here, not paths of files"}
