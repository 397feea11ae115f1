"""A web page for one user's memory: look at it, ask it, correct it. Needs the extra `panel`.

`app.py` puts it together, `guard.py` lets in only the browser that was given the link, `page.py` is what pages are made
of, and `pages/` has a module for each page, with instructions for adding one.
"""

from langmem_tiers.integrations.panel.serving import panel_app, require_panel, run_panel

__all__ = ["panel_app", "require_panel", "run_panel"]
