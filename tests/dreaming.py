"""Dreams for the tests: what is accepted is given, and carried out on what the space holds now."""

from langmem_tiers import Space
from langmem_tiers.dream import apply
from langmem_tiers.dream.gather import gather
from langmem_tiers.dream.types import Decision, DreamReport, Material
from langmem_tiers.storage import dreams
from langmem_tiers.storage.changesets import TABLES


def seen(space: Space, *, fence: int = 0) -> Material:
    """What a dream sees of a space now."""
    with space.memory.use(space.name) as store:
        return gather(store, space.memory.settings, space.memory.clock(), fence)


def begun(space: Space, **known) -> DreamReport:
    """The report of a dream that begins now, as far as it is known."""
    return DreamReport.begun(space.name, space.memory.clock()).but(**known)


def dreamt(space: Space, *accepted, material: Material | None = None) -> DreamReport:
    """The report of a dream that carries this out."""
    memory, given = space.memory, material or seen(space)
    draft = begun(space, decision=Decision(accepted=accepted))
    with memory.use(space.name) as store:
        apply.apply(store, given, draft, memory.settings, memory.clock())
        with store.reading() as connection:
            return DreamReport.model_validate(dreams.one(connection, store.key, draft.id).report)


def known(space: Space, text: str, **given) -> str:
    """The id of an entry that is saved for it."""
    return space.knowledge.save(text, **given).entry.id


def reasons(report: DreamReport) -> list[str]:
    """Why what was accepted was not carried out."""
    return [each.reason for each in report.decision.rejected]


def dump(space: Space) -> dict[str, list[str]]:
    """All rows that a dream may change, as they are stored."""
    with space.memory.use(space.name) as store, store.reading() as connection:
        return {name: sorted(map(repr, connection.exec_driver_sql(f"SELECT * FROM {name}"))) for name in TABLES}
