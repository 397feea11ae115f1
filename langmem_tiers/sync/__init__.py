"""Syncing a space with a folder of Markdown files: identity, knowledge and notes, in both directions.

`run` carries out one sync: `sides` reads both, the files through `folder`; `plan` compares them with how they were at
the last sync, and says what is to be done as `intents`. `front_matter` is the format of an entry's file.
"""
