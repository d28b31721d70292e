"""``rubrica games``: make, open, play and read games of a server."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import quote, urlencode

import msgspec
import typer

from rubrica.errors import RubricaError
from rubrica.report.figures import count_of, percent
from rubrica.report.printable import printable_json

from .game_files import GameFile, read_game, read_rounds
from .game_tables import BoardAnswer, GameAnswer, RatingsAnswer, print_board, print_game, print_games, print_ratings
from .options import AsJson, Force, ServerAddress
from .output_files import STDOUT, atomic_text_file
from .remote import Remote, RemoteReply, remote
from .screen import echo_json, note, out, safe
from .sources import text_of

EPILOG = """[bold]Examples[/bold]
  rubrica games create moth-night.yaml
  rubrica games open 'Moth night'
  rubrica games invite 'Moth night' --uses 20 --days 2
  rubrica games play 'Moth night' --response 'In 1974 I met a moth.'
  rubrica games board 'Moth night' --page 2

RUBRICA_SERVER names the server, RUBRICA_API_KEY the key."""
CREATE_EPILOG = """[bold]A game[/bold]
  name: Moth night
  public: true
  status: open            # left out: draft
  deadline: 2030-05-01T18:00:00Z
  most_rounds: 5          # of one player
  rubrics:
    - {rubric: norm-macdonald-classic, weight: 0.6, dimension: style}
    - {rubric: speed-demon, weight: 0.4, dimension: speed}
  teams: [Moths, Flies]
  seasons:
    - {name: Spring, starts_at: 2030-03-01T00:00:00Z, ends_at: 2030-06-01T00:00:00Z}"""

app = typer.Typer(
    add_completion=False,
    rich_markup_mode="rich",
    no_args_is_help=True,
    help="Create, open, play and read the games of a server.",
    epilog=EPILOG,
)

GameName = Annotated[str, typer.Argument(metavar="GAME", help="Its id, or its name where only one has it.")]
Output = Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="- prints it.")]
PAGE = 200
PLACES = 50
MOST_PAGES = 500
ROUNDS_AT_ONCE = 100


@contextmanager
def _asking(server: str) -> Iterator[_Games]:
    with remote(server) as (there, runner):
        yield _Games(there, runner)


class _Games:
    """The games of a server, asked one request after the other."""

    def __init__(self, there: Remote, runner: asyncio.Runner) -> None:
        self._there, self._runner = there, runner

    def get(self, path: str) -> RemoteReply:
        return self._runner.run(self._there.get(path))

    def post(self, path: str, data: Any) -> RemoteReply:
        return self._runner.run(self._there.post(path, data))

    def patch(self, path: str, data: Any) -> RemoteReply:
        return self._runner.run(self._there.patch(path, data))

    def pages(self, path: str, **asked: object) -> Iterator[Any]:
        """The items of a list, page by page."""
        cursor: str | None = None
        for _ in range(MOST_PAGES):
            asked["limit"] = PAGE
            told = {**asked, **({} if cursor is None else {"cursor": cursor})}
            page = self.get(f"{path}?{urlencode(told)}").read(_Page)
            yield from page.items
            cursor = page.next
            if cursor is None:
                return

    def path(self, game: str) -> str:
        """The path of a game by its id or its name."""
        if _is_id(game):
            return f"/api/games/{quote(game, safe='')}"
        known = [msgspec.convert(item, GameAnswer) for item in self.pages("/api/games")]
        found = [each for each in known if each.name == game]
        if not found:
            raise RubricaError(f"you see no game called {game!r} (`rubrica games list` shows those you see)")
        if len(found) > 1:
            raise RubricaError(f"several games are called {game!r}: {', '.join(each.id for each in found)}")
        return f"/api/games/{found[0].id}"


class _Page(msgspec.Struct, frozen=True):
    items: list[Any]
    next: str | None = None


class _Invitation(msgspec.Struct, frozen=True):
    id: str
    expires_at: str
    token: str | None = None
    link: str | None = None


class _OwnInvitation(msgspec.Struct, frozen=True):
    id: str
    game: str


class _Invited(msgspec.Struct, frozen=True):
    items: list[_OwnInvitation]


class _Started(msgspec.Struct, frozen=True):
    token: str
    player: str
    round_number: int


class _Joined(msgspec.Struct, frozen=True):
    game: str
    player: str


class _RoundAnswer(msgspec.Struct, frozen=True):
    player: str
    round_number: int
    composite: dict[str, Any]


class _Played(msgspec.Struct, frozen=True):
    rounds: list[_RoundAnswer]


@app.command("list")
def list_games(
    server: ServerAddress,
    mine: Annotated[bool, typer.Option("--mine", help="Those you made only.")] = False,
    as_json: AsJson = False,
) -> None:
    """List the games you see, the newest first."""
    with _asking(server) as there:
        found = list(there.pages("/api/games", **({"mine": "true"} if mine else {})))
    if as_json:
        echo_json(found)
    else:
        print_games([msgspec.convert(item, GameAnswer) for item in found])


@app.command()
def show(game: GameName, server: ServerAddress, as_json: AsJson = False) -> None:
    """Show a game: its status, limits and rubrics."""
    with _asking(server) as there:
        answer = there.get(there.path(game))
    if as_json:
        echo_json(answer.data)
    else:
        print_game(answer.read(GameAnswer))


@app.command(epilog=CREATE_EPILOG)
def create(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A game, YAML or JSON.")], server: ServerAddress
) -> None:
    """Make a game as a file describes it: a draft, until everything belongs to it."""
    wanted = read_game(file)
    with _asking(server) as there:
        made = there.post("/api/games", wanted.game()).read(GameAnswer)
        try:
            _set_up_game(there, made.id, wanted)
        except RubricaError:
            note(f"{wanted.name} is there as a draft, and not everything belongs to it yet: {made.id}")
            raise
    out().print(safe(f"{wanted.name} is made, and {wanted.status}: {made.id}"), markup=False)


def _set_up_game(there: _Games, game_id: str, wanted: GameFile) -> None:
    path = f"/api/games/{game_id}"
    if wanted.rubrics:
        there.post(f"{path}/evaluations", {"evaluations": [entry.plain() for entry in wanted.rubrics]})
    for team in wanted.teams:
        there.post(f"{path}/teams", {"name": team})
    for season in wanted.seasons:
        there.post(f"{path}/seasons", season.model_dump())
    if wanted.status != "draft":
        there.patch(path, {"status": wanted.status})


@app.command("open")
def open_game(game: GameName, server: ServerAddress) -> None:
    """Take rounds: of a draft, or of a game that was closed."""
    _set_status(server, game, "open")


@app.command()
def close(game: GameName, server: ServerAddress) -> None:
    """Take no more rounds; everything stays to be read."""
    _set_status(server, game, "closed")


def _set_status(server: str, game: str, status: str) -> None:
    with _asking(server) as there:
        told = there.patch(there.path(game), {"status": status}).read(GameAnswer)
    out().print(safe(f"{told.name} is {told.status}"), markup=False)


@app.command()
def copy(
    game: GameName,
    server: ServerAddress,
    name: Annotated[str | None, typer.Option("--name", help="Left out: Copy of …")] = None,
) -> None:
    """Make a draft with a game's settings, limits and rubrics, and no rounds."""
    with _asking(server) as there:
        made = there.post(f"{there.path(game)}/copy", {} if name is None else {"name": name}).read(GameAnswer)
    out().print(safe(f"{made.name} is a draft: {made.id}"), markup=False)


