"""All settings with their defaults, ranges and the origin of each default.

Settings are frozen values: derive another with `settings.model_copy(update=...)` or build one from keywords. A memory
takes what is not set in code from the environment, its settings file and the defaults; see docs/settings.md.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationInfo, field_validator

from langmem_tiers.errors import InvalidSettings
from langmem_tiers.naming import check_space
from langmem_tiers.paths import is_web_address, separate

RecallLayer = Literal[
    "identity", "profile", "documents", "entries", "episodes", "relations", "items", "drawers", "working"
]
"""What a model can be shown: the first three in its prompt, what is found in the others, and keys of working memory."""
LAYERS: tuple[RecallLayer, ...] = get_args(RecallLayer)

Signal = Literal[
    "match", "previous", "session", "support", "asked", "statement", "preference", "time", "latest", "graph", "needed"
]

# Fitted on the development files of two conversation sets at once (docs/decisions.md), rounded.
SIGNAL_WEIGHTS: dict[Signal, float] = {
    "match": 8.0,
    "previous": 2.7,
    "session": 7.0,
    "support": 1.0,
    "asked": 2.1,
    "statement": 1.0,
    "preference": 0.7,
    "time": 3.0,
    "latest": 1.5,
    "graph": 3.0,
    "needed": 6.0,
}


SpaceName = Annotated[str, AfterValidator(check_space)]
# A hundred years at most, so that every date that follows from them can be written; waiting, a week at most, which the
# locks of every system accept.
Days = Annotated[float, Field(le=36_500)]
Hours = Annotated[float, Field(le=36_500 * 24)]
Minutes = Annotated[float, Field(le=36_500 * 24 * 60)]
Seconds = Annotated[float, Field(le=7 * 24 * 60 * 60)]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class TextSettings(_Frozen):
    """Limits on one message, and how a long one is split for embedding (it is always stored whole)."""

    max_characters: int = Field(default=1_000_000, ge=1, description="A longer message is refused with TextTooLong.")
    chunk_characters: int = Field(
        default=1000, ge=100, le=20_000, description="Longest piece that gets one vector (GoClaw)."
    )


class SessionSettings(_Frozen):
    """When a conversation counts as ended."""

    idle_minutes: Minutes = Field(
        default=60, gt=0, description="Minutes of silence after which a session has ended (RockBot)."
    )


class WindowSettings(_Frozen):
    """How much of the conversation itself goes to the model."""

    turns: int = Field(default=20, ge=1, description="Last turns sent to the model (RockBot MaxLlmContextTurns).")
    step: int | None = Field(default=None, ge=1, description="Turns it moves on by at once; None: as many as `turns`.")


class RerankSettings(_Frozen):
    """How a reranker is used, if there is one."""

    enabled: bool = Field(default=True, description="False: recall does without it (AgentStudio useRerank).")
    model: str | None = Field(
        default=None, description="A chat model by name that reranks, unless `Memory.open` is given a reranker."
    )
    candidates: int = Field(default=20, ge=1, le=200, description="Most candidates it gets (AgentStudio).")
    keep: int = Field(default=5, ge=1, le=200, description="Most candidates it promotes (AgentStudio).")
    timeout_seconds: float = Field(default=5.0, gt=0, le=600, description="Longest that a reply waits for it.")
    item_characters: int = Field(default=500, ge=50, description="For a longer drawer it gets an excerpt.")
    may_empty: bool = Field(default=True, description="If it says that none fits, there is no block.")


class ListSettings(_Frozen):
    """What a question for several things gets instead, such as "Which places did I visit?": more and shorter items."""

    limit: int = Field(default=40, ge=1, le=200, description="Most items in a block; the token budget mostly decides.")
    item_characters: int = Field(
        default=200, ge=50, description="With more items than other questions get, a longer drawer is cut to this."
    )
    knowledge: int = Field(default=12, ge=0, description="Most entries, episodes and notes in a block; 0 shows none.")
    best_share: float = Field(
        default=0.2, ge=0, le=1, description="As for other questions; lower, as each item holds a part of the answer."
    )
    match_share: float = Field(
        default=0.3, ge=0, le=1, description="As for other questions; lower, as each item holds a part of the answer."
    )
    spread: float = Field(
        default=0.6, ge=0, description="How much each item of a session lowers the log-odds of the session's next one."
    )


class RecallSettings(_Frozen):
    """What is searched, how it is ranked, and how much of it is shown."""

    enabled: bool = Field(default=True, description="False: recall finds nothing (GoClaw auto_inject_enabled).")
    layers: tuple[RecallLayer, ...] = Field(default=LAYERS, description="What a model is shown; leave out what not.")
    placement: Literal["message", "system"] = Field(
        default="message", description="Where blocks go, unless a node says so; see `build_prompt`."
    )
    limit: int = Field(default=8, ge=1, le=200, description="Most items in a block (RockBot MaxResults).")
    candidates: int = Field(default=60, ge=1, le=1000, description="Most candidates taken from each channel.")
    embed_seconds: float = Field(
        default=5.0, gt=0, le=600, description="Longest that a reply waits for the embedder; then keywords are used."
    )
    item_characters: int = Field(
        default=300, ge=50, description="A longer drawer is shown as an excerpt; the best may be 2.5 times as long."
    )
    token_budget: int = Field(default=1000, ge=1, description="Most tokens in a block.")
    knowledge: int = Field(default=4, ge=0, description="Most entries, episodes and notes in a block; 0 shows none.")
    keyword_weight: float = Field(default=0.4, ge=0, description="Weight of the words in a drawer's match.")
    vector_weight: float = Field(default=0.6, ge=0, description="Weight of cosine similarity in a drawer's match.")
    weights: dict[Signal, float] = Field(
        default=SIGNAL_WEIGHTS, description="Weight of each signal in the log-odds of a drawer; see docs/decisions.md."
    )
    min_similarity: float = Field(default=0.3, ge=-1, le=1, description="Vector hits below this are ignored.")
    threshold: float = Field(
        default=0.05,
        ge=0,
        le=1,
        description="There is a block if the best score reaches this; 60 % do for questions about oneself.",
    )
    threshold_share: float = Field(
        default=0.25, ge=0, le=1, description="The share of the threshold that each further item must reach."
    )
    best_share: float = Field(
        default=0.3,
        ge=0,
        le=1,
        description="The share of the best item's score that each further item must reach; see benchmarks/figures.md.",
    )
    match_share: float = Field(
        default=0.5, ge=0, le=1, description="The share of the best match that it must reach by its own words."
    )
    spread: float = Field(
        default=0.0, ge=0, description="How much each item of a session lowers the log-odds of the session's next one."
    )
    later: int = Field(
        default=3,
        ge=0,
        description="Most messages added, where there is room, as they were said later on the subject of a line.",
    )
    lists: ListSettings = ListSettings()
    own_space_boost: float = Field(
        default=1.2, ge=1, le=2, description="Factor for the space's own items over those of fallbacks (GoClaw)."
    )
    fallbacks: tuple[SpaceName, ...] = Field(
        default=(), description="Other spaces that are read as well, such as 'global', unless a call names others."
    )
    recency_weight: float = Field(default=0.05, ge=0, le=0.5, description="Largest boost for a very recent drawer.")
    recency_half_life_days: Days = Field(default=90, gt=0, description="Days after which the boost is half as large.")
    trust: dict[str, float] = Field(
        default={"user": 1.0, "import": 1.0, "assistant": 0.95, "dream": 0.95, "tool": 0.9, "system": 0.9},
        description="Factor by origin, highest for the user's own words.",
    )
    trivial_words: int = Field(
        default=3, ge=0, description="Messages with fewer meaningful words recall nothing (GoClaw)."
    )
    rerank: RerankSettings = RerankSettings()


class StorageSettings(_Frozen):
    """How records and vectors are kept."""

    busy_timeout: Seconds = Field(default=5.0, ge=0, description="Seconds to wait for another process's transaction.")
    synchronous: Literal["FULL", "NORMAL"] = Field(
        "FULL", description="NORMAL may lose the last commits in a power loss, but never in a crash of the process."
    )
    memory_mb: int = Field(
        default=512,
        ge=0,
        description="Megabytes that open spaces take; the least recently used are closed beyond that.",
    )
    exact_below: int = Field(
        default=200_000, ge=0, description="Up to this many vectors, search in memory is used; above, Chroma."
    )
    chroma_above: int = Field(
        default=0, ge=0, description="A space with up to this many vectors keeps them in its database, without Chroma."
    )
    chroma: str | None = Field(
        default=None,
        description="The Chroma server of a memory on PostgreSQL, such as http://host:8000; several with commas.",
    )
    receipts_kept: int = Field(
        default=1000,
        ge=1,
        description="Receipts kept in a space; with every 32nd, older ones are dropped.",
    )
    embed_batch: int = Field(
        default=128, ge=1, description="Texts embedded at once; closing waits for two batches at most."
    )

    @field_validator("chroma")
    @classmethod
    def _can_be_read(cls, addresses: str | None) -> str | None:
        if not all(map(is_web_address, separate(addresses or ""))):
            raise ValueError("give the address of a server such as http://host:8000, and commas between several")
        return addresses


class BudgetSettings(_Frozen):
    """What models may use in the background; beyond it, rules do the work. None: no limit."""

    session_calls: int | None = Field(default=40, ge=0, description="Most calls for one session.")
    day_calls: int | None = Field(default=1000, ge=0, description="Most calls in a UTC day.")
    session_tokens: int | None = Field(default=100_000, ge=0, description="Most tokens, in and out, for one session.")
    day_tokens: int | None = Field(default=2_000_000, ge=0, description="Most tokens in a UTC day.")
    day_cost: float | None = Field(default=None, ge=0, description="Most money in a UTC day, in the prices' currency.")
    input_price: float = Field(default=0.0, ge=0, description="Price of a million input tokens.")
    output_price: float = Field(default=0.0, ge=0, description="Price of a million output tokens.")


class ModelSettings(_Frozen):
    """How the chat model that works in the background is asked, if there is one."""

    name: str | None = Field(
        default=None, description="Such as openai:gpt-5-mini, unless `Memory.open` is given a model."
    )
    timeout_seconds: float = Field(default=30.0, gt=0, le=600, description="Longest wait for one reply (GoClaw).")
    output_tokens: int = Field(default=1024, ge=1, description="Most tokens that a reply may have (GoClaw).")
    failures: int = Field(default=3, ge=1, description="Consecutive failures after which the model is left alone.")
    rest_seconds: Seconds = Field(default=60.0, gt=0, description="For how long; twice as long each further time.")
    token_tables: bool = Field(
        default=False, description="Count tokens by tiktoken's tables (extra tokens), fetched once; else estimate them."
    )
    budget: BudgetSettings = BudgetSettings()


class TrackingSettings(_Frozen):
    """Whether what is said is stored."""

    enabled: bool = Field(default=True, description="False: nothing that is said is stored, nor flushed.")


class MiningSettings(_Frozen):
    """How conversations are mined for what is worth keeping."""

    enabled: bool = Field(default=True, description="False mines only when `Space.mine` is called (AgentStudio).")
    window_turns: int = Field(default=10, ge=2, le=50, description="Most turns in one window (AgentStudio: 8 to 10).")
    pause_minutes: Minutes = Field(default=5.0, ge=0, description="A conversation is mined after a pause this long.")
    facts_per_window: int = Field(default=8, ge=1, le=50, description="Most facts kept from one window.")
    calls_per_session: int = Field(default=20, ge=0, description="Most model calls for mining one session.")


class KnowledgeSettings(_Frozen):
    """Limits on entries, and when two are merged."""

    max_characters: int = Field(default=2000, ge=1, description="A longer entry is refused.")
    merge_similarity: float = Field(
        default=0.9, ge=0, le=1, description="Entries at least this similar may be one fact; see benchmarks/figures.md."
    )
    enrich: bool = Field(
        default=True, description="A model cleans up, splits and files saved entries in the background (RockBot)."
    )


class EpisodeSettings(_Frozen):
    """The archive of sessions and tasks."""

    ttl_days: Days | None = Field(
        default=90, gt=0, description="Days until an episode expires; None keeps all (GoClaw)."
    )
    abstract_characters: int = Field(default=200, ge=40, description="Length of the one-sentence abstract (GoClaw).")
    summary_tokens: int = Field(default=1024, ge=64, description="Longest summary by a model (GoClaw).")
    timeout_seconds: Seconds = Field(default=30.0, gt=0, description="Longest wait for a model's summary (GoClaw).")


class TaskSettings(_Frozen):
    """Tasks and their working state."""

    title_characters: int = Field(default=200, ge=20, description="A longer title is refused.")
    state_characters: int = Field(default=20_000, ge=100, description="A longer working state is refused.")
    shown_characters: int = Field(
        default=2000, ge=0, description="As much of a working state is before the model when a session begins."
    )


class IdentitySettings(_Frozen):
    """The user's core profile."""

    max_characters: int = Field(default=1000, ge=1, description="Hard limit, counted as users see characters.")


