"""A small sample of each format that can be imported, as the programs themselves write it."""

import base64
import json
import sqlite3
import zipfile
from contextlib import closing

# A point as qdrant-client 1.20 writes it: "Likes tea" of alice, with whatever else a payload may hold.
QDRANT_POINT = base64.b64decode(
    "gASVhAEAAAAAAACMIHFkcmFudF9jbGllbnQuaHR0cC5tb2RlbHMubW9kZWxzlIwLUG9pbnRTdHJ1Y3SUk5QpgZR9lCiMCF9fZGlj"
    "dF9flH2UKIwCaWSUjCQ1YzU2Yzc5My02OWYzLTRmYmYtODdlNi1jNGJmNTRjMjhjMjaUjAZ2ZWN0b3KUXZQoRz+5mZmZmZmaRz/J"
    "mZmZmZmaRz/TMzMzMzMzZYwHcGF5bG9hZJR9lCiMBGRhdGGUjAlMaWtlcyB0ZWGUjAd1c2VyX2lklIwFYWxpY2WUjARoYXNolIwB"
    "eJSMCmNyZWF0ZWRfYXSUjBkyMDI0LTA1LTA4VDEwOjAwOjAwKzAwOjAwlIwBbpRLAYwBZpRHP/gAAAAAAACMAWyUXZQojAFhlE6I"
    "ZYwBZJR9lGgSfZRzdXWMEl9fcHlkYW50aWNfZXh0cmFfX5ROjBdfX3B5ZGFudGljX2ZpZWxkc19zZXRfX5SPlChoB2gLaAmQjBRf"
    "X3B5ZGFudGljX3ByaXZhdGVfX5ROdWIu"
)
LETTA_BLOCKS = [
    {"id": "block-0", "label": "human", "value": "Her name is Ann. She has a cat called Mug.", "limit": 5000},
    {"id": "block-1", "label": "persona", "value": "I am Sam, a careful librarian.", "limit": 5000},
]
LETTA_MESSAGES = [
    {"id": "message-0", "role": "system", "content": [{"type": "text", "text": "You are Sam."}]},
    {
        "id": "message-1",
        "role": "user",
        "content": [{"type": "text", "text": '{"type": "login", "time": "now"}'}],
        "created_at": "2025-08-28T00:57:44.890070+00:00",
    },
    {
        "id": "message-2",
        "role": "user",
        "content": [{"type": "text", "text": '{"type": "user_message", "message": "Where is Mug?", "time": "now"}'}],
        "created_at": "2025-08-28T00:58:44+00:00",
    },
    {
        "id": "message-3",
        "role": "assistant",
        "content": [{"type": "text", "text": "She asks for the cat again."}],
        "tool_calls": [{"function": {"name": "send_message", "arguments": '{"message": "In the kitchen."}'}}],
        "created_at": "2025-08-28T00:58:50+00:00",
    },
    {"id": "message-4", "role": "tool", "content": [{"type": "text", "text": "sent"}]},
    {
        "id": "message-6",
        "role": "assistant",
        "content": [{"type": "text", "text": "I will write it down."}],
        "tool_calls": [{"function": {"name": "write_note", "arguments": '{"message": "Mug is in the kitchen."}'}}],
    },
    {
        "id": "message-5",
        "role": "assistant",
        "content": "Anything else?",
        "created_at": "2025-08-28T00:59:00+00:00",
    },
]
LETTA = {
    "agents": [{"id": "agent-0", "name": "sam", "block_ids": ["block-0", "block-1"], "messages": LETTA_MESSAGES}],
    "blocks": LETTA_BLOCKS,
    "tools": [{"name": "evil", "source_code": "import os; os.abort()"}],
    "passages": [
        {
            "id": "passage-1",
            "text": "The library opens at nine.",
            "tags": ["hours"],
            "created_at": "2025-08-01T10:00:00Z",
        }
    ],
    "metadata": {"revision_id": "d5103ee17ed5"},
}
CLAUDE_CONVERSATION = {
    "uuid": "conv-1",
    "name": "Cats",
    "created_at": "2025-01-01T12:00:00.000000Z",
    "account": {"uuid": "ann"},
    "chat_messages": [
        {
            "uuid": "message-1",
            "sender": "human",
            "text": "My cat is called Mug.",
            "content": [{"type": "text", "text": "My cat is called Mug."}],
            "created_at": "2025-01-01T12:00:01.000000Z",
            "attachments": [{"file_name": "mug.txt", "extracted_content": "A cat."}],
        },
        {
            "uuid": "message-2",
            "sender": "assistant",
            "text": "",
            "content": [
                {"type": "thinking", "thinking": "A cat!"},
                {"type": "text", "text": "What a name!"},
                {"type": "tool_use", "name": "search", "input": {}},
            ],
            "created_at": "2025-01-01T12:00:05.000000Z",
        },
        {"uuid": "message-3", "sender": "assistant", "text": "", "content": [], "created_at": "2025-01-01T12:01:00Z"},
    ],
}
CLAUDE_MEMORY = {
    "conversations_memory": "**Work**\n\nAnn is a librarian.",
    "project_memories": {"project-1": "The shelves are being moved."},
    "account_uuid": "ann",
}
CLAUDE_PROJECT = {
    "uuid": "project-1",
    "name": "Shelves",
    "prompt_template": "Answer in one line.",
    "creator": {"uuid": "ann"},
    "docs": [{"uuid": "doc-1", "filename": "../../plan.txt", "content": "Move shelf A to room 2."}],
}


