"""The tables. Migrations bring a database to this shape; a test holds the two against each other."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    Uuid,
    and_,
    false,
)

from .columns import Document, UtcDateTime, Words

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)

users = Table(
    "users",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("name", String(100), nullable=False, unique=True),
    Column("created_at", UtcDateTime, nullable=False),
)

api_keys = Table(
    "api_keys",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("user_id", ForeignKey("users.id"), nullable=False, index=True),
    Column("role", String(20), nullable=False),
    Column("label", String(100), nullable=False, server_default=""),
    Column("prefix", String(16), nullable=False),  # what a list shows of the key
    Column("digest", LargeBinary(32), nullable=False, unique=True),  # SHA-256; the key itself is kept nowhere
    Column("per_minute", Integer, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("last_used_at", UtcDateTime),
    Column("revoked_at", UtcDateTime),
    Column("usd_per_day", Double),  # most US dollars it may have the server spend; None: no limit of its own
    Column("allowances", Document),  # what the gateway lets it choose and spend; None: what the gateway lets everybody
    CheckConstraint("role IN ('admin', 'author', 'player', 'viewer')", name="role"),
    CheckConstraint("per_minute > 0", name="per_minute"),
)

rubrics = Table(
    "rubrics",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("slug", String(64), nullable=False),  # the rubric's name, as in name@version
    Column("name", String(255), nullable=False),  # as its author wrote it
    Column("description", Text, nullable=False, server_default=""),
    Column("version", String(50), nullable=False),  # of the newest revision
    Column("revision", Integer, nullable=False),  # the newest, counted from 1
    Column("scoring_type", String(50)),  # None: a rubric in the long form
    Column("category", String(100), nullable=False, server_default=""),
    Column("tags", Words, nullable=False),
    Column("search", Text, nullable=False),  # what `q` looks in, folded: store.search.searched makes it
    Column("is_public", Boolean, nullable=False, server_default=false()),
    Column("created_by", ForeignKey("users.id")),  # None: it came with Rubrica
    Column("forked_from", Uuid),  # the version it was copied from; no foreign key, for versions point back here
    Column("created_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
    Column("deleted_at", UtcDateTime),
    CheckConstraint("scoring_type IN ('binary', 'proportional', 'cumulative')", name="scoring_type"),
)
Index("ix_rubrics_owner", rubrics.c.created_by, rubrics.c.id)
Index("ix_rubrics_own_private", rubrics.c.created_by, rubrics.c.is_public, rubrics.c.id)
Index("ix_rubrics_public", rubrics.c.is_public, rubrics.c.id)
Index("ix_rubrics_category", rubrics.c.category, rubrics.c.id)
Index("ix_rubrics_slug", rubrics.c.slug, rubrics.c.id)
Index("ix_rubrics_public_slug", rubrics.c.is_public, rubrics.c.slug, rubrics.c.id)
Index("ix_rubrics_origin", rubrics.c.forked_from)  # who copied it
Index("ix_rubrics_tags", rubrics.c.tags, postgresql_using="gin").ddl_if(dialect="postgresql")
_kept = rubrics.c.deleted_at.is_(None)
Index(
    "uq_rubrics_owner_slug",
    rubrics.c.created_by,
    rubrics.c.slug,
    unique=True,
    sqlite_where=_kept,
    postgresql_where=_kept,
)
_bundled = and_(rubrics.c.created_by.is_(None), _kept)  # to a unique index, every NULL is another owner
Index(
    "uq_rubrics_bundled_slug",
    rubrics.c.slug,
    unique=True,
    sqlite_where=_bundled,
    postgresql_where=_bundled,
)

rubric_versions = Table(
    "rubric_versions",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("rubric_id", ForeignKey("rubrics.id"), nullable=False),
    Column("revision", Integer, nullable=False),
    Column("version", String(50), nullable=False),
    Column("definition", Document, nullable=False),  # as its author wrote it
    Column("examples", Document, nullable=False),  # cases that show what it does
    Column("hash", String(64), nullable=False),
    Column("note", Text, nullable=False, server_default=""),  # why it was changed
    Column("created_by", ForeignKey("users.id")),
    Column("created_at", UtcDateTime, nullable=False),
    UniqueConstraint("rubric_id", "revision"),
    UniqueConstraint("rubric_id", "version"),
)

market_listings = Table(
    "market_listings",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("rubric_id", ForeignKey("rubrics.id"), nullable=False, unique=True),
    Column("downloads", Integer, nullable=False, server_default="0"),
    Column("rating", Double),  # the mean of its reviews, 1 to 5; None: no review yet
    Column("reviews", Integer, nullable=False, server_default="0"),
    Column("featured", Boolean, nullable=False, server_default=false()),
    Column("trend", Double, nullable=False),  # see store.market: comparable at any time without being touched
    Column("listed", Boolean, nullable=False),  # false once it is private again or deleted
    Column("created_at", UtcDateTime, nullable=False),
)
_listing = market_listings.c
Index("ix_market_listings_newest", _listing.listed, _listing.id)
Index("ix_market_listings_downloads", _listing.listed, _listing.downloads, _listing.id)
Index("ix_market_listings_featured", _listing.listed, _listing.featured, _listing.id)
Index("ix_market_listings_rating", _listing.listed, _listing.rating, _listing.reviews, _listing.id)
Index("ix_market_listings_trend", _listing.listed, _listing.trend, _listing.id)

market_reviews = Table(
    "market_reviews",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("rubric_id", ForeignKey("rubrics.id"), nullable=False),
    Column("user_id", ForeignKey("users.id"), nullable=False),
    Column("rating", Integer, nullable=False),
    Column("review", Text, nullable=False, server_default=""),
    Column("created_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
    UniqueConstraint("rubric_id", "user_id"),  # a second review of the same person replaces the first
    CheckConstraint("rating BETWEEN 1 AND 5", name="rating"),
)
Index("ix_market_reviews_newest", market_reviews.c.rubric_id, market_reviews.c.updated_at)

games = Table(
    "games",
    metadata,
    Column("id", Uuid, primary_key=True),  # what other tables call the game session
    Column("name", String(255), nullable=False),
    Column("config", Document, nullable=False),  # game_config of every context
    Column("is_public", Boolean, nullable=False),
    Column("created_by", ForeignKey("users.id"), index=True),
    Column("created_at", UtcDateTime, nullable=False),
    Column("fair_play", Document),  # what players may report and see; None: it was made before there was a choice
    Column("vouched_by", Uuid),  # an admin: it counts across games whoever plays in it
    Column("vouched_at", UtcDateTime),
    Column("status", String(10), nullable=False, server_default="open"),  # draft, open or closed
    Column("deadline", UtcDateTime),  # no rounds from then on
    Column("most_rounds", Integer),  # of one player; None, of both: no limit
    Column("most_players", Integer),
    Column("board_form", Integer, nullable=False, server_default="0"),  # how its standings are kept; 0: not yet
)

game_rubrics = Table(
    "game_rubrics",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("game_session_id", ForeignKey("games.id"), nullable=False),
    Column("rubric_id", ForeignKey("rubrics.id"), nullable=False),
    Column("version_id", ForeignKey("rubric_versions.id"), nullable=False),  # later changes do not reach the game
    Column("weight", Double, nullable=False),
    Column("dimension", String(100), nullable=False),
    Column("config_overrides", Document, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("detached_at", UtcDateTime),  # its scores stay
    CheckConstraint("weight >= 0 AND weight <= 1", name="weight"),
)
Index("ix_game_rubrics_game", game_rubrics.c.game_session_id)

players = Table(
    "players",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("name", String(255), nullable=False),
    Column("info", Document, nullable=False),  # player_info of every context
    Column("user_id", ForeignKey("users.id")),  # the person behind it; None: a model, or nobody with a key
    Column("created_by", ForeignKey("users.id")),
    Column("created_at", UtcDateTime, nullable=False),
    UniqueConstraint("created_by", "name"),
)
Index("ix_players_user", players.c.user_id)

game_players = Table(
    "game_players",  # players that joined a game: whoever stands behind them agreed
    metadata,
    Column("game_session_id", ForeignKey("games.id"), primary_key=True),
    Column("player_id", ForeignKey("players.id"), primary_key=True),
    Column("joined_at", UtcDateTime, nullable=False),
)

rounds = Table(
    "rounds",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("game_session_id", ForeignKey("games.id"), nullable=False),
    Column("player_id", ForeignKey("players.id"), nullable=False),
    Column("round_number", Integer, nullable=False),
    Column("content", Document, nullable=False),  # prompt, response, metadata, custom_metrics, what was found in it
    Column("created_at", UtcDateTime, nullable=False),
    Column("voided_at", UtcDateTime),  # it is kept and shown, and counts no more
    Column("voided_by", Uuid),
    Column("void_reason", String(500)),
    UniqueConstraint("game_session_id", "player_id", "round_number"),
)

round_starts = Table(
    "round_starts",  # when a round was begun, by the server's clock
    metadata,
    Column("id", Uuid, primary_key=True),  # the token that the round is submitted with
    Column("game_session_id", ForeignKey("games.id"), nullable=False),
    Column("player_id", ForeignKey("players.id"), nullable=False),
    Column("round_number", Integer, nullable=False),
    Column("started_at", UtcDateTime, nullable=False),
    UniqueConstraint("game_session_id", "player_id", "round_number"),  # beginning anew does not turn back the clock
)

evaluation_scores = Table(
    "evaluation_scores",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("game_session_id", ForeignKey("games.id")),  # None: executed outside any game
    Column("player_id", ForeignKey("players.id")),
    Column("rubric_id", ForeignKey("rubrics.id"), nullable=False),
    Column("version_id", ForeignKey("rubric_versions.id"), nullable=False),
    Column("attachment_id", ForeignKey("game_rubrics.id")),
    Column("round_number", Integer),
    Column("raw_score", Double),  # points as the rubric counts them; None: what is missing leaves it open
    Column("normalized_score", Double),  # 0 to 1
    Column("verdict", String(40), nullable=False),
    Column("rule_breakdown", Document, nullable=False),
    Column("dimension_scores", Document, nullable=False),
    Column("context_snapshot", Document, nullable=False),
    Column("record", Document, nullable=False),  # the Evaluation without its context
    Column("created_by", ForeignKey("users.id")),
    Column("created_at", UtcDateTime, nullable=False),
    Column("low", Double),  # of an open score, the normalised score lies between these
    Column("high", Double),
    Column("tries", Integer, nullable=False, server_default="0"),  # at having an open score judged again
    Column("retry_at", UtcDateTime),  # when it is judged again; None: it is not
    Column("voided_at", UtcDateTime),  # with its round
    UniqueConstraint("attachment_id", "player_id", "round_number"),
)
_waiting = evaluation_scores.c.retry_at.is_not(None)
Index("ix_evaluation_scores_retry", evaluation_scores.c.retry_at, sqlite_where=_waiting, postgresql_where=_waiting)
for _name, _whose in (("game", evaluation_scores.c.game_session_id), ("player", evaluation_scores.c.player_id)):
    _in_game = _whose.is_not(None)  # what is executed outside any game, which is most, costs these indexes nothing
    Index(
        f"ix_evaluation_scores_{_name}",
        _whose,
        evaluation_scores.c.id,
        sqlite_where=_in_game,
        postgresql_where=_in_game,
    )
Index("ix_evaluation_scores_user", evaluation_scores.c.created_by, evaluation_scores.c.id)
Index("ix_evaluation_scores_rubric", evaluation_scores.c.rubric_id, evaluation_scores.c.id)

replies = Table(
    "replies",  # to requests that carried an idempotency key
    metadata,
    Column("user_id", Uuid, primary_key=True),
    Column("key", String(255), primary_key=True),
    Column("request", LargeBinary(32), nullable=False),  # digest of method, path and body
    Column("holder", Uuid, nullable=False),  # the request that works on it: nobody else may write the reply
    Column("status", Integer),  # None: still under way
    Column("headers", Document, nullable=False),
    Column("body", LargeBinary),
    Column("created_at", UtcDateTime, nullable=False, index=True),
)

gateway_requests = Table(
    "gateway_requests",
    metadata,
    Column("trace", Uuid, primary_key=True),
    Column("at", UtcDateTime, nullable=False, index=True),  # when it came
    Column("key_id", Uuid),  # no foreign key: what was spent is kept whatever becomes of the key
    Column("team", String(40)),  # of the key; None: it has none
    Column("conversation", BigInteger),  # a digest; requests of one conversation share it
    Column("variant", String(40), nullable=False),  # the arm of an experiment; empty: there was none
    Column("chosen", String(200), nullable=False),  # by headers: force=tier-1, threshold=60
    Column("status", Integer, nullable=False),  # of HTTP
    Column("stream", Boolean, nullable=False),
    Column("cached", String(10), nullable=False),  # exact or semantic; empty: it was answered anew
    Column("degraded", String(20), nullable=False),  # what was missing for the answer that was wanted; empty: nothing
    Column("failed_steps", String(60), nullable=False),
    Column("tier", String(10)),  # None: there was no answer
    Column("model", String(200)),
    Column("deployment", String(200)),  # of several that the tier has
    Column("question_type", String(64)),  # None: nothing was classified
    Column("classified_by", String(20)),
    Column("classification_confidence", Double),
    Column("rubric", String(120)),  # name@version
    Column("passed", Boolean),  # None: nothing was graded
    Column("score", Double),  # of tier-0's answer, 0 to 100; None: not graded, or no number came of it
    Column("threshold", Double),
    Column("gated", Boolean),  # a gate took part in the grade, so that the score alone did not decide
    Column("grade_confidence", Double),
    Column("variance", Double),
    Column("dimension_scores", Document),
    Column("tier0_usd", Double),  # None, of these: some price is not known
    Column("tier1_usd", Double),
    Column("classification_usd", Double),
    Column("grading_usd", Double),
    Column("total_usd", Double),
    Column("baseline_usd", Double),  # tier-1 alone
    Column("model_usd", Document),  # what each model was paid; null of one whose price is not known
    Column("tier0_ms", Double),  # None, of these: it was not done
    Column("tier1_ms", Double),
    Column("classification_ms", Double),
    Column("grading_ms", Double),
    Column("first_byte_ms", Double),  # of a stream
    Column("total_ms", Double, nullable=False),
    Column("input_tokens", Integer, nullable=False),  # of all models together
    Column("output_tokens", Integer, nullable=False),
    Column("answer_tokens", Integer, nullable=False),  # of the answer that was given
    Column("prompt_digest", LargeBinary(32)),  # keyed, where digests are kept
    Column("answer_digest", LargeBinary(32)),
    Column("grade_note", String(500)),  # what judges were not shown, and what else a grade says of itself
    Column("zone", String(10)),  # what the learned gate did without a grade: send or escalate; None: it left it
    Column("shadow_score", Double),  # of tier-1's answer to the same request
    Column("shadow_base", Double),  # of tier-0's answer, graded once more: `score` may have been luck
    Column("shadow_difference", Double),  # tier-1's minus that
    Column("shadow_sample", Document),  # what the learned gate learns from it
    Column("shadow_better", Boolean),  # whether tier-1's answer is clearly better
    Column("shadow_failure", String(20)),  # why a comparison has no score; empty: it has; None: there was none
    Column("shadow_usd", Double),  # not part of total_usd: no client asked for it
)
_compared = gateway_requests.c.shadow_failure.isnot(None)
Index(
    "ix_gateway_requests_shadow",
    gateway_requests.c.at,
    sqlite_where=_compared,
    postgresql_where=_compared,
)

gateway_texts = Table(
    "gateway_texts",  # apart from the figures: these are long, private, and the first thing to be deleted
    metadata,
    Column("trace", ForeignKey("gateway_requests.trace"), primary_key=True),
    Column("prompt", Text, nullable=False),  # with personal data masked
    Column("answer", Text, nullable=False),
    Column("rejected", Text),  # tier-0's answer, where it did not pass
    Column("withheld", Text),  # tier-1's, where it was not sent
)

gateway_feedback = Table(
    "gateway_feedback",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("trace", ForeignKey("gateway_requests.trace"), nullable=False),
    Column("user_id", ForeignKey("users.id"), nullable=False),
    Column("rating", Integer),  # None: only a thumb
    Column("liked", Boolean),  # a thumb, or what the rating says; None: a rating in the middle
    Column("scores", Document),  # by dimension, on its scale, where somebody took the trouble
    Column("comment", Text, nullable=False),  # with personal data masked
    Column("created_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
    UniqueConstraint("trace", "user_id"),  # a second opinion of the same person replaces the first
    CheckConstraint("rating BETWEEN 1 AND 5", name="rating"),
    CheckConstraint("rating IS NOT NULL OR liked IS NOT NULL", name="says_something"),
)

gateway_corrections = Table(
    "gateway_corrections",  # what type a question was in truth, as people say
    metadata,
    Column("trace", ForeignKey("gateway_requests.trace"), primary_key=True),
    Column("user_id", ForeignKey("users.id"), primary_key=True),
    Column("question_type", String(64), nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
)

review_items = Table(
    "review_items",  # evaluations that people are to score themselves
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("run", String(255), nullable=False),  # the name of the run it was drawn from
    Column("item", String(32), nullable=False),  # what the review file calls it
    Column("case_id", Text, nullable=False),
    Column("rubric", String(120), nullable=False),  # name@version
    Column("rubric_hash", String(64), nullable=False),
    Column("stratum", Text, nullable=False),  # what it stands for in the sample: fail, 40–60%, doubtful
    Column("questions", Document, nullable=False),  # what is asked: names, scales, anchors
    Column("evaluation", Document, nullable=False),  # with its context; a blind reviewer sees only the context
    Column("state", String(10), nullable=False),
    Column("assigned_to", ForeignKey("users.id")),  # None: anybody's
    Column("created_at", UtcDateTime, nullable=False),
    Column("done_at", UtcDateTime),
    UniqueConstraint("run", "item"),
    CheckConstraint("state IN ('open', 'done')", name="state"),
)
Index("ix_review_items_queue", review_items.c.state, review_items.c.id)
Index("ix_review_items_assigned", review_items.c.assigned_to, review_items.c.state, review_items.c.id)

review_scores = Table(
    "review_scores",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("item_id", ForeignKey("review_items.id"), nullable=False),
    Column("user_id", ForeignKey("users.id")),  # None: read from a file that only names the person
    Column("reviewer", String(100), nullable=False),
    Column("scores", Document, nullable=False),  # by dimension or part, on its scale
    Column("note", Text, nullable=False, server_default=""),
    Column("created_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
    UniqueConstraint("item_id", "reviewer"),  # a second opinion of the same person replaces the first
)

spending_days = Table(
    "spending_days",
    metadata,
    Column("account", String(80), primary_key=True),  # such as key:ID or user:ID
    Column("day", String(10), primary_key=True),  # of UTC, as 2026-05-01
    Column("spent_usd", Double, nullable=False),
)

rate_minutes = Table(
    "rate_minutes",
    metadata,
    Column("account", String(80), primary_key=True),
    Column("minute", BigInteger, primary_key=True, autoincrement=False),  # of the clock, since 1970
    Column("requests", Integer, nullable=False),
    Column("tokens", BigInteger, nullable=False),
)

spending_reservations = Table(
    "spending_reservations",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("account", String(80), primary_key=True),
    Column("day", String(10), nullable=False),
    Column("usd", Double, nullable=False),
    Column("expires_at", UtcDateTime, nullable=False),  # unless it is renewed
    Index("ix_spending_reservations_account", "account", "day"),
)

run_access = Table(
    "run_access",  # a run's folder has no row until somebody starts it in the studio, or an admin shares it
    metadata,
    Column("run", String(255), primary_key=True),  # the name of its folder
    Column("run_id", String(64), nullable=False),  # of its manifest: another run in the same folder is another run
    Column("owner_id", ForeignKey("users.id")),  # None: nobody's but the admins'
    Column("sharing", String(10), nullable=False),
    Column("review_sharing", String(10), nullable=False),  # who may score its review items
    Column("created_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
    CheckConstraint("sharing IN ('private', 'shared')", name="sharing"),
    CheckConstraint("review_sharing IN ('private', 'shared')", name="review_sharing"),
)
Index("ix_run_access_owner", run_access.c.owner_id)

run_reviewers = Table(
    "run_reviewers",  # people who are named to review a run
    metadata,
    Column("run", ForeignKey("run_access.run"), primary_key=True),
    Column("user_id", ForeignKey("users.id"), primary_key=True),
)
