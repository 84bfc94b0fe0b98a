"""The flow: one node that follows its own "continue"."""

from pocketflow import Flow, Node

from nodes import MAX_THOUGHTS, ChainOfThoughtNode
from utils.call_llm import call_llm


def create_chain_of_thought_flow(max_thoughts=MAX_THOUGHTS, save=None, call_llm=call_llm):
    """A flow that thinks until the problem is solved or the limit is reached. For the arguments, see the node."""
    node = ChainOfThoughtNode(max_thoughts, save, call_llm)
    node - "continue" >> node
    node - "end" >> Node()  # PocketFlow warns of an action without a successor.
    return Flow(start=node)