def chatgpt_node(name, parent, role=None, text=None, **about):
    """A node of ChatGPT's tree of messages."""
    message = None
    if role is not None:
        content = {"content_type": "text", "parts": [text]}
        message = {"id": name, "author": {"role": role}, "content": content, "create_time": 1715162400.5, **about}
    return {"id": name, "parent": parent, "children": [], "message": message}


CHATGPT_CONVERSATION = {
    "title": "Cats",
    "create_time": 1715162400.0,
    "conversation_id": "conv-1",
    "current_node": "reply-2",
    "mapping": {
        node["id"]: node
        for node in (
            chatgpt_node("root", None),
            chatgpt_node("system", "root", "system", "You are a helpful assistant."),
            chatgpt_node(
                "instructions",
                "system",
                "user",
                "Call me captain.",
                metadata={"is_visually_hidden_from_conversation": True},
            ),
            chatgpt_node("question", "instructions", "user", "What is my cat called? It is Mug."),
            chatgpt_node("reply-1", "question", "assistant", "The abandoned answer."),
            chatgpt_node("call", "question", "assistant", "search('Mug')", recipient="browser"),
            chatgpt_node("result", "call", "tool", "Mug: a cup."),
            chatgpt_node("reply-2", "result", "assistant", "Mug, like a cup.", create_time=None),
        )
    },
}
MEM0_GET_ALL = {
    "results": [
        {
            "id": "a899df4c-3601-44c3-84ce-ebb89b742e4b",
            "memory": "Likes green tea",
            "hash": "af266e5686e3de8785f9ef6840e981c2",
            "metadata": {"category": "food", "place": "home"},
            "created_at": "2024-05-08T10:00:00.123456-07:00",
            "updated_at": "2024-06-08T10:00:00+00:00",
            "user_id": "alice",
            "agent_id": "vet",
            "run_id": "run-7",
        },
        {"id": "m2", "memory": "Has a dog", "created_at": None, "user_id": "bob", "categories": ["pets", "family"]},
    ]
}
LANGMEM_ITEMS = [
    {
        "namespace": ["memories", "alice"],
        "key": "k1",
        "value": {"content": "Likes tea"},
        "created_at": "2024-05-08T10:00:00+00:00",
        "updated_at": "2024-05-09T10:00:00+00:00",
    },
    {
        "namespace": ["memories", "alice"],
        "key": "k2",
        "value": {"kind": "Memory", "content": {"content": "Has a cat called Mug."}},
        "created_at": "2024-05-08T10:00:00",
        "updated_at": "2024-05-08T10:00:00",
    },
    {
        "namespace": ["users", "bob", "profile"],
        "key": "k3",
        "value": {"kind": "Profile", "content": {"name": "Bob", "languages": ["German", "French"]}},
        "created_at": "2024-05-08T10:00:00Z",
        "updated_at": "2024-05-08T10:00:00Z",
    },
]


