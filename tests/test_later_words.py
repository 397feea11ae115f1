"""Later words end what they contradict: entries, messages and relations say so, whatever the rules made of either."""

import pytest

from langmem_tiers import Turn
from langmem_tiers.language.assertions import Who
from langmem_tiers.language.endings import Revised
from langmem_tiers.language.revisions import Revision
from langmem_tiers.storage import facts, revisions
from langmem_tiers.writing import mining

DAY = 86_400


@pytest.fixture
def tell(alice, clock):
    """Has the user say something in a session of its own, and lets days pass."""

    def told(*texts, days=30, session=None):
        turns = [Turn(role="user", content=text, said_at=clock()) for text in texts]
        alice.track(turns, session=session or f"{clock():%Y-%m-%d}")
        alice.mine()
        assert alice.flush()
        clock.tick(days * DAY)

    return told


def marks(space, value):
    """What is said of each active entry with a value."""
    found = space.knowledge.search("", limit=50)
    return [each.ended for each in found if value.casefold() in each.entry.content.casefold()]


def marks_of_message(space, tell, said, then):
    """What is said of a message, once something else has been said."""
    tell(said)
    (message,) = space.drawers()
    tell(then)
    return list(space.ended([message]).values())


def unmarked(space, query, value, since="2026-03-02"):
    """The lines of a block that say a value of a day as if it were so."""
    lines = space.recall(query).block.splitlines()
    old = [line for line in lines if since in line and value.casefold() in line.casefold()]
    return [line for line in old if "but later" not in line and "no longer" not in line]


