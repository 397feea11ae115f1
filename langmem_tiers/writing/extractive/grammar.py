"""The English that rewriting needs: which verbs are bare, which are past, and the form of the third person."""

from __future__ import annotations

from langmem_tiers.palace.words import word_set

BARE = word_set(
    """
    accept add adore agree aim answer apply appreciate arrange ask attend avoid bake be become begin believe belong
    bike book bring build buy call camp care carry catch celebrate change check choose clean climb close coach code
    collect come commute compete consider contribute cook cover craft create crochet cycle dance decide deliver
    deploy design detest develop dislike do donate drink drive earn eat enjoy exercise expect face fall fear feel
    find finish fish fly follow foster garden get give go grow handle hate have hear help hike hire hold hope host
    identify intend invest jog join journal keep knit know lead lean learn leave lift like listen live loathe look
    lose love make manage mean meditate meet mentor miss move need offer open order organise organize own paint pay
    perform pick plan play plug post practice practise prefer prepare promise provide raise record recycle relax
    remember rent require ride run save say see seek sell send serve sew share shop show sing sit skate skateboard
    skip sketch ski sleep smoke snowboard speak spend stand start stay stick stop struggle study suffer support surf
    swim take talk teach tell tend test think train travel treat try turn understand unwind use visit volunteer wait
    wake walk want wash watch wear wish work worry weigh write
    """
)
_IRREGULAR_PAST = word_set(
    """
    ate became began bit bought broke brought built came caught chose did drank drew drove fell felt fought found
    flew forgot gave got grew had heard held kept knew laid led left lent lost made meant met paid ran rode rose
    said sang sat saw sent shot slept sold spent spoke stood stuck swam taught thought threw told took understood
    was went woke won wore wrote
    """
)
PARTICIPLES = _IRREGULAR_PAST | word_set("been become begun broken chosen come done drawn driven eaten fallen flown")
PARTICIPLES |= word_set("forgotten given gone grown gotten known ridden run seen spoken sung sunk taken thrown written")
# The same word in both tenses: only the context would tell.
TENSELESS = word_set("beat bet cost cut hit hurt let put quit read set shut spread upset")
_MODALS = word_set(
    """
    can could will would shall should must might may can't cannot couldn't won't wouldn't shouldn't mustn't mightn't
    didn't wasn't hadn't
    """
)
_THIRD = {"am": "is", "have": "has", "do": "does", "don't": "doesn't", "haven't": "hasn't", "was": "was", "go": "goes"}
_NO_PAST = word_set("need feed bleed speed breed heed proceed succeed exceed embed shed wed")
ADVERBS = word_set(
    """
    also always already actually absolutely almost currently definitely even ever finally frequently generally
    hardly just kinda kind-of literally lately mainly mostly never normally not now often once only originally
    personally primarily probably quickly rarely really recently regularly seldom simply sometimes soon still
    strongly temporarily then totally truly typically usually currently both first
    """
)


def is_past(verb: str) -> bool:
    """Whether a word is surely the past of a verb."""
    return verb in _IRREGULAR_PAST or (verb.endswith("ed") and len(verb) > 3 and verb not in _NO_PAST)


def is_participle(verb: str) -> bool:
    """Whether a word can follow 'had'."""
    return verb in PARTICIPLES or is_past(verb)


def third_person(verb: str) -> str | None:
    """The form that follows "The user" for the one that follows "I"; None when that is not sure."""
    if verb in _THIRD:
        return _THIRD[verb]
    if verb in _MODALS or is_past(verb):
        return verb
    return _with_s(verb) if verb in BARE else None


def _with_s(verb: str) -> str:
    if verb.endswith(("s", "x", "z", "ch", "sh", "o")):
        return verb + "es"
    if verb.endswith("y") and verb[-2] not in "aeiou":
        return verb[:-1] + "ies"
    return verb + "s"
