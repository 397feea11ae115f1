"""The tool that searches earlier conversations: what they came to, and what was said in them, verbatim."""

from datetime import datetime

from pydantic import BaseModel

from langmem_tiers.episodes.types import Episode
from langmem_tiers.integrations.tools import lines
from langmem_tiers.integrations.tools.arguments import HistoryArguments
from langmem_tiers.integrations.tools.base import Answer, MemoryTool
from langmem_tiers.integrations.tools.calls import Call
from langmem_tiers.palace.days import first_moment, last_moment
from langmem_tiers.recall import lookup
from langmem_tiers.recall.query import parse
from langmem_tiers.recall.rendering import excerpt
from langmem_tiers.types import Drawer

_MOST = 8
_MOST_EPISODES = 3
_SHOWN = 400
# Looked at before `since` is applied.
_LOOKED_AT = 60


class SearchHistory(MemoryTool):
    """Searches the archive of sessions and tasks, and the drawers of all conversations."""

    name: str = "search_history"
    description: str = "Search earlier conversations: summaries, and what was said word for word, with § pointers."
    args_schema: type[BaseModel] = HistoryArguments

    def _answer(self, call: Call, given: HistoryArguments) -> Answer:
        now = call.space.memory.clock()
        since, until = first_moment(given.since, now), last_moment(given.until, now)
        said = [each for each in _said(call, given.query, until) if since is None or each.said_at >= since][:_MOST]
        told = _told(call, given.query, since, until)
        if not said and not told:
            text = "Nothing was said about this, as far as is known. Try other words or dates."
            return Answer(text, {"pointers": [], "episodes": []})
        terms = parse(given.query, 0).terms
        shown = [_episode_line(each) for each in told]
        shown += [lines.drawer_line(each, excerpt(each.content, terms, _SHOWN)) for each in said]
        header = f"{len(told)} summaries and {len(said)} messages, best first; get_memory shows one in full"
        artifact = {"pointers": [each.pointer for each in said], "episodes": [each.id for each in told]}
        return Answer(lines.fenced(header, shown), artifact)


def _told(call: Call, query: str, since: datetime | None, until: datetime | None) -> list[Episode]:
    """The summaries that fit best; that they were shown is counted."""
    archive = call.space.archive
    found = [each.episode for each in archive.search(query, limit=_MOST_EPISODES, since=since, until=until)]
    if found:
        archive.count_recalled([each.id for each in found])
    return found


def _episode_line(episode: Episode) -> str:
    about = f"task {episode.task}" if episode.task else f"session {episode.session}"
    return lines.item(
        f"{about}: {episode.abstract}", f"[{episode.id}] {lines.days(episode.began_at, episode.ended_at)} "
    )


def _said(call: Call, query: str, until: datetime | None) -> list[Drawer]:
    """The drawers that fit best, without the messages that the model has before it; no trace of it is kept."""
    before_it = [str(message.id) for message in call.messages]
    found = lookup.drawers(call.space, query, limit=_LOOKED_AT, until=until, window=before_it)
    return [item.drawer for item in found]
