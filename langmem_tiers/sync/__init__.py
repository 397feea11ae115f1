"""Syncing a space with a folder of Markdown files: identity, knowledge and notes, in both directions.

`run` carries out one sync: `snapshot` and `folder` read both sides, `plan` decides by three-way comparison, `apply`
does what was decided. `front_matter` is the format of an entry's file.
"""
