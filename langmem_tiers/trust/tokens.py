"""Keys and tokens that say themselves what they are: by the prefix their issuer gives them, or by their form."""

from __future__ import annotations

import re

from langmem_tiers.trust.rules import Rule, scrambled

_WORD, _URL_SAFE, _HEX = "[A-Za-z0-9]", r"[\w-]", "[0-9a-f]"


def _prefixed(kind: str, prefix: str, body: str, *hints: str) -> Rule:
    """A token by its prefix, which is its hint where none is given."""
    pattern = re.compile(f"(?<!{_WORD}){prefix}{body}", re.ASCII)
    return Rule(kind=kind, hints=hints or (prefix,), pattern=pattern)


def _scrambled(kind: str, pattern: str, *hints: str) -> Rule:
    return Rule(kind=kind, hints=hints, pattern=re.compile(pattern, re.ASCII), holds=scrambled)


def _has_body(value: str, match: re.Match[str]) -> bool:
    """Is there a key, be it a short one, and not only talk of its first and last line?"""
    return any(map(_drawn, _PIECES.split(_FRAME.sub(" ", value))))


def _drawn(piece: str) -> bool:
    return bool(_LONG_PIECE.fullmatch(piece) or (_PIECE.fullmatch(piece) and _MIXED.search(piece)))


def _is_no_hash(value: str, match: re.Match[str]) -> bool:
    return not _HASH.fullmatch(value)


def _in_header(value: str, match: re.Match[str]) -> bool:
    return any(map(str.isdigit, value)) or match["header"] is not None


# A key's lines may be quoted or stand in JSON. Without its end, it goes on as long as lines of base64 do.
_PEM = (
    r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:(?:(?!-----)[\s\S])*-----END [A-Z0-9 ]{1,60}-----"
    r"|(?:(?:[\s>]|\\[nr]|(?:Proc-Type|DEK-Info|Version|Comment):[^\n]*\n)*[A-Za-z0-9+/=]{16,})*"
    r"(?:(?:[\s>]|\\[nr])*[A-Za-z0-9+/]+={1,2}|(?:[ \t>]*\r?\n|\\n)[ \t>]*[A-Za-z0-9+/]{6,}(?=[ \t]*(?:\r?\n|\Z)))?)"
)
_FRAME = re.compile("-----(?:BEGIN|END) [A-Z0-9 ]{1,60}-----")
_PIECES = re.compile(r"(?:[\s>\"',]|\\[nr])+")
_PIECE, _LONG_PIECE = re.compile("[A-Za-z0-9+/]{6,}={0,2}"), re.compile("[A-Za-z0-9+/=]{24,}")
_MIXED = re.compile("[0-9+/=]|[a-z][A-Z]")
_HASH = re.compile("[0-9a-f]{40}")

