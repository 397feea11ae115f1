"""Shapes for where people work, and as what."""

from __future__ import annotations

import re
from collections.abc import Iterator

from langmem_tiers.knowledge_graph.rules.claim import Claim
from langmem_tiers.knowledge_graph.rules.shape import Fit, shape
from langmem_tiers.knowledge_graph.rules.wording import END, HAS, IS, ORGANISATION, WHO, is_organisation, is_person

_OF_A_KIND = (
    "senior|junior|lead|head|chief|assistant|associate|freelance|part-time|full-time|retired|registered|certified|trained"
    "|software|hardware|web|game|mobile|data|machine learning|civil|mechanical|electrical|chemical|structural|site"
    "|reliability|devops|backend|frontend|full-stack|product|project|graphic|ux|ui|interior|fashion|high school|middle"
    "|school|primary|elementary|kindergarten|preschool|music|art|math|maths|science|english|history|pe|yoga|dance"
    "|swimming|driving|fitness|personal|pediatric|paediatric|emergency|er|icu|night|family|general|dental|veterinary"
    "|clinical|child|school|tax|divorce|criminal|corporate|investment|financial|business|marketing|sales|hr|office"
    "|restaurant|store|bank|bus|truck|taxi|train|delivery|pastry|sous|landscape|police|social|medical|research|lab"
    "|postdoctoral|security|network|systems?|database|qa|cloud|real estate|travel|flight|tour|physical|speech|massage"
    "|wedding|portrait|wildlife|freelancing|court|sports|football|soccer|hockey|basketball|tennis"
)
_JOB = (
    "nurse|doctor|physician|surgeon|dentist|vet|veterinarian|pharmacist|paramedic|midwife|therapist|psychologist"
    "|psychiatrist|counsell?or|physiotherapist|teacher|professor|lecturer|tutor|librarian|principal|engineer|developer"
    "|programmer|designer|architect|scientist|researcher|analyst|consultant|accountant|auditor|economist|banker|lawyer"
    "|attorney|judge|paralegal|journalist|editor|photographer|translator|interpreter|electrician|plumber|carpenter"
    "|mechanic|welder|roofer|painter and decorator|farmer|gardener|chef|baker|barista|bartender|waiter|waitress|cashier"
    "|receptionist|secretary|manager|director|producer|pilot|flight attendant|firefighter|police officer|officer"
    "|soldier"
    "|social worker|caregiver|nanny|hairdresser|barber|tailor|florist|butcher|salesperson|estate agent|realtor|agent"
    "|copywriter|entrepreneur|freelancer|founder|ceo|cto|cfo|intern|apprentice|phd student|student|physicist|chemist"
    "|biologist|mathematician|historian|geologist|astronomer|economist|statistician|sysadmin|trainer|instructor|coach"
    "|(?:team|tech|technical|project|group|shift|department|engineering|design|product|squad|account|store) lead(?:er)?"
    "|product owner|scrum master|(?:vice )?president|supervisor|trainee|working student|assistant|consultant"
    "|driver|guide|technician|radiologist|cardiologist|pediatrician|paediatrician|zookeeper|park ranger|postman"
)
ROLE = rf"(?P<role>(?:(?:{_OF_A_KIND}) ){{0,3}}(?:{_JOB}))"
_AT = r"(?:at|for|with)"
_WORKS = rf"(?:works?|{IS} (?:working|employed))"
_JOB_AT = r"(?:an? |my |his |her |the )?(?:new )?(?:job|position|role|internship|apprenticeship)"


def _employed(fit: Fit, since: str, until: str = "", ended: str = "") -> Iterator[Claim]:
    at = fit["organisation"]
    if not is_organisation(at):
        return
    yield from fit.of_all(
        Claim(
            subject="",
            subject_type="person",
            predicate="also works at" if fit["also"] else "works at",
            object=at,
            object_type="organisation",
            since=since,
            until=until,
            ended=ended,
        )
    )


