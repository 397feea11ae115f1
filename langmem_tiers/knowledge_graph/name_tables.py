"""Tables of how names are written: short forms, titles, legal forms, states. Data only."""

from __future__ import annotations

from langmem_tiers.palace.words import word_set

LEAST_TO_MERGE = 92
EXCHANGEABLE = (
    {"item", "project"},
    {"item", "topic"},
    {"project", "topic"},
    {"event", "topic"},
    {"event", "project"},
)
"""Types that people and models give to the same thing."""

TITLES = word_set("mr mrs ms miss mister dr prof professor doctor sir dame rev reverend fr herr frau madame monsieur")
MEN = word_set("mr mister sir herr monsieur")
WOMEN = word_set("mrs ms miss frau dame madame")
GENERATIONS = {
    **dict.fromkeys(("jr", "junior"), "junior"),
    **dict.fromkeys(("sr", "senior"), "senior"),
    **{"ii": "2", "iii": "3", "iv": "4"},
}
LEGAL_FORMS = {
    **{"gmbh": "gmbh", "ag": "ag", "se": "se", "kg": "kg", "ohg": "ohg", "ug": "ug", "ev": "ev", "kgaa": "kgaa"},
    **dict.fromkeys(("inc", "incorporated"), "inc"),
    **dict.fromkeys(("corp", "corporation"), "corp"),
    **dict.fromkeys(("ltd", "limited"), "ltd"),
    **dict.fromkeys(("co", "company"), "co"),
    **{"llc": "llc", "llp": "llp", "plc": "plc", "bv": "bv", "nv": "nv", "sa": "sa", "sarl": "sarl", "spa": "spa"},
    **{"srl": "srl", "ab": "ab", "oy": "oy", "oyj": "oyj", "as": "as", "pty": "pty", "kk": "kk", "sas": "sas"},
}
OF_COMPANIES = word_set(
    """
    group holding holdings company technologies technology systems solutions labs international global worldwide
    foundation university college school bank software services consulting industries deutschland germany usa europe uk
    hospital clinic com
    """
)
SPELLED_OUT = {
    "univ": "university",
    "uni": "university",
    "intl": "international",
    "natl": "national",
    "dept": "department",
}
PLACES = {"st": "saint", "mt": "mount", "ft": "fort", "mtn": "mountain", "ave": "avenue"}
COUNTRIES = {
    **dict.fromkeys(("usa", "us", "united states", "united states of america", "america"), "united states"),
    **dict.fromkeys(("uk", "united kingdom", "great britain"), "united kingdom"),
    **dict.fromkeys(("uae", "united arab emirates"), "united arab emirates"),
    **dict.fromkeys(("nyc", "new york city"), "new york city"),
    **dict.fromkeys(("czechia", "czech republic"), "czech republic"),
    **dict.fromkeys(("holland", "netherlands"), "netherlands"),
}
_STATES = """
al alabama|ak alaska|az arizona|ar arkansas|ca california|co colorado|ct connecticut|de delaware|fl florida|ga georgia
|hi hawaii|id idaho|il illinois|in indiana|ia iowa|ks kansas|ky kentucky|la louisiana|me maine|md maryland
|ma massachusetts|mi michigan|mn minnesota|ms mississippi|mo missouri|mt montana|ne nebraska|nv nevada|nh new hampshire
|nj new jersey|nm new mexico|ny new york|nc north carolina|nd north dakota|oh ohio|ok oklahoma|or oregon
|pa pennsylvania|ri rhode island|sc south carolina|sd south dakota|tn tennessee|tx texas|ut utah|vt vermont|va virginia
|wa washington|wv west virginia|wi wisconsin|wy wyoming|bc british columbia|on ontario|qc quebec|nsw new south wales
"""
STATES = {short: long for short, _, long in (each.strip().partition(" ") for each in _STATES.split("|"))}

