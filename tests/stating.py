"""Users who tell of themselves, and short ways to look at what the graph made of it."""

from typing import Any

from langmem_tiers import Turn


def user(content: str, message_id: str | None = None, speaker: str | None = None, at=None) -> Turn:
    """A message of the user."""
    return Turn(role="user", content=content, message_id=message_id, speaker=speaker, said_at=at)


def say(space, *contents: str, session: str = "monday", **more: Any) -> None:
    """Have the user say things, and the memory take them up."""
    space.track([user(content, **more) for content in contents], session=session)
    space.mine()
    assert space.flush()


def told(space, entity: str = "user", **asked: Any) -> set[str]:
    """What holds of an entity, one line each."""
    if space.graph.entity(entity) is None:
        return set()
    return {str(relation) for relation in space.graph.neighbours(entity, **asked).relations}


def everything(space, **asked: Any) -> set[str]:
    """What was ever believed to be so, of anybody."""
    named = [entity.id for entity in space.graph.entities()]
    return {str(relation) for each in named for relation in space.graph.timeline(each, **asked).relations}


def over(space, entity: str = "user") -> dict[str, str]:
    """What was so of an entity and is no longer, with the day that it ended."""
    relations = space.graph.timeline(entity).relations
    return {str(each): each.period.end.date().isoformat() for each in relations if each.period.end}


def one(space, entity: str, predicate: str):
    """The only relation of an entity by a predicate."""
    found = [each for each in space.graph.timeline(entity).relations if each.predicate == predicate]
    assert len(found) == 1, found
    return found[0]


def activities(space, kind: str = "graph_updated") -> list[dict[str, Any]]:
    """What the memory did, oldest first."""
    return [each.body for each in reversed(space.knowledge.activity(kind=kind))]


def refused(space) -> dict[str, str]:
    """What was not taken up, and why."""
    return {each["content"]: each["reason"] for body in activities(space) for each in body.get("refused", ())}