class ProfileSettings(_Frozen):
    """The standing facts that every conversation begins with."""

    tokens: int = Field(default=150, ge=0, description="Most tokens of its lines; 0 leaves it out.")
    refresh_hours: Hours = Field(
        default=24, gt=0, description="A thread that goes on for longer reads it anew, with identity and notes."
    )


class DocumentSettings(_Frozen):
    """Notes in an agent's folder."""

    chunk_characters: int = Field(default=1000, ge=100, description="Longest piece that gets one vector (GoClaw).")
    prompt_tokens: int = Field(default=500, ge=0, description="Most tokens of MEMORY.md in a system prompt.")


class WorkingSettings(_Frozen):
    """Working memory: the scratch space of sessions, patrols and subagents."""

    ttl_minutes: Minutes = Field(default=5.0, gt=0, description="How long an entry stays, unless it says so (RockBot).")
    longest_ttl_days: Days = Field(default=30.0, gt=0, description="The longest that an entry may ask for.")
    entries: int = Field(default=50, ge=1, description="Most entries of a namespace (RockBot MaxEntriesPerNamespace).")
    max_characters: int = Field(default=400_000, ge=1, description="A longer value is refused.")
    part_characters: int = Field(default=8000, ge=200, description="A longer value is cut into parts of this size.")
    inventory: int = Field(default=50, ge=0, description="Most keys that a prompt lists under each heading.")
    result_characters: int = Field(default=16_000, ge=1, description="A longer tool result is moved there.")
    result_ttl_minutes: Minutes = Field(default=60.0, gt=0, description="How long a moved tool result stays.")