def save(path, value):
    """Writes JSON, or lines of it for a tuple; the path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(value, tuple):
        path.write_text("".join(json.dumps(each) + "\n" for each in value))
    else:
        path.write_text(json.dumps(value))
    return path


def zipped(path, members):
    """Writes a zip file of JSON members; the path."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, value in members.items():
            packed.writestr(name, value if isinstance(value, str | bytes) else json.dumps(value))
    return path


def database(path, *statements):
    """Makes a SQLite file out of statements, each with its rows; the path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as connection:
        for statement, rows in statements:
            if rows is None:
                connection.execute(statement)
            else:
                connection.executemany(statement, rows)
        connection.commit()
    return path


def langmem_lines(folder):
    return save(folder / "store.jsonl", tuple(LANGMEM_ITEMS))


def langmem_list(folder):
    return save(folder / "store.json", LANGMEM_ITEMS)


def langgraph_sqlite(folder):
    from langgraph.store.sqlite import SqliteStore

    with SqliteStore.from_conn_string(str(folder / "store.db")) as store:
        store.setup()
        for item in LANGMEM_ITEMS:
            store.put(tuple(item["namespace"]), item["key"], item["value"])
    return folder / "store.db"


def mem0_json(folder):
    return save(folder / "memories.json", MEM0_GET_ALL)


def mem0_list(folder):
    return save(folder / "memories.json", MEM0_GET_ALL["results"])


def mem0_history(folder):
    change = "INSERT INTO history VALUES (?, ?, ?, ?, ?, ?, ?, ?, NULL, 'user')"
    columns = "id TEXT, memory_id TEXT, old_memory TEXT, new_memory TEXT, event TEXT, created_at DATETIME"
    columns += ", updated_at DATETIME, is_deleted INTEGER, actor_id TEXT, role TEXT"
    said = "id TEXT PRIMARY KEY, session_scope TEXT, role TEXT, content TEXT, name TEXT, created_at DATETIME"
    at = "2024-05-08T10:00:00+00:00"
    return database(
        folder / "history.db",
        (f"CREATE TABLE history ({columns})", None),
        (
            change,
            [
                ("1", "m1", None, "Likes green tea", "ADD", at, at, 0),
                ("2", "m2", None, "Has a dog", "ADD", at, at, 0),
                ("3", "m1", "Likes green tea", "Likes black tea", "UPDATE", at, "2024-06-08T10:00:00Z", 0),
                ("4", "m2", "Has a dog", None, "DELETE", at, at, 1),
            ],
        ),
        (f"CREATE TABLE messages ({said})", None),
        (
            "INSERT INTO messages VALUES (?, ?, ?, ?, NULL, ?)",
            [
                ("a", "agent_id=vet&user_id=alice", "user", "I like black tea now.", at),
                ("b", "agent_id=vet&user_id=alice", "assistant", "Noted.", at),
                ("c", "agent_id=vet&user_id=alice", "tool", "{}", at),
            ],
        ),
    )


def chroma(folder, collections):
    """Makes a Chroma folder with the real library; rows are (id, document, metadata)."""
    import chromadb

    client = chromadb.PersistentClient(str(folder))
    for name, rows in collections.items():
        made = client.create_collection(name, embedding_function=None)
        for row, document, metadata in rows:
            documents = None if document is None else [document]
            made.add(ids=[row], embeddings=[[0.1, 0.2, 0.3]], documents=documents, metadatas=[metadata])
    client.close()
    return folder


def mem0_chroma(folder):
    at = "2024-05-08T10:00:00+00:00"
    about = {"hash": "af266e", "text_lemmatized": "like tea", "created_at": at, "updated_at": at, "category": "food"}
    return chroma(
        folder / "chroma",
        {
            "mem0": [
                ("m1", None, {"data": "Likes tea", "user_id": "alice", **about}),
                ("m2", None, {"data": "Has a dog", "user_id": "bob", "run_id": "run-7", **about}),
            ],
            "mem0_entities": [("e1", None, {"data": "tea", "linked_memory_ids": "m1"})],
        },
    )


def mem0_qdrant(folder):
    made = "CREATE TABLE points (id TEXT PRIMARY KEY, point BLOB)"
    file = folder / "qdrant" / "collection" / "mem0" / "storage.sqlite"
    database(file, (made, None), ("INSERT INTO points VALUES (?, ?)", [("1", QDRANT_POINT)]))
    return folder / "qdrant"


def palace(folder):
    about = {"wing": "home", "room": "general", "source_file": "/src/chat.txt", "filed_at": "2024-05-08T10:00:00.5"}
    mined = {**about, "ingest_mode": "convos", "authored_at": "2024-05-01T10:00:00", "hall": "pets"}
    question = "> Which vet is good?\n> She is due.\nThe one near the river."
    return chroma(
        folder / "palace",
        {
            "mempalace_drawers": [
                ("drawer_2", question, {**mined, "chunk_index": 1}),
                ("drawer_1", "> My cat is called Mug.\nWhat a name!", {**mined, "chunk_index": 0}),
                ("drawer_3", "The boiler is serviced in May.", {**about, "source_file": "notes.md", "chunk_index": 0}),
                ("mark", "[registry] /src/chat.txt", {**about, "room": "_registry", "ingest_mode": "registry"}),
            ],
            "mempalace_closets": [("closet", "Mug|cat", {"wing": "home", "room": "general"})],
        },
    )


def rockbot(folder):
    tree = folder / "agent" / "memory"
    entry = {"id": "a1b2", "content": "The user is in Chicago.", "tags": ["time"], "createdAt": "2025-02-01T10:00:00Z"}
    save(tree / "user-preferences" / "timezone" / "a1b2.json", {**entry, "metadata": {"source": "inferred"}})
    save(tree / "e5f6.json", {"Id": "e5f6", "Content": "Uses grep.", "CreatedAt": "2025-02-01T10:00:00+01:00"})
    save(tree / "old.json", {**entry, "id": "old", "supersededBy": "a1b2"})
    (tree / "broken.json").write_text('{"id": "x", "content": ')
    (tree / ".embeddings").mkdir()
    save(tree / ".embeddings" / "a1b2.json", [0.1])
    return tree


def letta(folder):
    return save(folder / "sam.af", LETTA)


def letta_v1(folder):
    old = {"agent_type": "memgpt_agent", "name": "sam", "system": "…", "core_memory": LETTA_BLOCKS}
    return save(folder / "sam.af", {**old, "messages": LETTA_MESSAGES, "in_context_message_indices": [0]})


def claude_zip(folder):
    return zipped(
        folder / "claude.zip",
        {
            "conversations.json": [CLAUDE_CONVERSATION],
            "memories.json": [CLAUDE_MEMORY],
            "projects/project-1.json": CLAUDE_PROJECT,
            "users.json": [{"uuid": "ann"}],
        },
    )


def claude_folder(folder):
    save(folder / "claude" / "conversations.json", [CLAUDE_CONVERSATION])
    save(folder / "claude" / "memories.json", [CLAUDE_MEMORY])
    save(folder / "claude" / "projects.json", [CLAUDE_PROJECT])
    return folder / "claude"


def chatgpt(folder):
    return save(folder / "conversations.json", [CHATGPT_CONVERSATION])


def chatgpt_zip(folder):
    members = {"export/conversations-000.json": [CHATGPT_CONVERSATION], "export/user.json": {"id": "u"}}
    return zipped(folder / "chatgpt.zip", {**members, "chat.html": "<html>"})


# Each sample: what it looks like, and how many messages, entries and documents are in it.
SAMPLES = {
    langmem_lines: ("langmem", 0, 3, 0),
    langmem_list: ("langmem", 0, 3, 0),
    langgraph_sqlite: ("langmem", 0, 3, 0),
    mem0_json: ("mem0", 0, 2, 0),
    mem0_list: ("mem0", 0, 2, 0),
    mem0_history: ("mem0", 2, 1, 0),
    mem0_chroma: ("mem0", 0, 2, 0),
    mem0_qdrant: ("mem0", 0, 1, 0),
    palace: ("mempalace", 5, 0, 0),
    rockbot: ("rockbot", 0, 2, 0),
    letta: ("letta", 3, 1, 2),
    letta_v1: ("letta", 3, 0, 2),
    claude_zip: ("claude", 2, 0, 4),
    claude_folder: ("claude", 2, 0, 4),
    chatgpt: ("chatgpt", 2, 0, 0),
    chatgpt_zip: ("chatgpt", 2, 0, 0),
}
