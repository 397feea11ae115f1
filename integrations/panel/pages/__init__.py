"""The pages of the panel, in the order of the navigation.

A page is a module here and templates in `../templates/`. To add one, say Episodes:

1. `pages/episodes.py` defines plain functions that take a `View` and return a `Response`, and
   `PAGE = Page(title="Episodes", path="/episodes", key="e", actions=(get("/episodes", show), post(…)))`.
   They are called in a thread, so they may call the memory; a coroutine function is awaited instead, for streams.
   `view.space` is the space, `view.query` and `view.form` are what was sent, `view.part("id")` a part of the address.
   `view.show("episodes.html", …)` answers with a page, `view.piece("_episode.html", …)` with a part of one for htmx,
   and `view.go("/episodes", told="…")` leads elsewhere with a sentence. Errors of the memory need no handling: they
   are shown in the page with their way out.
2. `templates/episodes.html` extends `base.html`. Forms that change something use `method="post"` and hold
   `{{ token_field }}`; htmx sends the token by itself. Everything printed is escaped and made visible; only the content
   of a `<textarea>` or an `<input>` to edit is printed with `|verbatim`. No inline styles or scripts: the browser would
   refuse them. `macros.html` has what pages share: `more` (the next piece of a list), `empty`, `pill`, `bar`.
   An element with an id and `data-live="change"` (or `receipt`, `activity`, `dream`) is brought up to date by itself
   while the page is open, see `live.py`.
3. The module goes into `PAGES` below; the navigation follows.

Ids of other spaces (with an `@`) lead nowhere: `view.space` has no fallbacks.
"""

from langmem_tiers.integrations.panel.pages import (
    activity,
    dreams,
    episodes,
    forgetting,
    graph,
    identity,
    memories,
    overview,
    palace,
    search,
    settings,
    usage,
    working,
)

PAGES = (
    overview.PAGE,
    palace.PAGE,
    search.PAGE,
    memories.PAGE,
    identity.PAGE,
    graph.PAGE,
    episodes.PAGE,
    working.PAGE,
    forgetting.PAGE,
    activity.PAGE,
    dreams.PAGE,
    usage.PAGE,
    settings.PAGE,
)