TOKENS = (
    Rule(kind="private key", hints=("PRIVATE KEY",), pattern=re.compile(_PEM), holds=_has_body),
    _prefixed("private key", "AGE-SECRET-KEY-1", "[A-Z0-9]{50,}"),
    Rule(
        kind="private key",
        hints=("Private-Lines:",),
        pattern=re.compile(r"Private-Lines: \d{1,4}\r?\n(?P<secret>(?:[A-Za-z0-9+/=]{4,}(?:\r?\n|\Z))+)"),
    ),
    _prefixed("anthropic key", "sk-ant-", _URL_SAFE + "{20,}"),
    _prefixed("openai key", "sk-(?:proj|svcacct|admin|None)-", _URL_SAFE + "{20,}", "sk-"),
    _prefixed("openai key", "sk-", f"{_WORD}{{16,}}T3BlbkFJ{_WORD}{{16,}}"),
    # Many services copied the prefix of OpenAI.
    _scrambled("api key", rf"(?<!{_WORD})sk-{_URL_SAFE}{{20,}}", "sk-"),
    _prefixed("aws key", "(?:AKIA|ASIA|ABIA|ACCA)", "[A-Z0-9]{16}(?![A-Z0-9])", "AKIA", "ASIA", "ABIA", "ACCA"),
    Rule(
        kind="aws key",
        hints=("AKIA", "ASIA", "AWS", "aws"),
        pattern=re.compile("(?<![A-Za-z0-9/+])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])"),
        holds=lambda value, match: scrambled(value, match) and _is_no_hash(value, match),
    ),
    Rule(
        kind="aws key",
        hints=("secret",),
        pattern=re.compile(
            r"\b(?:aws|amazon)\b[^\n]{0,40}?\bsecret\b[^\n]{0,25}?(?<![\w/+])(?P<secret>[a-z0-9/+]{40})(?![\w/+=])",
            re.ASCII,
        ),
        holds=_is_no_hash,
        folded=True,
    ),
    _prefixed("github token", "gh[pousr]_", _WORD + "{30,}", "ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
    _prefixed("github token", "github_pat_", r"\w{22,}"),
    _prefixed("gitlab token", "gl[a-z]{2,5}-", _URL_SAFE + "{20,}", "glpat-", "gldt-", "glrt-", "glptt-", "glcbt-"),
    _scrambled("slack token", f"(?<!{_WORD})xox[a-e,o-s]-[A-Za-z0-9-]{{20,}}", "xox"),
    _prefixed("slack token", "xapp-", "[0-9]-[A-Za-z0-9-]{20,}"),
    _prefixed("slack webhook", "hooks\\.slack\\.com/", "[A-Za-z0-9/]{20,}", "hooks.slack.com/"),
    _prefixed("google key", "AIza", _URL_SAFE + "{35}"),
    _prefixed("google key", "GOCSPX-", _URL_SAFE + "{20,}"),
    _prefixed("google key", r"ya29\.", _URL_SAFE + "{30,}", "ya29."),
    _prefixed("stripe key", "[rs]k_(?:live|test)_", _WORD + "{10,}", "k_live_", "k_test_"),
    _prefixed("stripe key", "whsec_", "[A-Za-z0-9+/=]{24,}"),
    _prefixed("huggingface token", "hf_", _WORD + "{30,}"),
    _prefixed("npm token", "npm_", _WORD + "{36}"),
    _prefixed("pypi token", "pypi-AgE", _URL_SAFE + "{50,}"),
    _prefixed("docker token", "dckr_[po]at_", _URL_SAFE + "{20,}", "dckr_"),
    _prefixed("sendgrid key", r"SG\.", r"[\w-]{22}\.[\w-]{43}", "SG."),
    _prefixed("twilio key", "SK", _HEX + "{32}(?![A-Za-z0-9])"),
    _prefixed("mailgun key", "key-", _HEX + "{32}(?![A-Za-z0-9])"),
    _prefixed("mailchimp key", "", _HEX + "{32}-us[0-9]{1,2}(?![A-Za-z0-9])", "-us"),
    _prefixed("telegram token", "[0-9]{8,10}", r":AA[\w-]{32,35}", ":AA"),
    _prefixed("groq key", "gsk_", _WORD + "{40,}"),
    _prefixed("xai key", "xai-", _WORD + "{60,}"),
    _prefixed("perplexity key", "pplx-", _WORD + "{40,}"),
    _prefixed("replicate token", "r8_", _WORD + "{37}"),
    _prefixed("tavily key", "tvly-", _URL_SAFE + "{20,}"),
    _prefixed("langsmith key", "lsv2_(?:pt|sk)_", r"[0-9a-f]{32}_[0-9a-f]{10}", "lsv2_"),
    _prefixed("databricks token", "dapi", _HEX + "{32}"),
    _prefixed("shopify token", "shp(?:at|ca|pa|ss)_", "[0-9a-fA-F]{32}", "shpat_", "shpca_", "shppa_", "shpss_"),
    _prefixed("square token", "sq0(?:atp|csp)-", _URL_SAFE + "{22,}", "sq0"),
    _prefixed("digitalocean token", "do[opr]_v1_", _HEX + "{64}", "_v1_"),
    _prefixed("linear key", "lin_api_", _WORD + "{32,}"),
    _prefixed("notion token", "ntn_", _WORD + "{40,}"),
    _prefixed("figma token", "figd_", _URL_SAFE + "{36,}"),
    _prefixed("airtable token", "pat", r"[A-Za-z0-9]{14}\.[0-9a-f]{64}"),
    _prefixed("atlassian token", "ATATT3", r"[\w=-]{100,}"),
    _prefixed("grafana token", "gl(?:sa|c)_", r"[\w+/=]{32,}", "glsa_", "glc_"),
    _prefixed("vault token", r"hv[sbr]\.", _URL_SAFE + "{24,}", "hvs.", "hvb.", "hvr."),
    _prefixed("new relic key", "NRAK-", "[A-Z0-9]{27}"),
    _prefixed("postman key", "PMAK-", _HEX + "{24}-" + _HEX + "{34}"),
    _prefixed("supabase token", "sbp_", _HEX + "{40}"),
    Rule(
        kind="jwt",
        hints=("eyJ",),
        pattern=re.compile(r"(?<![\w-])eyJ[\w-]{10,}(?:\.[\w-]{10,}\.[\w-]*(?:\.[\w-]+){0,2})", re.ASCII),
    ),
    Rule(
        kind="bearer token",
        hints=("bearer", "authorization"),
        pattern=re.compile(
            r"(?:(?P<header>authorization[\"']?\s{0,2}[:=]\s{0,2}[\"']?(?:basic|bearer|token)\s+)|\bbearer\s+)"
            r"(?P<secret>[\w.~+/=-]{16,})",
            re.ASCII,
        ),
        holds=_in_header,
        folded=True,
    ),
    _prefixed("signature", "[?&;]sig=", "[A-Za-z0-9%/+=]{30,}", "sig="),
)