_NICKNAMES = """
alexander alex sascha sasha xander al|alexandra alex sandra alexa lexi|alfred fred alf|andrew andy drew
|anthony tony|anastasia nastya stacy|antonio tony toni|barbara barb babs|benjamin ben benny benji|bernard bernie
|bradley brad|caroline carrie caro carol|catherine cathy cate kate katie cat|katherine kathy kate katie kat
|charles charlie chuck|christina chris tina chrissy|christine chris tina chrissy|christopher chris kit topher
|cynthia cindy|daniel dan danny|david dave davey|deborah deb debbie|dominic dom nick|donald don donny
|dorothy dot dottie|douglas doug|edward ed eddie ted ned|eleanor ellie nell nora
|elizabeth liz beth betty eliza lizzie lisa betsy|emily em emmy|eugene gene|frances fran frankie
|francis frank frankie|frederick fred freddie fritz|gabriel gabe|gabriella gabby|gerald gerry jerry|gregory greg
|hannelore hanne|harold harry hal|henry harry hank hal|ignacio nacho|isabella bella izzy isa|jacob jake
|jacqueline jackie|james jim jimmy jamie|jennifer jen jenny|jeffrey jeff|jessica jess jessie
|johannes hannes jo hans|john johnny jack|jonathan jon jonny nathan|joseph joe joey|josephine jo josie
|joshua josh|judith judy|julia jule julie|kenneth ken kenny|kimberly kim|lawrence larry|leonard leo len lenny
|leonardo leo|louis lou|lucas luke|lucy lu|magdalena lena magda|margaret maggie meg peggy greta marge
|maria mia marie|martin marty|matthew matt matty|maximilian max|melissa mel missy|melanie mel
|michael mike mick mickey micha|michelle shelly|mohammed mo moe|nathaniel nate nathan|natalia natasha talia
|nicholas nick nicky|nicole nicky nic|olivia liv livvy|pamela pam|patricia pat patty trish tricia
|patrick pat paddy|peter pete|philip phil|rebecca becky becca|richard rick dick rich ricky
|robert bob rob bobby robbie bert|roberta bobbie|ronald ron ronnie|rosemary rosie|russell russ
|samantha sam sammy|samuel sam sammy|sarah sally sadie|sebastian seb basti|sergei seryozha
|stephanie steph steffi|stephen steve stevie|steven steve stevie|susan sue susie|susanne susi|suzanne sue suzy
|teresa terry tess|theodore ted theo teddy|theresa terry tess|thomas tom tommy|timothy tim timmy|valentina val
|veronica ronnie vero|victoria vicky tori|vincent vince vinny|vladimir vova|walter walt wally|wilhelm willi
|william bill will billy willy liam|zachary zach zack
"""


def _forms(table: str) -> dict[str, frozenset[str]]:
    """Each form of a first name with the names that it may stand for; a name stands for itself."""
    made: dict[str, set[str]] = {}
    for line in table.split("|"):
        whole, *short = line.split()
        for form in (whole, *short):
            made.setdefault(form, {form}).add(whole)
    return {form: frozenset(names) for form, names in made.items()}


NICKNAMES = _forms(_NICKNAMES)
_ALIKE = """
аa еe оo рp сc хx уy іi ѕs јj һh ԁd ԛq ԝw ӏl ɡg вb нh кk мm тt αa οo ρp νv ιi κk τt υu χx εe βb ηn ωw γy ɑa ıi ɩi ⅼl
օo սu հh ոn ցg
"""
_CAPITALS = "АA ВB ЕE ЅS ІI ЈJ КK МM НH ОO РP СC ТT УY ХX ԚQ ԜW ҮY ΑA ΒB ΕE ΖZ ΗH ΙI ΚK ΜM ΝN ΟO ΡP ΤT ΥY ΧX ՏS ՍU ՕO"
LOOKALIKES = str.maketrans({pair[0]: pair[1] for pair in _ALIKE.split()})
"""Small letters of other alphabets that look like Latin ones: Cyrillic, Greek, Armenian, and a few Latin ones."""
LOOKALIKE_CAPITALS = str.maketrans({pair[0]: pair[1] for pair in _CAPITALS.split()})
"""The same of capitals: the Greek N has a small letter that looks like a v."""
