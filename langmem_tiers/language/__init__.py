"""Language: everything that is read out of English text.

Everything here is pure and works without a model. Words, tables and patterns are data files in `data/`, so a new word
is a line there: `rules.toml` and `relations.toml` (which clauses become entries and relations), `dates.toml`,
`predicates.toml` (phrases for relations, and what is known about each), `attributes.toml` (what one has one of at a
time), `kinship.toml`, `names.toml` and `name_forms.toml`, `synonyms.toml`, `verbs.toml`, `contractions.toml`,
`vocabulary.toml`, `words.toml`, and `patterns.toml` for all other phrases, by the module that reads them.

- Words: `words` (tokens, stop words, stems), `numbers`, `calendar`, `verbs`, `characters`, `slugs` (keys of names).
- Names: `names` (people and places in a text), `name_matching` and `spelling` (whether two names mean one entity),
  `kinship`, `tags`, `key_phrases`.
- Times: `dates` (the only reader of dates in a text), `validity` (since when and until when), `periods` (dates passed
    by callers).
- Sentences: `sentences`, `clauses`, `first_person`, `speech_acts`, `questions` (what a query asks for), `wishes`.
- Meaning: `predicates`, `values`, `wordings` and `paraphrase` (whether sentences say the same), `contradictions`.
- Statements: `reader` reads each turn once (`turns`), into sentences about the user (`entries`, `rules`, `rewriting`,
  `corrections`) and `claims` for the graph (`relations`, `relation_shapes`, `relations_family`, `mentions`).

`protocol` lists what the rest of the memory needs from a language.
"""
