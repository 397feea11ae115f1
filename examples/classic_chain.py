"""A classic ConversationChain with a memory that reaches beyond its conversation.

    python examples/classic_chain.py [folder]

It runs offline: a script stands in for a chat model. LangChain has deprecated its classic chains; for new code there
are examples/lcel_chain.py and examples/create_agent.py. It needs: pip install 'langmem-tiers[classic]'
"""

import sys
import tempfile
import warnings

from langchain_classic.chains import ConversationChain

from langmem_tiers import Memory
from langmem_tiers.integrations import TieredMemory
from langmem_tiers.testing import ScriptedChatModel

warnings.filterwarnings("ignore", category=DeprecationWarning)  # LangChain's, about its own chain

model = ScriptedChatModel(responses=["How do you like it?", "It will get warmer.", "To Lisbon."])
TALK = [
    ("monday", "I moved to Lisbon in March."),
    ("monday", "It is colder than I thought."),
    ("friday", "Which city did I move to?"),
]

folder = sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp(prefix="classic-chain-")
with Memory.open(folder) as memory:
    for session, text in TALK:
        chain = ConversationChain(llm=model, memory=TieredMemory(memory=memory, user_id="alice", session=session))
        said = chain.invoke(text)
        print(f"{session}: {text}\n  {said['response']}\n  before the model stood:\n{said['history'] or '(nothing)'}\n")