# What was said, what was said later, a question, the value that no longer holds, and what the block shows as well.
CHANGES = [
    (
        "The review with Acme is on December 3.", "Acme moved the review to December 5.",
        "When is the review?", "December 3", "December 5",
    ),
    (
        "The MVP deadline is October 15.", "Maren moved the MVP deadline to October 29.",
        "When is the MVP deadline?", "October 15", "October 29",
    ),
    (
        "I have a dentist appointment on December 3.", "Dentist moved to December 5.",
        "When is the dentist?", "December 3", "December 5",
    ),
    (
        "My exam is on December 3.", "I moved my exam to December 9.",
        "When is my exam?", "December 3", "December 9",
    ),
    ("Mark is vegetarian.", "Mark's no longer vegetarian.", "Is Mark vegetarian?", "is vegetarian", "no longer"),
    ("I use Poetry.", "Let's drop Poetry and use uv.", "Do I use Poetry?", "use Poetry", "uv"),
    (
        "I work at Vattenfall.", "Big news: I quit Vattenfall, I start at Nordkraft on Monday.",
        "Where do I work?", "Vattenfall", "Nordkraft",
    ),
    ("I work at Vattenfall as a planner.", "I left Vattenfall.", "Where do I work?", "Vattenfall", ""),
    ("I work at Bosch.", "I started a new job at Miele.", "Where do I work?", "Bosch", "Miele"),
    ("I work as a teacher.", "I retired last summer.", "What is my job?", "teacher", ""),
    ("My brother works at Philips.", "My brother got laid off.", "Where does my brother work?", "Philips", ""),
    ("My boss is called Henk.", "I have a new boss, Marijke.", "Who is my boss?", "Henk", "Marijke"),
    ("I'm married to Tom.", "Tom and I got divorced.", "Am I married?", "Tom", ""),
    ("My boyfriend is called Milan.", "Milan and I broke up.", "Who is my boyfriend?", "Milan", ""),
    ("I'm dating Joris.", "I'm single again.", "Am I dating anybody?", "Joris", ""),
    ("My girlfriend is Ines.", "My girlfriend Carla and I went hiking.", "Who is my girlfriend?", "Ines", "Carla"),
    ("I love sushi.", "I don't like sushi any more.", "Do I like sushi?", "sushi", ""),
    ("I love sushi.", "I went off sushi completely.", "Do I like sushi?", "sushi", ""),
    ("I really like sushi.", "Can't stand sushi these days.", "Do I like sushi?", "sushi", ""),
    ("I drink coffee every morning.", "I switched from coffee to tea.", "What do I drink?", "coffee", "tea"),
    ("I've been vegetarian for years.", "I'm not vegetarian any more.", "What do I eat?", "vegetarian", ""),
    ("I'm vegetarian.", "I've started eating meat again.", "Am I vegetarian?", "vegetarian", "meat"),
    ("I'm allergic to peanuts.", "Turns out I'm not allergic to peanuts.", "Am I allergic to peanuts?", "allergic", ""),
    ("I smoke a pack a day.", "I quit smoking.", "Do I smoke?", "smoke", ""),
    ("My sister Anna lives in Lisbon.", "My sister Anna moved to Porto.", "Where does Anna live?", "Lisbon", "Porto"),
    ("My sister lives in Lisbon.", "My sister moved to Porto.", "Where does my sister live?", "Lisbon", "Porto"),
    ("I live in Turin.", "I live in Genoa now.", "Where do I live?", "Turin", "Genoa"),
    ("i live in turin", "we moved to genoa last month", "Where do I live?", "turin", "genoa"),
    ("I drive a Volvo to work every day.", "We sold the Volvo last week.", "What do I drive?", "Volvo", ""),
    ("We have a car, an old Saab.", "Sold the car yesterday.", "Do I have a car?", "Saab", ""),
    ("My laptop is a ThinkPad.", "Someone stole my laptop.", "Which laptop do I have?", "ThinkPad", ""),
    ("I have a dog named Bruno.", "The dog died last week.", "Do I have a dog?", "Bruno", ""),
    ("I have a dog named Bruno.", "Bruno passed away.", "Do I have a dog?", "Bruno", ""),
    ("I play the guitar in a band.", "I gave up the guitar.", "Which instrument do I play?", "guitar", ""),
    ("I do yoga every Tuesday.", "I no longer do yoga.", "Do I do yoga?", "yoga", ""),
    ("I go to the gym three times a week.", "I cancelled my gym membership.", "Do I go to the gym?", "gym", ""),
    ("I'm a member of the choir Cantando.", "I left the choir.", "Am I in a choir?", "choir", ""),
    ("I'm learning Dutch.", "I stopped learning Dutch, no time.", "Which language am I learning?", "Dutch", ""),
    ("I'm studying law at Leiden University.", "I dropped out of Leiden.", "What do I study?", "Leiden", ""),
    ("We're going on a trip to Iceland in June.", "The trip is off.", "Where are we travelling?", "Iceland", ""),
    ("We're moving to Ghent in August.", "We're not moving after all.", "Are we moving?", "Ghent", ""),
    ("We're planning our wedding for May.", "The wedding is postponed to autumn.", "When do we marry?", "May", ""),
    (
        "I'm training for the Berlin marathon.", "I pulled out of the marathon.",
        "Am I running a marathon?", "marathon", "",
    ),
    ("We are going over to rye.", "Sorry, did I say rye, no, I meant spelt.", "What do we grow?", "rye", "spelt"),
    ("We're buying a house in Delft.", "The house in Delft fell through.", "Are we buying a house?", "Delft", ""),
    (
        "My dentist appointment is on Monday.", "No wait, my dentist appointment is on Tuesday.",
        "When is my dentist appointment?", "Monday", "Tuesday",
    ),
    (
        "My meeting with the bank is on Thursday.", "The bank meeting was moved to Friday.",
        "When is my meeting with the bank?", "Thursday", "Friday",
    ),
    (
        "My birthday is in May.", "I told you my birthday is in May, that was wrong, it's in June.",
        "When is my birthday?", "May", "June",
    ),
    (
        "My flight is on 8 February.", "They changed it, it's on the 11th, not the 8th.",
        "When is my flight?", "8 February", "11th",
    ),
    (
        "My phone number is 0612345678.", "My new phone number is 0698765432.",
        "What is my phone number?", "0612345678", "0698765432",
    ),
    (
        "My favourite colour is green.", "My favourite colour is blue now.",
        "What is my favourite colour?", "green", "blue",
    ),
    ("I work at Vattenfall.", "I work at Nordkraft, not Vattenfall.", "Where do I work?", "Vattenfall", "Nordkraft"),
    (
        "My sister is called Anna.", "My sister is called Hanne, not Anna.",
        "What is my sister called?", "Anna", "Hanne",
    ),
    ("I love coffee.", "I like tea, not coffee.", "Do I like coffee?", "coffee", "tea"),
    ("The rehearsal is at 3.", "The rehearsal is at 4, not 3.", "When is the rehearsal?", "at 3", "at 4"),
    ("My brother is a doctor.", "My brother is a nurse, not a doctor.", "What is my brother?", "doctor", "nurse"),
    ("I work at Vattenfall.", "Vattenfall let me go yesterday.", "Where do I work?", "Vattenfall", "let me go"),
    ("I work at Vattenfall.", "They let me go yesterday.", "Where do I work?", "Vattenfall", "let me go"),
    ("I live in Turin.", "We're back in Genoa since last week.", "Where do I live?", "Turin", "Genoa"),
    ("I love espresso.", "I've stopped drinking coffee.", "Do I like espresso?", "espresso", ""),
    (
        "I have a cat named Pixel.", "My ex kept the cat, so Pixel lives with him now.",
        "Which pets do I have?", "Pixel", "lives with him",
    ),
    ("My boss is Karen at Vattenfall.", "I quit Vattenfall.", "Who is my boss?", "Karen", ""),
    ("My boss is Karen.", "I quit my job.", "Who is my boss?", "Karen", ""),
    ("My manager's name is Karen.", "I quit my job at Vattenfall.", "Who is my manager?", "Karen", ""),
    ("I love espresso.", "No more coffee for me.", "Do I like espresso?", "espresso", ""),
    ("I take metformin.", "No metformin any more, I'm on insulin now.", "What do I take?", "metformin", "insulin"),
    ("I eat cheese every day.", "so no cheese anymore", "Do I eat cheese?", "cheese", "no cheese"),
    ("I have a cat named Pixel.", "Pixel went to live with my ex.", "Which pets do I have?", "cat", "live with"),
    ("My birthday is on 5 May.", "My birthday is on 4 May, not 5 May.", "When is my birthday?", "on 5 May", "4 May"),
    ("Our dog is called Moose.", "We had to put Moose down yesterday.", "Do I have a dog?", "Moose", "put Moose down"),
    ("I have a dog named Moose.", "moose died last night", "Do I have a dog?", "Moose", "moose died"),
    ("I have a dog called Moose.", "Moose is very ill. We had to put him down.", "Do I have a dog?", "called", "down"),
    ("My dentist is Dr Patel.", "I changed dentists, now I see Dr Novak.", "Who is my dentist?", "Patel", "Novak"),
    ("I work at Bosch.", "changed jobs last month", "Where do I work?", "Bosch", "changed jobs"),
    ("I'm pregnant!", "Our daughter was born on Friday.", "Am I pregnant?", "is pregnant", "born"),
    ("My wife is pregnant.", "our little girl arrived last night!!", "Is my wife pregnant?", "is pregnant", "arrived"),
    ("I quit smoking.", "I'm smoking again.", "Do I smoke?", "quit", "smoking again"),
    ("i work at bosch", "i dont work there anymore", "Where do I work?", "bosch", "dont work"),
    ("I love sushi.", "cant stand sushi anymore", "Do I love sushi?", "sushi", "cant stand"),
    ("I live in Turin.", "I don't live there any more.", "Where do I live?", "Turin", "any more"),
    ("i work at bosch", "i left bosch", "Where do I work?", "bosch", "left bosch"),
    ("i work at bosch as a planner", "bosch fired me lol", "Where do I work?", "bosch", "fired me"),
    ("i love sushi", "ngl im so over sushi", "Do I love sushi?", "sushi", "so over"),
    ("im a vegetarian", "ok so im not veggie anymore", "Am I vegetarian?", "vegetarian", "veggie"),
    ("we're getting married in june", "wedding's off", "When do we marry?", "married in june", "off"),
    ("We're going to Rome on 3 May.", "we cant go to rome, callum is sick", "Are we going to Rome?", "May", "cant go"),
    ("We're going to Rome on 3 May.", "Rome is off, Callum has shingles.", "Are we going to Rome?", "May", "is off"),
    ("We're going to Rome on 3 May.", "We had to cancel Rome.", "Are we going to Rome?", "May", "cancel Rome"),
    ("My dentist is Dr Patel.", "switched to a new dentist, dr novak", "Who is my dentist?", "Patel", "novak"),
    ("I'm single.", "I have a boyfriend now, Tom.", "Am I single?", "is single", "boyfriend"),
    ("I'm unemployed.", "I started at Bosch.", "Do I have a job?", "unemployed", "Bosch"),
    ("I don't have a car.", "I bought a car.", "Do I have a car?", "don't have", "bought"),
    ("I have a Canon.", "I have a Nikon, not a Canon.", "Do I have a Canon?", "has a Canon", ""),
    (
        "I'm allergic to peanuts.", "The doctor says I'm allergic to cashews, not peanuts.",
        "What am I allergic to?", "peanuts", "cashews",
    ),
    (
        "I'm allergic to peanuts.", "I said I'm allergic to peanuts but I meant cashews.",
        "What am I allergic to?", "peanuts", "cashews",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("first", "then", "question", "value", "shown"), CHANGES)
def test_what_was_ended_or_changed_later_is_never_shown_alone_as_current(
    alice, tell, first, then, question, value, shown
):
    tell(first)
    tell(then)
    old = [each for each in alice.knowledge.search("", limit=50) if each.entry.first_said_at.month == 3]
    assert all(each.ended for each in old if value.casefold() in each.entry.content.casefold())
    assert unmarked(alice, question, value) == []
    assert shown.casefold() in alice.recall(question).block.casefold()


UNCHANGED = [
    ("I live in Uppsala.", "But Emma lives in Umea."),
    ("I live in Uppsala.", "Since June she lives in Umea."),
    ("I live in Uppsala.", "Tom and Lisa live in Umea."),
    ("I live in Uppsala.", "The client is based in Umea."),
    ("I live in Uppsala.", "Mr. Haas moved to Umea."),
    ("I live in Uppsala.", "The party had to be moved to October 17."),
    ("I live in Uppsala.", "We moved to Plan B."),
    ("I live in Uppsala.", "I moved to Linux from Windows."),
    ("I live in Uppsala.", "I moved to the Data team."),
    ("I live in Uppsala.", "My character moved to Umea in chapter 3."),
    ("I work at Vattenfall.", "Our nanny works at Tesco now."),
    ("My birthday is March 3.", "Ayla's birthday is December 8."),
    ("My phone number is 555 1234.", "Mum's phone number is 555 9999."),
    ("My favourite colour is blue.", "Juno's favourite colour is pink."),
    ("My flight leaves at 8:15.", "Mum's flight leaves at 9:30."),
    ("My rate for Acme is 80 euros.", "My rate for Globex is 95 euros."),
    ("My wife's birthday is March 3.", "My son's birthday is May 9."),
    ("The party is on October 17.", "Nadia can't make it on the 17th, so eggs are fine."),
    ("The MVP deadline is October 15.", "The report deadline was moved to October 29."),
    ("My boss is Ana.", "I love hiking by the lake with Ana."),
    ("I work at Vattenfall.", "I'm thinking of quitting Vattenfall."),
    ("I work at Vattenfall.", "I might leave Vattenfall next year."),
    ("I work at Vattenfall.", "If I left Vattenfall, I'd be poor."),
    ("I work at Vattenfall.", "I quit smoking."),
    ("I work at Vattenfall.", "My favourite band is now Khruangbin."),
    ("I work at Vattenfall.", "The meeting is now on Thursday."),
    ("I work at Vattenfall.", "My sister quit her job."),
    ("I work at Vattenfall.", "My colleague left Vattenfall."),
    ("I work at Vattenfall.", "I don't work on Fridays."),
    ("I live in Turin.", "My brother moved to Genoa."),
    ("I live in Turin.", "I want to move to Genoa."),
    ("I live in Turin.", "I lived in Genoa as a child."),
    ("I live in Turin.", "I visited Genoa last week."),
    ("I live in Turin.", "I moved to Genoa in 2015."),
    ("My sister Anna lives in Lisbon.", "My sister Clara moved to Porto."),
    ("My sister Anna lives in Lisbon.", "My cousin moved to Porto."),
    ("I'm married to Tom.", "My sister got divorced."),
    ("I love sushi.", "My son hates sushi."),
    ("I love sushi.", "I ran out of sushi rice."),
    ("I have a dog named Bruno.", "My cat died."),
    ("I have a dog named Bruno.", "My grandmother died last year."),
    ("I play the guitar in a band.", "I stopped playing chess."),
    ("I'm allergic to peanuts.", "I'm not allergic to cats."),
    ("I drink coffee every morning.", "I stopped drinking beer."),
    ("I go to the gym three times a week.", "I didn't go to the gym today."),
    ("We bought a house in Delft.", "I left the house at nine."),
    ("My dentist appointment is on Monday.", "My yoga class is on Tuesday."),
    ("I was born in Ulm.", "I moved to Kiel."),
    ("My phone number is 0612345678.", "My new phone is a Nokia."),
    ("My phone is a Nokia.", "My new phone number is 0698765432."),
    ("My house number is 12.", "My new house is lovely."),
    ("Do I work at Vattenfall?", "I work at Vattenfall."),
    ("I'm allergic to peanuts and milk.", "I'm allergic to cashews, not peanuts."),
    ("My sister is allergic to peanuts.", "I'm allergic to cashews, not peanuts."),
    ("I ate peanuts on the train.", "I'm allergic to cashews, not peanuts."),
    ("My sister Anna lives in Lisbon.", "I live in Porto, not Lisbon."),
    ("I love coffee.", "I'd like tea, not coffee."),
    ("I love coffee.", "I drink tea in the evening, not coffee."),
    ("I love coffee.", "I've stopped drinking coffee after 4pm."),
    ("I have an espresso machine.", "I've stopped drinking beer."),
    ("I live in Turin.", "I work in Genoa, not Turin."),
    ("I love dogs.", "I love cats, not just dogs."),
    ("The rehearsal is at 3.", "The meeting is at 4, not 3."),
    ("I work at Vattenfall.", "They let me go home early."),
    ("I work at Vattenfall.", "Vattenfall let me go early today."),
    ("I work at Vattenfall.", "I let go of the rope."),
    ("I work at Vattenfall.", "I fired my gardener."),
    ("I work at Vattenfall.", "I didn't quit."),
    ("I work at Vattenfall.", "I got an offer from Nordkraft."),
    ("I live in Turin.", "We're back in Genoa for the weekend."),
    ("I live in Turin.", "My brother is back in Genoa since last week."),
    ("I have a cat named Pixel.", "My ex kept the flat."),
    ("I have a daughter named Ada.", "Ada lives with him now."),
    ("My boss is Karen at Vattenfall.", "I quit smoking."),
    ("My boss is Karen.", "My boss quit smoking."),
    ("I work at Vattenfall.", "My sister got an offer from Nordkraft and I'm starting on Monday with yoga."),
    ("I work at Vattenfall.", "I turned down an offer from Nordkraft and I start on Monday with yoga."),
    ("I work at Vattenfall.", "I start my new job at Nordkraft on 1 June."),
    ("I have a cat named Pixel.", "My ex took Pixel to the vet."),
    ("I have a cat named Pixel.", "I gave Pixel to my sister for the weekend."),
    ("I have a car.", "Her car got stolen."),
    ("I have a son called Milo.", "Had to put Milo down for a nap."),
    ("I have a phone.", "phone died"),
    ("My dentist is Dr Patel.", "My sister changed dentists."),
    ("My dentist is Dr Patel.", "I changed my dentist appointment."),
    ("My boss is Karen.", "My sister has a new boss."),
    ("I'm pregnant.", "My daughter was born in Leeds."),
    ("I'm pregnant.", "Our daughter was born in 2015."),
    ("I'm pregnant.", "We had the baby shower yesterday."),
    ("My wife is pregnant.", "My sister gave birth."),
    ("I quit smoking.", "My sister is smoking again."),
    ("I quit smoking.", "I'd love to be smoking again."),
    ("I quit smoking.", "I'll never be smoking again."),
    ("I work at Vattenfall.", "My brother doesn't work there anymore."),
    ("I work at Vattenfall.", "My sister's husband quit his job."),
    ("I work at Vattenfall.", "A friend of mine got fired from Vattenfall."),
    ("I work at Vattenfall.", "Half my team quit Vattenfall."),
    ("I live in Turin.", "My sister's ex doesn't live there anymore."),
    ("My mate Finn got sacked from Lego.", "I quit Lego."),
    ("A friend of mine works at Lego.", "I quit Lego."),
    ("My mate Finn is great. He works at Lego.", "I quit Lego."),
    ("I have a trip to Oslo on 9 May.", "My sister's trip to Oslo is cancelled."),
    ("I have two dogs and a cat.", "I have a cat, not a dog."),
    ("I love peanuts.", "I said I'm allergic to peanuts but I meant cashews."),
    ("I love peanuts.", "I said peanuts but I meant cashews."),
    ("I love hiking.", "Climbing is great. It's fun, not hiking."),
    ("I start work early.", "I left early."),
    ("I work at Vattenfall.", "my gf lost her job"),
    ("I work at Vattenfall.", "tom got fired from vattenfall"),
    ("I work at Vattenfall.", "anna quit her job"),
    ("I live in Turin.", "tom moved to genoa"),
    ("I live in Turin.", "my mates moved to genoa"),
    ("I love sushi.", "I'm over here eating sushi."),
    ("I'm single.", "My sister has a boyfriend now."),
    ("I'm a single mum.", "I have a boyfriend now."),
    ("I'm unemployed.", "I got a job interview at Bosch."),
    ("I'm unemployed.", "My brother started at Bosch."),
    ("I don't have a car.", "I bought a dog bed."),
    ("We're going to Rome on 3 May.", "I can't go to the gym today."),
    ("I'm married to Tom.", "My favourite band broke up."),
    ("I'm dating Tom.", "the band split up"),
    ("I'm single.", "I'm engaged in politics."),
    ("I'm unemployed.", "I was hired a car by my dad."),
    ("I work at Vattenfall.", "I left Vattenfall early today."),
    ("I work at Vattenfall.", "I left Vattenfall at 6."),
    ("I work at Vattenfall.", "I got the job at Nordkraft! I start on 1 June."),
    ("I work at Vattenfall.", "Got the job at Nordkraft!! Starting 1 June"),
    ("I'm reading a book about Rome.", "I quit the book club."),
    ("My birthday is on 3 May.", "I called off the birthday party."),
    ("I'm meeting Laura on Friday.", "I was wrong about Laura, she does have a degree."),
    ("I drink milk.", "Forget the milk, I bought some."),
    ("I love cats.", 'my sister\'s like "you hate cats"'),
    ("I love cats.", "My mum's always like 'I hate cats.'"),
    ("I drink coffee every day.", "No coffee any more after 4 pm."),
    ("I drink coffee every day.", "No coffee after dinner any more."),
    ("I eat cheese every day.", "No shop here has goat cheese any more."),
]


@pytest.mark.parametrize(("first", "then"), UNCHANGED)
def test_what_somebody_else_did_or_nobody_did_ends_nothing(alice, tell, first, then):
    tell(first)
    tell(then)
    old = [each for each in alice.knowledge.search("", limit=50) if each.entry.first_said_at.month == 3]
    assert [each.ended for each in old if each.ended] == []
    assert "but later" not in alice.recall(first).block


# What was said, and what was said later about something else, in words that are alike.
ALIKE = [
    ("I'm thinking of getting a bookcase for the hall.", "I don't think it was the blue one."),
    ("I'm taking better care of my teeth.", "I don't have a car."),
    ("I sing in two separate groups that are fond of cake.", "Salt and sand can be separated by water."),
    ("I listen to podcasts on my daily commute.", "I'm getting used to the new commute."),
    ("I'm planning a trip with my college friends.", "We used to be inseparable in college."),
    ("I work at a bakery.", "I feel stronger since I started attending her class."),
    ("I need to replace the oil filter.", "It's not like he needs it."),
    ("My bike has flat tyres.", "I just got a new bike helmet."),
    ("I always wear comfortable shoes.", "The ring is in a box when I'm not wearing it."),
    ("I'm currently working on a quilt.", "The new method does not work."),
    ("It's easy to find things in our kitchen.", "It's not easy to learn Danish."),
    ("We keep missing each other.", "I found my armchair at a flea market."),
    ("My plan for the choir seems to work.", "I lost my job."),
    ("I love Korean food.", "I don't want to give up my junk food."),
    ("I keep singing in the choir.", "I won't quit the choir."),
    ("I bring lunch from the student bakery, their service is quick.", "I'm not interested in the Student Services."),
    ("I hope to create a small garden.", "This will not only create noise but also dust."),
    ("My niece tells stories at dinner.", "I can tell a story of our family's history while we eat."),
    ("I'm really interested in learning the flute.", "I'm really interested in learning more about my town's history."),
    ("I wear my hat on the way home.", "The storm was strong so lots of homes were ruined."),
    ("My shop keeps me busy, which means I'm seeing more sales.", "Tom and Ana broke up."),
    ("I started this job about three weeks ago.", "My new job is close to the park."),
    ("I meet two friends for a match of tennis.", "It was a long match that ended in a draw."),
    ("I go by train in hard winters.", "It's hard when my train is delayed."),
    ("I play football for a Sunday team.", "Our goalkeeper quit the team."),
    ("We use Slack at work for everything.", "My husband's company ditched Slack."),
    ("I'm vegan.", "I'm not only vegan, I'm also gluten free."),
]


@pytest.mark.parametrize(("first", "then"), ALIKE)
def test_what_is_only_said_in_words_that_are_alike_ends_nothing(alice, tell, first, then):
    assert marks_of_message(alice, tell, first, then) == [()]


ENDED = [
    ("I go to a gym twice a week.", "By the way, I finally gave up the gym, so can you suggest some runs?"),
    ("I'm training for the Ghent marathon.", "My knee hurts, so I had to pull out of the Ghent marathon."),
    ("I'm saving up for a trip to Peru.", "Bad news, the Peru trip has fallen through."),
    ("I'm a cook at Elm House.", "got fired from Elm House lol"),
    ("I'm dating a man called Marek.", "Marek dumped me last week."),
    ("We have a cleaner who comes on Fridays.", "We let our cleaner go in April."),
    ("I have a card with Brugbank.", "I closed my Brugbank card."),
    ("I drink wine with dinner.", "I've been sober since April."),
    ("I'm the treasurer of the chess club.", "I stepped down as treasurer last week."),
    ("I'm reading Middlemarch, at page 300.", "Finished Middlemarch last night!"),
    ("I sing in a choir on Thursdays.", "Our choir has disbanded."),
    ("I have a mortgage on the house.", "I've paid off the mortgage."),
    ("I get migraines twice a week.", "My migraines have gone since I sleep more."),
    ("Our project is in React.", "I've ported the whole project from React to Svelte."),
    ("I hate olives.", "I've come round to olives."),
    ("I have a rose tattoo.", "I had the tattoo removed."),
    ("I have an interview at Elm House.", "I turned down the Elm House interview."),
]


@pytest.mark.parametrize(("first", "then"), ENDED)
def test_an_end_is_heard_among_other_words(alice, tell, first, then):
    assert marks_of_message(alice, tell, first, then) != [()]


def test_that_somebody_has_died_ends_nothing_of_who_says_so(alice, clock):
    for text in ("I look forward to every Sunday.", "Last week, my grandma passed away and it's been hard."):
        alice.track([Turn(role="user", content=text, speaker="Mara", said_at=clock())], session=f"{clock():%d}")
        alice.track([Turn(role="user", content="I see.", speaker="Jan", said_at=clock())], session=f"{clock():%d}")
        clock.tick(DAY)
    alice.mine()
    assert alice.flush()
    assert not any(alice.ended(alice.drawers()).values())


@pytest.mark.parametrize(
    "then",
    [
        "Sorry, I meant to say earlier: I'm allergic to cashews, not peanuts.",
        "I'm allergic to cashews, not peanuts.",
        "I was wrong about the allergy: it's cashews, not peanuts.",
        "I was wrong about the allergy. It's cashews, not peanuts.",
        "I got the allergy wrong: it's cashews, not peanuts.",
        "It turns out I'm allergic to cashews, not peanuts.",
        "Actually it's cashews I'm allergic to, not peanuts.",
    ],
)
def test_a_value_set_against_the_wrong_one_takes_its_place(alice, tell, then):
    tell("I'm allergic to peanuts.", "I live in Turin.")
    tell(then)
    allergy, home = alice.profile.read()
    assert ("cashews" in allergy.text, "is allergic to peanuts" in allergy.text) == (True, False)
    assert home.text == "lives in Turin"
    assert unmarked(alice, "What am I allergic to?", "peanuts") == []
    assert f'(but later, 2026-04-01: "{then.split(". ")[-1]}")' in alice.recall("What am I allergic to?").block


def test_she_in_a_correction_is_whom_the_message_before_was_about(alice, tell):
    tell("I'm vegetarian.", days=1)
    tell("My brother is vegetarian.", "He's a vegan, not vegetarian.", session="one")
    assert (marks(alice, "brother is vegetarian"), marks(alice, "brother is vegan")) == ([], [()])
    assert marks(alice, "The user is vegetarian") == [()]
    assert unmarked(alice, "What does my brother eat?", "brother is vegetarian", since="2026-03-03") == []


@pytest.mark.parametrize(
    "then", ["I was wrong about the allergy: it's cashews, not peanuts.", "No, cashews, not peanuts."]
)
def test_a_wrong_value_takes_nothing_along_that_was_named_beside_it(alice, tell, then):
    tell("I'm allergic to peanuts and milk.", days=1)
    tell(then)
    assert "is allergic to peanuts and milk" in [each.text for each in alice.profile.read()]


def test_it_in_a_correction_is_what_the_message_before_said(alice, tell):
    tell("I'm allergic to peanuts.", "Sorry, it's cashews, not peanuts.")
    assert [each.text for each in alice.profile.read()] == ["is allergic to cashews"]


def test_a_new_job_takes_over_on_its_first_day(alice, tell):
    tell("I work at Vattenfall.", days=1)
    tell("I got an offer from Nordkraft and I'm starting on 20 March.", days=10)
    plan = "planned for 2026-03-20: works at Nordkraft"
    assert [each.text for each in alice.profile.read()] == [plan, "works at Vattenfall"]
    assert marks(alice, "works at Vattenfall") == [()]
    tell("It's raining.", days=10)
    assert [each.text for each in alice.profile.read()] == ["works at Nordkraft, as planned for 2026-03-20"]
    assert marks(alice, "works at Vattenfall") != [()]


@pytest.mark.parametrize(
    "then",
    [
        "Forget the bullet points thing, full sentences are fine again.",
        "You can drop the bullet points.",
        "Forget about the bullet points from now on.",
    ],
)
def test_a_wish_for_the_agent_that_is_taken_back_holds_no_longer(alice, tell, then):
    tell("From now on always answer in bullet points.")
    tell(then)
    assert marks(alice, "bullet points") == [(f'but later, 2026-04-01: "{then}"',)]
    assert not any("bullet points" in each.text for each in alice.profile.read())


@pytest.mark.parametrize(
    ("said", "then"),
    [
        ("I have a book club on Mondays.", "I quit the book club."),
        ("I'm at the record shop four days a week.", "I quit my job at the record shop."),
        ("I ride my bike to work.", "I sold my old silver bike."),
        ("I smoke a pack a day.", "I quit smoking cigarettes."),
        ("I take sugar in my tea.", "I gave up sugar and salt."),
        ("Nadia and Tom are going to Peru with me.", "Peru is cancelled."),
        ("Nadia and I booked Peru for May.", "Peru is cancelled."),
    ],
)
def test_what_is_over_is_found_by_its_main_word(alice, tell, said, then):
    assert all(marks_of_message(alice, tell, said, then))


@pytest.mark.parametrize(
    ("said", "then"),
    [
        ("We're recording an EP with a producer from Bristol.", "I quit my job at the record shop."),
        ("The garden is full of roses.", "We sold the garden furniture."),
        ('lyrics so far:\n"I was born in a storm\nI married a man made of clay"', "also Nadia and I split up."),
        ("Laura says the soil is better for pears.", "I was wrong about Laura, she does have a degree."),
        ("Nadia and Tom went on to Peru without me.", "Peru is cancelled."),
        ("My sister Ada and Tom flew to Peru yesterday.", "Peru is off."),
    ],
)
def test_a_message_that_only_has_a_word_in_common_is_not_marked(alice, tell, said, then):
    assert not any(marks_of_message(alice, tell, said, then))


@pytest.mark.parametrize("then", ["Nordkraft withdrew the offer.", "The offer fell through."])
def test_an_offer_that_is_withdrawn_ends_no_job(alice, tell, then):
    tell("I work at Vattenfall.", days=1)
    tell("I got an offer from Nordkraft and I'm starting on 20 March.", days=5)
    tell(then, days=30)
    assert [each.text for each in alice.profile.read()] == ["works at Vattenfall"]
    assert marks(alice, "works at Vattenfall") == [()]


def test_the_mark_holds_the_later_words_and_their_date(alice, tell):
    tell("I work at Vattenfall.")
    tell("Big news: I quit Vattenfall, I start at Nordkraft on Monday.")
    said = 'but later, 2026-04-01: "Big news: I quit Vattenfall, I start at Nordkraft on Monday."'
    assert marks(alice, "works at Vattenfall") == [(said,)]


def test_the_profile_leaves_out_what_was_ended_later(alice, tell):
    tell("I work at Vattenfall.", "I love black coffee.")
    assert [each.text for each in alice.profile.read()] == ["works at Vattenfall", "loves black coffee"]
    tell("I left Vattenfall.", "I don't like coffee any more.")
    assert [each.topic for each in alice.profile.read() if "no" not in each.text.split()] == []


def test_of_a_message_all_that_was_ended_is_marked(alice, tell):
    tell("I work at Vattenfall and I play the cello.")
    tell("I gave up the cello.")
    tell("I left Vattenfall.")
    line = next(each for each in alice.recall("Where do I work?").block.splitlines() if "2026-03-02 user" in each)
    assert "I gave up the cello." in line
    assert "I left Vattenfall." in line


def test_conversations_mined_in_another_order_are_understood_all_the_same(alice, clock):
    later = Turn(role="user", content="I gave up the guitar.", said_at=clock())
    earlier = Turn(role="user", content="I play the guitar in a band.", said_at=clock().replace(year=2025))
    for turn in (later, earlier):
        alice.track([turn], session=f"{turn.said_at.year}")
        alice.mine()
    assert marks(alice, "plays the guitar") == [('but later, 2026-03-02: "I gave up the guitar."',)]


def test_what_is_said_once_more_holds_again(alice, tell):
    tell("I play the guitar in a band.")
    tell("I gave up the guitar.")
    assert marks(alice, "plays the guitar") != [()]
    tell("I'm playing the guitar again.")
    assert marks(alice, "plays the guitar") == [()]


def test_who_moves_back_lives_there_again(alice, tell):
    tell("I live in Turin.")
    tell("I moved to Genoa.")
    assert unmarked(alice, "Where do I live?", "Turin") == []
    tell("I moved back to Turin.")
    assert unmarked(alice, "Where do I live?", "Turin") != []


def test_what_is_told_later_counts_although_it_began_before_the_other_was_said(alice, tell):
    tell("I live in Turin.", days=1)
    tell("I moved to Genoa last week.", days=0)
    assert marks(alice, "lives in Turin") == [('but later, 2026-03-03: "I moved to Genoa last week."',)]
    assert marks(alice, "Genoa") == [()]
    homes = [each for each in alice.graph.neighbours("user").relations if each.predicate == "lives_in"]
    assert [each.object.name for each in homes] == ["Genoa"]


@pytest.mark.parametrize("then", ["We're staying in Turin after all.", "We're staying put.", "The move is off."])
def test_a_move_that_fell_through_is_marked(alice, tell, then):
    tell("I live in Turin.", days=1)
    tell("We're moving to Genoa in August.")
    tell(then)
    assert unmarked(alice, "Are we moving to Genoa?", "Genoa", since="2026-03-03") == []
    assert marks(alice, "lives in Turin") == [()]


def test_it_is_what_was_said_just_before(alice, tell):
    tell("I play the cello.")
    tell("The cello takes too much time.", "I gave it up.", session="one")
    assert unmarked(alice, "Do I play the cello?", "play the cello") == []


def test_a_dated_plan_takes_over_on_its_day_unless_it_fell_through(alice, tell):
    tell("I live in Turin.", days=5)
    tell("I'm moving to Genoa on 20 March 2026.", days=5)
    assert marks(alice, "lives in Turin") == [()]
    tell("It's raining.", days=30)
    assert marks(alice, "lives in Turin") != [()]


def test_a_move_that_fell_through_changes_no_home(alice, tell):
    tell("I live in Turin.", days=5)
    tell("I'm moving to Genoa on 20 March 2026.", days=5)
    tell("We're not moving after all.", days=40)
    assert marks(alice, "lives in Turin") == [()]


def test_as_of_an_earlier_moment_only_what_was_said_by_then_counts(alice, tell, clock):
    tell("I play the guitar in a band.")
    before = clock()
    clock.tick(DAY)
    tell("I gave up the guitar.")
    assert unmarked(alice, "Do I play the guitar?", "guitar") == []
    assert "but later" not in alice.recall("Do I play the guitar?", as_of=before).block


def test_what_is_deleted_is_no_longer_held_against_anything(alice, tell):
    tell("I play the guitar in a band.")
    tell("I'm not vegetarian any more, and I quit playing the guitar.")
    for each in alice.knowledge.search("", limit=50):
        if each.entry.first_said_at.month != 3:
            alice.knowledge.delete(each.entry.id, origin="user")
    assert marks(alice, "plays the guitar") == [()]


def held(space, name="user"):
    """What the graph says of somebody now."""
    return {each.object.name for each in space.graph.neighbours(name).relations if each.object}


def entry_with(space, value):
    return next(each.entry for each in space.knowledge.search("", limit=50) if value in each.entry.content)


def test_the_relations_of_an_entry_end_with_it_and_hold_again_with_it(alice, tell, clock):
    tell("I work at Bosch as a planner.", "I live in Turin.")
    entry = alice.knowledge.deactivate(entry_with(alice, "Bosch").id, origin="user")
    assert held(alice) == {"Turin"}
    assert "no longer: works at Bosch" in alice.recall("Where do I work?").block
    clock.tick(DAY)
    alice.knowledge.reactivate(entry.id, origin="user")
    assert {"Bosch", "Turin"} <= held(alice)


def test_a_corrected_entry_ends_what_only_the_wrong_one_said(alice, tell):
    tell("I work at Bosch as a planner.", "My sister Anna lives in Lisbon.")
    alice.knowledge.save("The user works at Miele.", corrects=entry_with(alice, "Bosch").id, origin="user")
    lisbon = entry_with(alice, "Lisbon").id
    alice.knowledge.update(lisbon, content="The user's sister Anna lives in Porto.", origin="user")
    assert held(alice) == {"Anna"}
    assert held(alice, "Anna") == {"Anna"}


def test_a_relation_that_is_ended_or_withdrawn_by_hand_marks_the_entry_and_the_profile(alice, tell):
    tell("I work at Bosch.", "I live in Turin.")
    work, home = (
        next(each for each in alice.graph.neighbours("user").relations if each.predicate == predicate)
        for predicate in ("works_at", "lives_in")
    )
    alice.graph.end_relation(work.id)
    alice.graph.withdraw_relation(home.id)
    assert marks(alice, "Bosch") == [("no longer: works at Bosch: until 2026-04-01",)]
    assert marks(alice, "Turin") == [("no longer: lives in Turin: not so",)]
    assert alice.profile.read() == ()


def test_an_edited_message_ends_nothing_any_more(alice, tell):
    tell("I play the guitar in a band.")
    alice.track([Turn(role="user", content="I gave up the guitar.", message_id="m")], session="later")
    alice.mine()
    assert marks(alice, "plays the guitar") != [()]
    alice.track([Turn(role="user", content="I gave up the drums.", message_id="m")], session="later")
    alice.mine()
    assert marks(alice, "plays the guitar") == [()]


def test_what_no_longer_holds_comes_after_what_does(alice, tell):
    tell("I love sushi.", "I love ramen.")
    tell("I went off sushi.")
    found = alice.knowledge.search("Which food do I love?")
    assert [bool(each.ended) for each in found] == sorted(bool(each.ended) for each in found)
    assert any(each.ended for each in found)


def test_a_deleted_relation_takes_the_entry_of_the_same_words_along(alice, tell):
    tell("I work at Vattenfall.", days=1)
    tell("My sister Anna lives in Lisbon.", days=1)
    tell("I live in Turin.", days=1)
    alice.knowledge.update(entry_with(alice, "Turin").id, pinned=True)
    by_text = {str(each): each.id for each in alice.graph.neighbours("user").relations}
    receipt = alice.graph.delete_relation(by_text["user works_at Vattenfall"])
    assert (receipt.existed, receipt.relations, receipt.entries) == (True, 1, 1)
    alice.graph.delete_relation(by_text["user lives_in Turin"])
    assert [marks(alice, value) for value in ("Vattenfall", "Lisbon", "Turin")] == [[], [()], [()]]
    alice.mine()
    assert alice.flush()
    assert marks(alice, "Vattenfall") == []


def test_what_the_user_saved_as_well_stays_when_a_relation_is_deleted(alice, tell):
    tell("I work at Vattenfall.", days=1)
    alice.knowledge.save("The user works at Vattenfall.", origin="user")
    (relation,) = alice.graph.neighbours("user").relations
    receipt = alice.graph.delete_relation(relation.id)
    assert (receipt.relations, receipt.entries, marks(alice, "Vattenfall")) == (1, 0, [()])


@pytest.mark.parametrize(
    ("said", "later", "value"),
    [
        ("I'm allergic to penicillin.", "I'm not allergic to penicillin after all, they tested me.", "penicillin"),
        ("I work at Nordkraft.", "I don't work at Nordkraft after all, they withdrew the offer.", "Nordkraft"),
        ("I'm a vegetarian.", "I'm not vegetarian after all, I missed bacon.", "vegetarian"),
    ],
)
def test_what_is_not_so_after_all_is_over(alice, tell, said, later, value):
    tell(said)
    tell(later)
    assert any(any(later[:30] in each for each in mark) for mark in marks(alice, value))
    assert not any(value in line.text for line in alice.profile.read())


def test_another_allergy_stays_when_one_is_none_after_all(alice, tell):
    tell("I'm allergic to peanuts.")
    tell("I'm not allergic to penicillin after all.")
    assert () in marks(alice, "peanuts")


@pytest.mark.parametrize(
    ("said", "later", "kin"),
    [
        ("My daughter Greta lives in Tilburg.", "I started smoking again, don't tell Greta.", "daughter Greta"),
        ("My sister Maud lives in Tilburg.", "Maud moved to Breda last month.", "sister Maud"),
        ("My son Casper is in year 3.", "Casper's cast is off.", "son Casper"),
        ("My son Casper is in year 3.", "Casper's off school with a cold.", "son Casper"),
        ("My husband Pieter works at a library.", "Pieter's cast is off.", "husband Pieter"),
    ],
)
def test_news_of_somebody_does_not_end_that_they_are_kin(alice, tell, said, later, kin):
    tell(said)
    tell(later)
    found = [each for each in alice.graph.neighbours("user").relations if each.predicate == f"has_{kin.split()[0]}"]
    assert [each.said_later for each in found] == [()]
    assert any(kin in line.text for line in alice.profile.read())


@pytest.mark.parametrize(
    "later",
    [
        "Scrap that, the Vaasa move isn't happening.",
        "The Vaasa move is off.",
        "Vaasa fell through.",
        "The move is off, sadly.",
        "Moving to Vaasa is on hold.",
        "The Vaasa plan fell through.",
        "The Vaasa thing fell through, so we stay put.",
        "Our flat in Vaasa fell through.",
        "Scrap that, we're staying in Turku.",
        "Plans changed. I'm staying in Turku.",
        "We're staying put.",
        "We'll stay put.",
        "I will stay put then.",
        "We decided not to move.",
        "I've decided against moving.",
        "We've decided to stay where we are.",
        "We chose not to move to Vaasa.",
        "I changed my mind about moving.",
        "We're not going to move.",
        "We won't be moving to Vaasa.",
    ],
)
def test_a_move_that_fell_through_leaves_the_home_on_its_day(alice, tell, later):
    tell("I live in Turku.")
    tell("I'm moving to Vaasa on August 1st.")
    tell(later, days=300)
    assert [each.target for each in alice.graph.neighbours("user").relations] == ["Turku"]
    assert [line.text for line in alice.profile.read()] == ["lives in Turku"]
    assert marks(alice, "lives in Turku") == [()]


@pytest.mark.parametrize(
    "later",
    [
        "We'll stay put for the weekend.",
        "We decided not to move the sofa.",
        "I won't be moving much today.",
        "I've decided against moving my savings.",
        "My brother decided not to move to Vaasa.",
        "We're not going to move the meeting.",
    ],
)
def test_what_only_sounds_like_staying_leaves_the_move(alice, tell, later):
    tell("I live in Turku.")
    tell("I'm moving to Vaasa on August 1st.")
    tell(later, days=300)
    assert [each.target for each in alice.graph.neighbours("user").relations] == ["Vaasa"]


@pytest.mark.parametrize(
    "later",
    [
        "The Vaasa move is postponed to November 1st.",
        "The move got pushed to November 1st.",
        "Moving to Vaasa was pushed back to the 1st of November.",
    ],
)
def test_a_move_that_is_put_off_begins_on_its_new_day(alice, tell, clock, later):
    tell("I live in Turku.")
    tell("I'm moving to Vaasa on August 1st.")
    tell(later, days=120)
    assert "2026-08-01" < f"{clock():%Y-%m-%d}" < "2026-11-01"
    assert [each.target for each in alice.graph.neighbours("user").relations] == ["Turku"]
    assert any(line.text == "lives in Turku" for line in alice.profile.read())
    assert [each.target for each in alice.graph.neighbours("user", as_of="2026-12").relations] == ["Vaasa"]


def test_a_plan_in_small_letters_waits_for_its_day(alice, tell):
    tell("i live in turku")
    tell("i'm moving to vaasa on december 5th")
    assert marks(alice, "lives in turku") == [()]


@pytest.mark.parametrize(
    ("said", "later", "right"),
    [
        ("I moved to Braga last week.", "sorry, Chaves, not Braga", "moved to Chaves"),
        ("I live in Braga.", "Chaves, not Braga, my bad", "lives in Chaves"),
        ("My boyfriend Rui works at Galp.", "not Galp, Efacec. i always mix those up", "works at Efacec"),
    ],
)
def test_two_names_without_a_verb_set_right_what_was_said_before(alice, tell, said, later, right):
    tell(said, days=0, session="one")
    tell(later, session="one")
    told = [each.entry.content for each in alice.knowledge.search("", limit=50)]
    assert len(told) == 1
    assert right in told[0]
    assert any(right in line.text for line in alice.profile.read())


def test_two_names_without_a_verb_mark_what_was_said_shortly_before_elsewhere(alice, tell):
    tell("My brother Nuno moved to Braga.", days=10)
    tell("My sister Ines lives in Braga.", days=1)
    tell("I mean Chaves, not Braga.")
    found = {each.entry.content: each.ended for each in alice.knowledge.search("", limit=50)}
    assert found == {
        "The user's brother Nuno moved to Braga.": (),
        "The user's sister Ines lives in Braga.": ('but later, 2026-03-13: "I mean Chaves, not Braga."',),
    }


def test_other_words_against_each_other_are_about_something_else(alice, tell):
    tell("I have a dog.", days=1)
    tell("It's a cat, not a dog.")
    assert () in marks(alice, "dog")


def test_a_change_of_plans_lets_the_plan_fall_through(alice, tell):
    tell("I live in Turku.")
    tell("I'm moving to Vaasa on August 1st.")
    tell("Change of plans, it's Oulu not Vaasa.", days=200)
    assert [each.target for each in alice.graph.neighbours("user").relations] == ["Turku"]
    assert all(any("Change of plans" in each for each in mark) for mark in marks(alice, "Vaasa on August"))


def test_the_profile_keeps_children_and_partners_but_no_trips_with_them(alice, tell):
    tell("I have two kids.", "I have a trip with the kids to Rome.", "I have a kids party on Sunday.", days=1)
    tell("My wife Marta is a nurse.", "My daughter Mia is flying to Rome.", "My wife Marta flies to Rome on 3 May.")
    family = {each.text for each in alice.profile.read() if each.topic == "family"}
    assert family == {"has two kids", "has wife Marta", "has daughter Mia"}


@pytest.mark.parametrize(
    "then", ["I said peanuts but I meant cashews.", "Sorry, I said peanuts, I meant cashews.", "It's fun, not peanuts."]
)
def test_what_was_meant_takes_the_place_of_what_was_said_but_an_opinion_does_not(alice, tell, then):
    tell("I'm allergic to peanuts.", then, session="one")
    allergic = "cashews" if "cashews" in then else "peanuts"
    assert [each.text for each in alice.profile.read()] == [f"is allergic to {allergic}"]


@pytest.mark.parametrize(
    ("said", "then", "home", "work"),
    [
        ("I live in Faro and work at Delta.", "I left Delta.", ["lives in Faro"], []),
        ("I live in Faro and work at Delta.", "I moved to Braga.", ["moved to Braga"], ["works at Delta"]),
        ("I'm a nurse and live in a flat in Faro.", "I live in Braga now.", ["lives in Braga now"], ["works as nurse"]),
    ],
)
def test_of_two_facts_in_a_sentence_the_one_that_nothing_ended_still_holds(alice, tell, said, then, home, work):
    tell(said)
    tell(then)
    known = alice.profile.read()
    assert [each.text for each in known if each.topic == "home"] == home
    assert [each.text for each in known if each.topic == "work"] == work


def test_of_two_facts_on_somebody_the_one_that_nothing_ended_still_holds(alice, tell):
    tell("My sister Anna lives in Faro and works at Delta.")
    tell("Anna quit Delta.")
    assert (marks(alice, "lives in Faro"), marks(alice, "works at Delta") == [()]) == ([()], False)


@pytest.mark.parametrize(
    "said",
    ["I love to cook and have friends over.", "My parents live in Faro and work is far.", "I eat and work fast."],
)
def test_other_sentences_with_and_are_not_taken_apart(alice, tell, said):
    tell(said)
    assert not any(each.topic == "work" for each in alice.profile.read())


@pytest.mark.parametrize(
    "news",
    [
        "I got the job at Nordkraft! I start on 1 June.",
        "Got the job at Nordkraft and I start 1 June!",
        "I got the job at Nordkraft! So happy! I start on 1 June.",
    ],
)
def test_a_job_that_somebody_got_begins_on_its_first_day(alice, tell, news):
    tell("I work at Vattenfall.", days=1)
    tell(news, days=60)
    assert [each.text for each in alice.profile.read()] == [
        "planned for 2026-06-01: works at Nordkraft",
        "works at Vattenfall",
    ]
    tell("It's raining.", days=40)
    assert [each.text for each in alice.profile.read()] == ["works at Nordkraft, as planned for 2026-06-01"]
    ((mark,),) = marks(alice, "works at Vattenfall")
    assert "Nordkraft" in mark


def test_a_job_that_somebody_got_and_that_is_withdrawn_never_begins(alice, tell):
    tell("I work at Vattenfall.", days=1)
    tell("I got the job at Nordkraft! I start on 1 June.", days=20)
    tell("Nordkraft withdrew the offer.", days=100)
    assert [each.text for each in alice.profile.read()] == ["works at Vattenfall"]
    assert marks(alice, "works at Vattenfall") == [()]


def test_as_of_a_moment_a_plan_is_one_until_it_fell_through(alice, tell, clock):
    tell("I live in Turku.", days=1)
    tell("I'm moving to Vaasa on August 1st.", days=5)
    before = clock()
    clock.tick(DAY)
    tell("The Vaasa move is off.", days=5)
    plan = "planned for 2026-08-01: lives in Vaasa"
    assert [each.text for each in alice.profile.read(as_of=before)] == [plan, "lives in Turku"]
    assert [each.text for each in alice.profile.read()] == ["lives in Turku"]
    assert alice.profile.read(as_of=clock()) == alice.profile.read()
    asked = "Where are we moving?"
    assert "but later" not in alice.recall(asked, as_of=before).block
    assert alice.recall(asked, as_of=clock()).block == alice.recall(asked).block
    assert "not so" not in alice.recall(asked).block


@pytest.mark.parametrize("later", ["We're staying in Espoo this weekend.", "The Vaasa trip fell through."])
def test_a_stay_elsewhere_or_a_trip_ends_no_move(alice, tell, later):
    tell("I live in Turku.")
    tell("I'm moving to Vaasa on August 1st.")
    tell(later, days=300)
    assert [each.target for each in alice.graph.neighbours("user").relations] == ["Vaasa"]


@pytest.mark.parametrize(
    "said", ["I'm Nora, I work at Nokia and live in Turku.", "I'm Nora, I live in Turku and work at Nokia."]
)
def test_who_quits_a_job_still_lives_where_they_said_in_the_same_sentence(alice, tell, said):
    tell(f"Hi! {said}")
    tell("Big news: I quit Nokia.")
    assert {line.text for line in alice.profile.read()} == {"name is Nora", "lives in Turku"}


@pytest.mark.parametrize("at_once", [1, 50])
def test_what_an_older_version_took_for_an_end_is_read_again(alice, tell, monkeypatch, at_once):
    monkeypatch.setattr(mining, "_READ_AGAIN", at_once)
    tell("I sing in the choir.")
    tell("I need new tyres.")
    tell("It rains.")
    tell("I quit the choir.")
    choir, tyres, rain, _ = alice.drawers()
    wrong = Revision(who=Who(owner="user"), over=frozenset({"tyr"}))
    with alice.context.open() as store, store.writing() as connection:
        facts.put(connection, store.key, "revisions.rules", "1:-1")
        revisions.put(connection, store.key, Revised((wrong,), rain.number, 0, 9, "It rains."), at=0)
    assert [_quoted(each) for each in alice.ended([choir, tyres]).values()] == ["I quit the choir.", "It rains."]
    assert alice.flush()
    assert [_quoted(each) for each in alice.ended([choir, tyres]).values()] == ["I quit the choir.", ""]
    with alice.context.open() as store, store.reading() as connection:
        assert revisions.of_older_rules(connection, store.key, 1) == []


def test_what_an_older_version_found_in_a_replaced_message_does_not_come_back_with_it(alice, tell):
    tell("I love cycling.")
    for text in ("It rains a lot.", "Never mind that.", "It rains a lot."):
        alice.track([Turn(role="user", content=text, message_id="m")], session="rain")
        if text == "It rains a lot." and len(alice.drawers()) == 2:
            wrong = Revision(who=Who(owner="user"), over=frozenset({"cycl"}))
            with alice.context.open() as store, store.writing() as connection:
                facts.put(connection, store.key, "revisions.rules", "1:-1")
                revisions.put(connection, store.key, Revised((wrong,), 2, 0, 15, text), at=0)
        else:
            assert alice.flush()
    assert list(alice.ended(alice.drawers()[:1]).values()) == [()]


def test_what_a_newer_version_found_is_left_to_it(alice, tell):
    tell("I sing in the choir.", "I quit the band.")
    newer = str(revisions.RULES + 1)
    with alice.context.open() as store, store.writing() as connection:
        facts.put(connection, store.key, "revisions.rules", f"{newer}:0")
        assert revisions.of_older_rules(connection, store.key, 1) == []


def test_what_this_version_found_is_not_read_again(alice, tell):
    tell("I sing in the choir.", "I quit the band.")
    with alice.context.open() as store, store.reading() as connection:
        assert revisions.standing(connection, store.key) != []
        assert revisions.of_older_rules(connection, store.key, 1) == []


def _quoted(marks):
    """The later words in the marks of a message."""
    return "".join(marks).partition(': "')[2].removesuffix('"')
