"""The flow: one node that follows its own "continue"."""

from pocketflow import Flow, Node

from nodes import MAX_THOUGHTS, ChainOfThoughtNode
from utils.call_llm import call_llm


def create_chain_of_thought_flow(max_thoughts=MAX_THOUGHTS, save=None, call_llm=call_llm):
    """A flow that thinks until the problem is solved, or max_thoughts are thought without a solution.

    Run it with the shared store described at ChainOfThoughtNode, which also says what save and call_llm are.
    """
    node = ChainOfThoughtNode(max_thoughts, save, call_llm)
    node - "continue" >> node
    node - "end" >> Node()  # An action without a successor makes PocketFlow warn.
    return Flow(start=node)