class FlushSettings(_Frozen):
    """When facts are saved before a history is compacted."""

    messages: int = Field(default=50, ge=1, description="Beyond this many messages (GoClaw).")
    window_share: float = Field(default=0.85, gt=0, le=1, description="Or this share of the context window (GoClaw).")
    steps: int = Field(default=5, ge=1, description="Most model calls of one flush (GoClaw).")
    timeout_seconds: Seconds = Field(default=90.0, gt=0, description="Longest time of one flush (GoClaw).")


class GraphSettings(_Frozen):
    """The knowledge graph: limits on questions, and when two entities are merged."""

    enabled: bool = Field(default=True, description="False: nothing is added to the graph automatically.")
    depth: int = Field(default=2, ge=1, le=6, description="Most steps from an entity in one question.")
    fan_out: int = Field(default=25, ge=1, le=10_000, description="Most relations followed from one entity.")
    results: int = Field(default=100, ge=1, le=100_000, description="Most relations in one answer.")
    checkpoint_changes: int = Field(default=500, ge=1, description="Changes after which the graph is written to disk.")
    window_proposals: int = Field(default=20, ge=1, description="Most relations added from one message.")
    merge_score: int = Field(default=92, ge=0, le=100, description="Names at least this similar may be merged.")
    flag_score: int = Field(default=80, ge=0, le=100, description="Names at least this similar are flagged.")
    single_valued: tuple[str, ...] = Field(
        default=(), description="Your own predicates with one value at a time, in addition to the built-in ones."
    )
    several_valued: tuple[str, ...] = Field(
        default=(), description="Predicates that can have several values, even if a built-in one has one."
    )


