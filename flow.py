"""The flow: one node that follows its own "continue"."""

from pocketflow import Flow, Node

from nodes import MAX_THOUGHTS, ChainOfThoughtNode


def create_chain_of_thought_flow(max_thoughts=MAX_THOUGHTS, keep=None):
    """A flow that thinks until the problem is solved, or max_thoughts are thought without a solution.

    Run it with the shared store described at ChainOfThoughtNode, which also says what keep is.
    """
    node = ChainOfThoughtNode(max_thoughts, keep)
    node - "continue" >> node
    node - "end" >> Node()  # An action without a successor makes PocketFlow warn.
    return Flow(start=node)
