"""Settings from files and the environment, each with its origin."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from rubrica.llm.settings import Settings, SettingsError, load_settings


class Place:
    """A home and a working directory of their own."""

    def __init__(self, root: Path) -> None:
        self.home, self.folder = root / "home", root / "work"
        self.user_file = self.home / ".config" / "rubrica" / "config.toml"
        self.project_file = self.folder / "rubrica.toml"
        self.user_file.parent.mkdir(parents=True)
        self.folder.mkdir()

    def load(self, **environ: str) -> Settings:
        return load_settings(environ, folder=self.folder, home=self.home)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_without_files_and_variables_the_defaults_hold(place: Place) -> None:
    settings = place.load()
    assert settings.judge is None
    assert settings.base_url_of("openai") == "https://api.openai.com/v1"
    assert settings.cache == place.home / ".cache" / "rubrica" / "replies.sqlite"
    assert {item.origin for item in settings.shown()} == {"default"}


def test_the_environment_wins_over_the_project_over_the_user(place: Place) -> None:
    place.user_file.write_text('judge = "openai:a"\ntimeout = 5\nattempts = 2\n')
    place.project_file.write_text('judge = "openai:b"\ntimeout = 6.5\n')
    settings = place.load(RUBRICA_JUDGE="openai:c")
    assert (settings.judge, settings.timeout, settings.attempts) == ("openai:c", 6.5, 2)
    assert settings.origins == {
        "judge": "RUBRICA_JUDGE",
        "timeout": str(place.project_file),
        "attempts": str(place.user_file),
    }


def test_a_chosen_file_is_read_instead_of_both(place: Place) -> None:
    place.project_file.write_text("timeout = 6")
    (place.folder / "other.toml").write_text("attempts = 3")
    settings = place.load(RUBRICA_CONFIG="other.toml")
    assert (settings.attempts, settings.timeout) == (3, 60.0)


def test_a_chosen_file_that_is_missing_is_an_error(place: Place) -> None:
    with pytest.raises(SettingsError, match=r"RUBRICA_CONFIG: there is no file gone\.toml"):
        place.load(RUBRICA_CONFIG="gone.toml")


def test_every_variable_reaches_its_setting(place: Place) -> None:
    settings = place.load(
        RUBRICA_TIMEOUT="7",
        RUBRICA_DEADLINE="70",
        RUBRICA_ATTEMPTS="2",
        RUBRICA_CONCURRENCY="9",
        RUBRICA_BUDGET="2.00",
        RUBRICA_CACHE="~/r.sqlite",
        RUBRICA_OPENAI_BASE_URL="http://localhost:1/v1/",
        RUBRICA_ANTHROPIC_BASE_URL="http://localhost:2",
    )
    assert (settings.timeout, settings.deadline, settings.attempts, settings.concurrency) == (7, 70, 2, 9)
    assert settings.budget == 2.0
    assert settings.cache == Path("~/r.sqlite").expanduser()
    assert settings.base_url_of("openai") == "http://localhost:1/v1"
    assert settings.base_url_of("anthropic") == "http://localhost:2"


@pytest.mark.parametrize("off", ["off", "OFF", "none", "false"])
def test_the_cache_can_be_switched_off(place: Place, off: str) -> None:
    assert place.load(RUBRICA_CACHE=off).cache is None


def test_the_cache_can_be_switched_off_in_a_file(place: Place) -> None:
    place.project_file.write_text("cache = false")
    assert place.load().cache is None


def test_keys_come_from_the_providers_usual_variables(place: Place) -> None:
    settings = place.load(ANTHROPIC_KEY="old-0123456789", OPENAI_API_KEY=" sk-0123456789 ", RUBRICA_HTTP_KEY="h")
    assert settings.key_of("anthropic") == "old-0123456789"
    assert settings.key_of("openai") == "sk-0123456789"
    assert settings.origins["anthropic_key"] == "ANTHROPIC_KEY"
    newer = place.load(ANTHROPIC_KEY="old-0123456789", ANTHROPIC_API_KEY="new-0123456789")
    assert newer.key_of("anthropic") == "new-0123456789"
    assert newer.origins["anthropic_key"] == "ANTHROPIC_API_KEY"


def test_keys_are_masked_wherever_settings_are_shown(place: Place) -> None:
    settings = place.load(ANTHROPIC_API_KEY="sk-ant-very-secret-wxyz", OPENAI_API_KEY="short")
    shown = {item.name: item.value for item in settings.shown()}
    assert shown["anthropic_key"] == "…wxyz"
    assert shown["openai_key"] == "…"
    assert "secret" not in f"{settings!r} {settings} {settings.model_dump_json()} {shown}"


def test_an_empty_variable_counts_as_not_set(place: Place) -> None:
    settings = place.load(RUBRICA_TIMEOUT="", OPENAI_API_KEY=" ")
    assert settings.timeout == 60
    assert settings.key_of("openai") is None


def test_variables_that_name_no_setting_are_reported(place: Place) -> None:
    assert place.load(RUBRICA_TIMEOT="5", RUBRICA_CONFIG="", HOME="x").unused == ("RUBRICA_TIMEOT",)


@pytest.mark.parametrize(
    ("variable", "value", "words"),
    [
        ("RUBRICA_TIMEOUT", "soon", "RUBRICA_TIMEOUT: 'soon'.*number"),
        ("RUBRICA_TIMEOUT", "-1", "greater than 0"),
        ("RUBRICA_TIMEOUT", "nan", "RUBRICA_TIMEOUT"),
        ("RUBRICA_CONCURRENCY", "2.5", "RUBRICA_CONCURRENCY: '2.5'.*whole number"),
        ("RUBRICA_BUDGET", "inf", "finite"),
        ("RUBRICA_OPENAI_BASE_URL", "localhost:8000", "https://host/v1"),
        ("RUBRICA_OPENAI_BASE_URL", "https://me:pass@host/v1", "password"),
    ],
)
def test_a_bad_variable_is_named_with_the_way_out(place: Place, variable: str, value: str, words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        place.load(**{variable: value})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('timeout = "soon"', "rubrica.toml: timeout: 'soon'.*number"),
        ("timeot = 5", "rubrica.toml: timeot: no such setting .did you mean 'timeout'"),
        ("judge = \n", "rubrica.toml: cannot be read as TOML.*line 1"),
        ('openai_key = "sk-1"', "keys do not belong in files .set OPENAI_API_KEY"),
        ("judge = 5", "rubrica.toml: judge: 5"),
    ],
)
def test_a_bad_file_is_named_with_the_way_out(place: Place, text: str, words: str) -> None:
    place.project_file.write_text(text)
    with pytest.raises(SettingsError, match=words):
        place.load()


@pytest.mark.parametrize(
    "line",
    [
        'openai_base_url = "https://elsewhere.example/v1"',
        'anthropic_base_url = "https://elsewhere.example"',
        'judge = "https://elsewhere.example/v1#model"',
    ],
)
def test_a_file_in_the_working_directory_cannot_send_keys_elsewhere(place: Place, line: str) -> None:
    place.project_file.write_text(line)
    with pytest.raises(SettingsError, match="where requests and keys are sent"):
        place.load()
    assert place.load(RUBRICA_CONFIG="rubrica.toml").origins  # named by the user, it may
    place.project_file.unlink()
    place.user_file.write_text(line)
    assert place.load().origins


def test_a_file_in_the_working_directory_may_name_a_server_on_this_machine(place: Place) -> None:
    place.project_file.write_text('judge = "http://localhost:8000/v1#qwen"')
    assert place.load().judge == "http://localhost:8000/v1#qwen"


def test_all_faults_are_told_at_once(place: Place) -> None:
    with pytest.raises(SettingsError) as error:
        place.load(RUBRICA_TIMEOUT="x", RUBRICA_ATTEMPTS="0")
    assert len(str(error.value).splitlines()) == 2


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(ValidationError):
        Settings().timeout = 5