class DreamSettings(_Frozen):
    """Consolidation: when it runs, how much it reads, and how much it may change."""

    enabled: bool = Field(default=True, description="False: only by hand.")
    episodes: int = Field(default=5, ge=1, description="Unpromoted episodes that start a dream (GoClaw).")
    debounce_minutes: Minutes = Field(
        default=10, ge=0, description="Least time between two dreams of a space (GoClaw)."
    )
    interval_hours: Hours | None = Field(
        default=None, gt=0, description="Also dream at this interval, if something changed."
    )
    prune_hours: Hours = Field(default=6, gt=0, description="How often expired records are removed (GoClaw).")
    entries: int = Field(default=1000, ge=1, description="Most entries in one dream (RockBot).")
    batch_entries: int = Field(default=40, ge=2, description="Entries in one question to the model.")
    signals: int = Field(default=50, ge=0, description="Most feedback signals (RockBot).")
    signal_days: Days = Field(default=7, gt=0, description="How many days back signals are read (RockBot).")
    very_irritated: int = Field(default=1, ge=1, description="Turns that make a preference of a very annoyed request.")
    mildly_frustrated: int = Field(default=2, ge=1, description="And of a mildly annoyed one (RockBot).")
    casual: int = Field(default=3, ge=1, description="And of a calm one (RockBot).")
    turns: int = Field(default=400, ge=0, description="Most turns that the preference pass reads.")
    promoted: int = Field(default=10, ge=1, description="Most episodes in one synthesis (GoClaw).")
    synthesis_tokens: int = Field(default=4096, ge=64, description="Longest synthesis (GoClaw).")
    preferences: bool = Field(default=True, description="Infer preferences (RockBot PreferenceInferenceEnabled).")
    retire_share: float = Field(default=0.1, ge=0, le=1, description="Most entries that one dream retires, as a share.")
    retire_most: int = Field(default=20, ge=0, description="And as a number; the smaller of the two counts.")
    refine_share: float = Field(default=0.2, ge=0, le=1, description="Most entries that a model files, as a share.")
    refine_most: int = Field(default=20, ge=0, description="And as a number; the smaller of the two counts.")
    golden: int = Field(default=20, ge=0, description="Questions made from the space's own words for the gate.")
    fade_days: Days = Field(default=90, gt=0, description="Half-life of an inferred preference's confidence.")
    lease_seconds: Seconds = Field(default=300, gt=0, description="How long a dream that died delays the next.")
    mention_days: Days = Field(
        default=180, gt=0, description="Days after which names that were mentioned together only once are unlinked."
    )
    undo_days: Days | None = Field(
        default=90, gt=0, description="How long a dream can be undone and its record is kept. None: for ever."
    )
    seconds: Seconds | None = Field(
        default=300, gt=0, description="Seconds after which a dream stops asking the model and rules do the rest."
    )