def _works(fit: Fit) -> Iterator[Claim]:
    span = fit.state
    yield from _employed(fit, span.since, span.until)
    yield from _in_role(fit)


def _has_worked(fit: Fit) -> Iterator[Claim]:
    if fit.state.since:
        yield from _works(fit)


def _is_with(fit: Fit) -> Iterator[Claim]:
    if not is_person(fit["organisation"]):
        yield from _employed(fit, fit.state.since)


def _started(fit: Fit) -> Iterator[Claim]:
    yield from _employed(fit, fit.event())
    yield from _in_role(fit)


def _began_at(fit: Fit) -> Iterator[Claim]:
    """'I started at Bosch last week': where one learns or does sports, one starts as well."""
    if fit["role"] or not _NO_EMPLOYER.search(fit["organisation"]):
        yield from _started(fit)


def _worked(fit: Fit) -> Iterator[Claim]:
    span = fit.past
    yield from _employed(fit, span.since, span.until, "" if span.until else "said")


def _used_to(fit: Fit) -> Iterator[Claim]:
    span = fit.past
    yield from _employed(fit, span.since, span.until, "" if span.until else "said")


def _no_longer(fit: Fit) -> Iterator[Claim]:
    yield from _employed(fit, "", fit.state.since or fit.event(), "said")


def _left_a_job(fit: Fit) -> Iterator[Claim]:
    yield from _employed(fit, "", fit.event(), "said")


def _left(fit: Fit) -> Iterator[Claim]:
    """Whom, or where: only what is known to hold can tell."""
    if not is_person(fit["organisation"]):
        yield from _employed(fit, "", fit.event(), "known")


def _in_role(fit: Fit) -> Iterator[Claim]:
    if role := fit["role"]:
        yield from fit.of_all(
            Claim(subject="", subject_type="person", predicate="works as", value=role.lower(), since=fit.state.since)
        )


def _no_role(fit: Fit) -> Iterator[Claim]:
    yield from fit.of_all(
        Claim(subject="", subject_type="person", predicate="works as", value=fit["role"].lower(), ended="said")
    )


def _not_in_role(fit: Fit) -> Iterator[Claim]:
    yield from fit.of_all(
        Claim(subject="", subject_type="person", predicate="works as", value=fit["role"].lower(), ended="known")
    )


def _jobless(fit: Fit) -> Iterator[Claim]:
    """Of the one job that is known, whichever it is."""
    for predicate in ("works at", "works as"):
        yield from fit.of_all(
            Claim(subject="", subject_type="person", predicate=predicate, until=fit.event(), ended="said")
        )


def _left_role(fit: Fit) -> Iterator[Claim]:
    yield from fit.of_all(
        Claim(
            subject="",
            subject_type="person",
            predicate="works as",
            value=fit["role"].lower(),
            until=fit.event(),
            ended="said",
        )
    )