@app.command()
def invite(
    game: GameName,
    server: ServerAddress,
    user: Annotated[str | None, typer.Option("--user", metavar="NAME", help="One person; left out: a link.")] = None,
    uses: Annotated[int | None, typer.Option("--uses", min=1, help="Of a link; left out: no limit.")] = None,
    days: Annotated[float, typer.Option("--days", help="Until it expires.")] = 7.0,
) -> None:
    """Invite a person by name, or anybody with a link, which is printed once."""
    with _asking(server) as there:
        wanted = {"user": user, "most_uses": uses, "days": days}
        made = there.post(f"{there.path(game)}/invitations", wanted).read(_Invitation)
    if made.token is None:
        out().print(safe(f"{user} is invited until {made.expires_at}"), markup=False)
    else:
        out().print(safe(f"{server.rstrip('/')}{made.link}"), markup=False, soft_wrap=True)
        note(f"it expires at {made.expires_at}; on the command line: rubrica games join {made.token}")


@app.command()
def join(
    server: ServerAddress,
    invitation: Annotated[
        str | None,
        typer.Argument(metavar="[LINK|TOKEN|ID]", help="Left out: the invitations that name you are listed."),
    ] = None,
) -> None:
    """Come to a game by an invitation: a link, or one that names you."""
    with _asking(server) as there:
        if invitation is None:
            for each in there.get("/api/invitations").read(_Invited).items:
                out().print(safe(f"{each.game}: rubrica games join {each.id}"), markup=False, soft_wrap=True)
            return
        named = invitation.rsplit("/", 1)[-1]
        told = there.post("/api/invitations/accept", {"id" if _is_id(named) else "token": named}).read(_Joined)
    out().print(safe(f"{told.player} has joined {told.game}"), markup=False)


@app.command()
def start(
    game: GameName,
    server: ServerAddress,
    player: Annotated[str | None, typer.Option("--player", help="Whose it is; left out: yours.")] = None,
) -> None:
    """Begin a round: the server's clock runs until it is submitted with the token that is printed."""
    with _asking(server) as there:
        whose = {} if player is None else {"player": player}
        begun = there.post(f"{there.path(game)}/start", whose).read(_Started)
    out().print(safe(begun.token), markup=False)
    note(f"round {begun.round_number} of {begun.player} has begun: rubrica games play … --token {begun.token}")


