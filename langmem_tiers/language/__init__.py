"""Language: everything that is read out of English text.

Everything here is pure and works without a model. Word lists and tables are data files in `data/`, so a new word is a
line there: `rules.toml` and `relations.toml` (what sentences are heard as entries and as relations), `predicates.toml`
(phrases for relations, and what is known about each), `kinship.toml`, `synonyms.toml`, `names.toml` and
`name_forms.toml`, `verbs.toml`, `vocabulary.toml`, `words.toml`.

- Words: `words` (tokens, stop words, stems), `numbers`, `calendar`, `verbs`, `characters`, `slugs` (keys of names).
- Names: `names` (people and places in a text), `name_matching` and `spelling` (whether two names mean one entity),
  `kinship`, `tags`, `key_phrases`.
- Times: `dates` (the only reader of dates in a text), `validity` (since when and until when), `periods` (dates passed
    by callers).
- Sentences: `sentences`, `clauses`, `first_person`, `speech_acts`, `questions` (what a query asks for), `wishes`.
- Meaning: `predicates`, `values`, `wordings` and `paraphrase` (whether sentences say the same), `contradictions`.
- Statements: `reader` reads each turn once (`turns`), into sentences about the user (`entries`, `rules`, `rewriting`,
  `corrections`) and `claims` for the graph (`relations`, `relation_shapes`, `relations_family`, `mentions`).
"""