class ImportSettings(_Frozen):
    """What a file to import may be at most; beyond it is refused, so that no file fills the memory or the disk."""

    max_bytes: int = Field(default=8 << 30, ge=1, description="Bytes of a file, or of all files of a folder.")
    max_unpacked_bytes: int = Field(default=8 << 30, ge=1, description="Bytes that an archive unpacks to.")
    max_ratio: int = Field(default=200, ge=2, description="How many times larger a member of an archive may become.")
    max_files: int = Field(default=200_000, ge=1, description="Files in an archive or a folder.")
    max_records: int = Field(default=10_000_000, ge=1, description="Records in a file.")
    max_record_bytes: int = Field(default=256 << 20, ge=1000, description="Characters of one record.")
    max_depth: int = Field(default=100, ge=4, description="Nesting of lists and objects in JSON.")


class PrivacySettings(_Frozen):
    """What happens to secrets: keys, tokens, passwords, card numbers."""

    drawers: Literal["mask", "keep"] = Field(default="mask", description="Secrets in messages: masked, or kept.")
    derived: Literal["refuse", "mask", "keep"] = Field(
        default="refuse", description="Secrets in entries, episodes and notes."
    )


class TelemetrySettings(_Frozen):
    """What traces may contain."""

    space_names: bool = Field(
        default=False, description="Show the names of spaces, and so of users, in LangChain's traces instead of hashes."
    )


# What one agent can have otherwise than the others of a space.
_OF_AGENTS = frozenset({"enabled", "tracking", "recall", "mining", "profile", "documents", "working", "flush"})
_OF_SPACES = _OF_AGENTS | {"agents", "sessions", "episodes", "tasks", "identity", "graph", "dream"}
Part = Literal["a space", "an agent", "one handle of a space", "nodes and tools"]
_FITTING: dict[Part, frozenset[str]] = {
    "a space": _OF_SPACES,
    "an agent": _OF_AGENTS,
    "one handle of a space": _OF_SPACES - {"agents"},
    "nodes and tools": _OF_SPACES - {"agents", "dream"},
}
# Parts of these that are about the models of the whole memory.
_OF_THE_MEMORY = ("embed_seconds", "rerank.model")