@app.command()
def play(
    game: GameName,
    server: ServerAddress,
    response: Annotated[
        str | None, typer.Option("--response", help="What is said; @file reads a file, - stdin.")
    ] = None,
    prompt: Annotated[str | None, typer.Option("--prompt", "-p", help="What was asked; also @file or -.")] = None,
    rounds: Annotated[
        Path | None, typer.Option("--rounds", metavar="ROUNDS.jsonl", help="Several, a JSON object on each line.")
    ] = None,
    player: Annotated[str | None, typer.Option("--player", help="Whose they are; left out: yours.")] = None,
    token: Annotated[str | None, typer.Option("--token", help="That `start` printed, where time counts.")] = None,
    as_json: AsJson = False,
) -> None:
    """Submit a round, or several, and print what they were given."""
    if (response is None) == (rounds is None):
        raise typer.BadParameter("give either --response, or --rounds with a file", param_hint="--response")
    if rounds is not None:
        sent = read_rounds(rounds)
    else:
        one = {"response": text_of(response or "", "--response"), **({} if token is None else {"token": token})}
        sent = [one if prompt is None else {"prompt": text_of(prompt, "--prompt"), **one}]
    whose = {} if player is None else {"player": player}
    with _asking(server) as there:
        path = f"{there.path(game)}/evaluate"
        for at in range(0, len(sent), ROUNDS_AT_ONCE):
            answer = there.post(path, {**whose, "rounds": sent[at : at + ROUNDS_AT_ONCE]})
            if as_json:
                echo_json(answer.data)
            else:
                _print_rounds(answer.read(_Played))


def _print_rounds(played: _Played) -> None:
    for told in played.rounds:
        score = told.composite.get("score")
        parts: Mapping[str, float | None] = told.composite.get("by_dimension") or {}
        by = ", ".join(f"{name} {percent(value)}" for name, value in parts.items())
        line = f"{told.player}, round {told.round_number}: {percent(score)}" + (f" ({by})" if by else "")
        out().print(safe(line), markup=False)


@app.command()
def board(
    game: GameName,
    server: ServerAddress,
    by: Annotated[str | None, typer.Option("--by", help="How scores come about, such as composite or korgym.")] = None,
    dimension: Annotated[str | None, typer.Option("--dimension", help="Rank by this one.")] = None,
    season: Annotated[str | None, typer.Option("--season", help="Of this season.")] = None,
    team: Annotated[str | None, typer.Option("--team", help="Its players only.")] = None,
    player: Annotated[str | None, typer.Option("--player", help="Those with this in their name.")] = None,
    page: Annotated[int, typer.Option("--page", min=1)] = 1,
    size: Annotated[int, typer.Option("--size", min=1, max=1_000, help="Players of a page.")] = PLACES,
    form: Annotated[Literal["table", "csv", "json"], typer.Option("--format")] = "table",
    ratings: Annotated[
        bool, typer.Option("--ratings", help="Elo and Bradley–Terry of its players instead, with their intervals.")
    ] = False,
) -> None:
    """Show the leaderboard, and your own rank."""
    if ratings:
        chosen = [by, dimension, season, team, player]
        if form == "csv" or page != 1 or size != PLACES or any(value is not None for value in chosen):
            raise typer.BadParameter("goes with --format json alone: all players are rated", param_hint="--ratings")
        _show_ratings(server, game, as_json=form == "json")
        return
    asked = {"by": by, "dimension": dimension, "season": season, "team": team, "player": player}
    told = {key: value for key, value in asked.items() if value is not None}
    place = {"limit": size, "offset": (page - 1) * size, **({"format": "csv"} if form == "csv" else {})}
    with _asking(server) as there:
        answer = there.get(f"{there.path(game)}/leaderboard?{urlencode({**told, **place})}")
    if form == "csv":
        typer.echo(safe(answer.body.decode(errors="replace")), nl=False)
    elif form == "json":
        echo_json(answer.data)
    else:
        print_board(answer.read(BoardAnswer))


def _show_ratings(server: str, game: str, *, as_json: bool) -> None:
    with _asking(server) as there:
        answer = there.get(f"{there.path(game)}/ratings")
    if as_json:
        echo_json(answer.data)
    else:
        print_ratings(answer.read(RatingsAnswer))


@app.command()
def export(game: GameName, server: ServerAddress, output: Output = STDOUT, force: Force = False) -> None:
    """Write a game's rounds with their composites, a JSON object on each line."""
    with _asking(server) as there:
        lines = (msgspec.json.encode(item).decode() for item in there.pages(f"{there.path(game)}/rounds"))
        if output == STDOUT:
            for line in lines:
                typer.echo(printable_json(line))
            return
        count = 0
        with atomic_text_file(output, force=force) as file:
            for line in lines:
                file.write(line + "\n")
                count += 1
    note(f"{count_of(count, 'round')} in {output}")


def _is_id(text: str) -> bool:
    """Whether a text is an id.

    >>> _is_id("018f0000-0000-7000-8000-000000000000"), _is_id("Moth night")
    (True, False)
    """
    return len(text) == 36 and text.count("-") == 4 and " " not in text