_NO_EMPLOYER = re.compile(
    r"\b(?:University|College|School|Academy|Uni|Institute|Harvard|Stanford|MIT|Oxford|Cambridge|Yale|Princeton|Gym"
    r"|Fitness|Yoga|Crossfit|CrossFit|Pilates|Club|Studio|Dojo|Kindergarten|Daycare|Church|Chapter|Level|Page|Stage|Room"
    r"|Gate|Track|Terminal|Exit|Mile|Museum|Gallery|Park|Zoo|Market|Castle|Louvre)\b"
)
# When it was, or what else one did: where one only began to look around, it is no job.
_BEGUN = r"(?= (?:last|this|yesterday|today|two|three|in (?:\d|[A-Z])|on [A-Z]|a (?:few|couple|week|month|year))\b)"
_ALSO = r"(?P<also>also )?"
_HOW = r"(?:full-time |part-time |remotely )?"
SHAPES = (
    shape(rf"{WHO} {_ALSO}{_WORKS} {_HOW}{_AT} {ORGANISATION} as (?:an?|the|their) {ROLE}\b", _works),
    shape(rf"{WHO} {_ALSO}{_WORKS} {_HOW}(?:as an? {ROLE} )?{_AT} {ORGANISATION}{END}", _works),
    shape(rf"{WHO} {HAS} worked (?:as an? {ROLE} )?{_AT} {ORGANISATION}{END}", _has_worked),
    shape(rf"{WHO} {HAS} been working (?:as an? {ROLE} )?{_AT} {ORGANISATION}{END}", _works),
    shape(rf"{WHO} {IS} an? {ROLE} (?:at|for|with) {ORGANISATION}{END}", _works),
    shape(rf"{WHO} {IS} with {ORGANISATION} (?:now|these days|since)\b", _is_with),
    shape(rf"{WHO} {IS} now with {ORGANISATION}{END}", _is_with),
    shape(
        rf"{WHO} (?:{HAS} )?(?:(?:started|began) (?:working |{_JOB_AT} )|(?:got|took|accepted|landed|found)"
        rf" {_JOB_AT} )"
        rf"(?:as an? {ROLE} )?{_AT} {ORGANISATION}{END}",
        _started,
    ),
    shape(rf"{WHO} (?:{HAS} )?joined {ORGANISATION} as (?:an?|the|their) {ROLE}\b", _started),
    shape(
        rf"{WHO} (?:{HAS} )?(?:started|began) at {ORGANISATION}(?: as (?:an?|the|their) {ROLE}\b|{_BEGUN})", _began_at
    ),
    shape(rf"{WHO} (?:works?|{IS} working|{HAS} been working) as an? {ROLE}{END}", _in_role),
    shape(rf"{WHO} {IS} an? {ROLE}(?= ?$|[,;:.!?)]| (?:and|but|in|since|for|by)\b)", _in_role),
    shape(rf"{WHO} (?:became|{HAS} become) an? {ROLE}{END}", _in_role),
    shape(
        rf"{WHO} (?:{IS} no longer (?:with|at|employed (?:at|by)|working (?:at|for))|no longer works? {_AT}"
        rf"|stopped working {_AT}) {ORGANISATION}{END}",
        _no_longer,
        ends=True,
    ),
    shape(
        rf"{WHO} (?:(?:do not|does not|don't|doesn't) work|(?:am not|is not|isn't|'m not) working) {_AT} {ORGANISATION}"
        r" any ?more\b",
        _no_longer,
        ends=True,
    ),
    shape(rf"{WHO} {IS} no longer an? {ROLE}{END}", _no_role, ends=True),
    # Without "any more" it is no news of what was before.
    shape(rf"{WHO} {IS} not an? {ROLE}(?= ?$|[,;:.!)])", _not_in_role, ends=True),
    shape(rf"{WHO} {IS} not an? {ROLE} any ?more\b", _no_role, ends=True),
    shape(rf"{WHO} used to work (?:as an? {ROLE} )?{_AT} {ORGANISATION}{END}", _used_to),
    shape(
        rf"{WHO} (?:worked|was working|were working|was employed) (?:as an? {ROLE} )?{_AT} {ORGANISATION}{END}", _worked
    ),
    shape(
        rf"{WHO} (?:{HAS} )?(?:(?:quit|left|lost) (?:my|his|her|the) job at|resigned from|retired from"
        rf"|(?:was|were|got) (?:fired|laid off|let go) (?:from|by)) {ORGANISATION}{END}",
        _left_a_job,
    ),
    shape(rf"{WHO} (?:{HAS} )?(?:left|quit) {ORGANISATION}{END}", _left),
    shape(rf"{WHO} (?:{HAS} )?(?:lost|quit|left) (?:my|his|her) job as an? {ROLE}{END}", _left_role),
    shape(
        rf"{WHO} (?:{HAS} )?(?:lost|quit|left) (?:my|his|her) job"
        r"(?= ?$|[,;:.!)]| (?:and|but|because|yesterday|today|last|this|in|on)\b)",
        _jobless,
    ),
)
