"""Tiny files in the official formats of the benchmarks, and a stand-in for the package of a model provider."""

import json
from textwrap import dedent

DAY = "2023/05/30 (Tue)"


def question(question_id, kind, text, answer, *sessions, **more):
    """A LongMemEval question; a session is a date and what user and assistant said in turn."""
    return {
        "question_id": question_id,
        "question_type": kind,
        "question": text,
        "question_date": f"{DAY} 10:00",
        "answer": answer,
        "answer_session_ids": ["answer_0"],
        "haystack_session_ids": [f"answer_{place}" for place in range(len(sessions))],
        "haystack_dates": [date for date, *_ in sessions],
        "haystack_sessions": [
            [
                {"role": "assistant" if place % 2 else "user", "content": said, "has_answer": not place}
                for place, said in enumerate(turns)
            ]
            for _, *turns in sessions
        ],
        **more,
    }


BICYCLE = ("2023/05/01 (Mon) 08:00", "My new bicycle has the colour red.", "Red is a fine colour for a bicycle.")
RAIN = ("2023/05/20 (Sat) 09:00", "It rained on my tent all night.", "Did the tent stay dry?")
LATER = ("2023/05/31 (Wed) 09:00", "I painted my bicycle in the colour green.")

LONGMEMEVAL = [
    question("q1", "single-session-user", "Which colour has my new bicycle?", "red", RAIN, BICYCLE, LATER),
    question("q2", "multi-session", "How many nights did it rain on my tent, and not on my bicycle?", 1, RAIN, BICYCLE),
    question("q3", "temporal-reasoning", "How many days ago did I tell of my bicycle?", "29 days", BICYCLE, RAIN),
    question("q4", "single-session-preference", "Which colour of helmet suits my bicycle?", "Builds on red.", BICYCLE),
    question("q5_abs", "single-session-user", "Which colour has my new car?", "You did not mention a car.", BICYCLE),
]


def turn(speaker, place, text):
    return {"speaker": speaker, "dia_id": place, "text": text}


LOCOMO = [
    {
        "sample_id": "conv-26",
        "qa": [
            {"question": "What is the name of Ann's cat?", "answer": "Mug", "evidence": ["D1:1"], "category": 4},
            {"question": "When did Bo travel to Lisbon?", "answer": 2023, "evidence": ["D3:1"], "category": 2},
            {"question": "Where did Ann buy her violin?", "evidence": [], "adversarial_answer": "Paris", "category": 5},
        ],
        "conversation": {
            "speaker_a": "Ann",
            "speaker_b": "Bo",
            "session_1_date_time": "4:07 pm on 8 May, 2023",
            "session_1": [turn("Ann", "D1:1", "My cat has the name Mug."), turn("Bo", "D1:2", "A lovely name!")],
            "session_3_date_time": "9:00 am on 1 June, 2023",
            "session_3": [turn("Bo", "D3:1", "I will travel to Lisbon next week."), turn("Ann", "D3:2", "Enjoy it!")],
        },
    }
]


def write(path, data):
    path.write_text(json.dumps(data))
    return path


# Answers by its name: `ollama:echo` and so on; what `init_chat_model` imports for a provider is a package of this name.
PROVIDER = dedent(
    """
    import threading

    from langmem_tiers.testing import ScriptedChatModel

    asked = []
    broken = threading.Event()


    def say(name, messages):
        asked.append((name, messages[-1].text))
        if broken.is_set() and "car" in messages[-1].text:
            raise ConnectionError("the model is out of reach")
        return {"judge": "yes", "strict": "no", "vague": "perhaps"}.get(name, f"{name} says: red.")


    class ChatOllama(ScriptedChatModel):
        temperature: float | None = None

        def __init__(self, model, **options):
            super().__init__(responses=[lambda messages: say(model, messages)], **options)
    """
)