class Settings(_Frozen):
    """Everything that can be set on a memory.

    `spaces` and `agents` hold what is otherwise for a space by name and for an agent by id, `agents` in a space what
    is otherwise for an agent there. An agent goes before a space. Only what is set there counts.

    Example:
        >>> Settings(recall=RecallSettings(limit=5)).recall.limit
        5
        >>> patrol = Settings(tracking=TrackingSettings(enabled=False))
        >>> settings = Settings(agents={"patrol": patrol})
    """

    enabled: bool = Field(default=True, description="False: nothing is read, stored or worked on (AgentStudio).")
    embedder: str = Field(
        default="minilm",
        description="As `Memory.open` takes it: minilm, none, or such as openai:text-embedding-3-small.",
    )
    directives: str = Field(
        default="directives", description="The folder of prompts of your own, relative to the memory folder (RockBot)."
    )
    text: TextSettings = TextSettings()
    sessions: SessionSettings = SessionSettings()
    window: WindowSettings = WindowSettings()
    recall: RecallSettings = RecallSettings()
    storage: StorageSettings = StorageSettings()
    model: ModelSettings = ModelSettings()
    tracking: TrackingSettings = TrackingSettings()
    mining: MiningSettings = MiningSettings()
    knowledge: KnowledgeSettings = KnowledgeSettings()
    episodes: EpisodeSettings = EpisodeSettings()
    tasks: TaskSettings = TaskSettings()
    identity: IdentitySettings = IdentitySettings()
    profile: ProfileSettings = ProfileSettings()
    documents: DocumentSettings = DocumentSettings()
    working: WorkingSettings = WorkingSettings()
    flush: FlushSettings = FlushSettings()
    graph: GraphSettings = GraphSettings()
    dream: DreamSettings = DreamSettings()
    imports: ImportSettings = ImportSettings()
    privacy: PrivacySettings = PrivacySettings()
    telemetry: TelemetrySettings = TelemetrySettings()
    spaces: dict[SpaceName, Settings] = Field(default={}, description="What is otherwise for a space.")
    agents: dict[str, Settings] = Field(default={}, description="What is otherwise for an agent.")

    @property
    def tracks(self) -> bool:
        """Whether what is said is stored."""
        return self.enabled and self.tracking.enabled

    @field_validator("spaces", "agents")
    @classmethod
    def _fitting(cls, given: dict[str, Settings], about: ValidationInfo) -> dict[str, Settings]:
        part: Part = "a space" if about.field_name == "spaces" else "an agent"
        for name, settings in given.items():
            if unfit := _unfit(settings, part):
                raise ValueError(f"{unfit} cannot be set for {part}, as it is for {name}")
        return given


def fitting(settings: Settings, part: Part) -> Settings:
    """Settings that are given for a part of the memory, if all of them can take effect there.

    Raises:
        InvalidSettings: one of them is in force for the whole memory only.
    """
    if unfit := _unfit(settings, part):
        raise InvalidSettings(
            f"The argument `settings`: {unfit} cannot be set for {part}.",
            way_out="Set it for the whole memory, where that is opened: Memory.open(settings=…).",
        )
    return settings


def fits(key: tuple[str, ...], part: Part) -> bool:
    """Whether a setting, such as `("recall", "limit")`, can be set for a part of the memory.

    Example:
        >>> fits(("recall", "limit"), "a space"), fits(("storage", "synchronous"), "a space")
        (True, False)
    """
    return key[0] in _FITTING[part] and key not in {("recall", *each.split(".")) for each in _OF_THE_MEMORY}


def _unfit(settings: Settings, part: Part) -> str | None:
    """The first setting that cannot be set for a part of the memory."""
    others = settings.model_fields_set - _FITTING[part]
    models = {f"recall.{each}" for each in _OF_THE_MEMORY if _is_set(settings.recall, each.split("."))}
    return min(others | models, default=None)


def _is_set(settings: BaseModel, way: list[str]) -> bool:
    inner: Any = settings
    for name in way:
        if name not in inner.model_fields_set:
            return False
        inner = getattr(inner, name)
    return True
