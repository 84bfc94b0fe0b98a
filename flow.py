"""The flow: one node that follows its own "continue"."""

from pocketflow import Flow, Node

from nodes import MAX_THOUGHTS, ChainOfThoughtNode


def create_chain_of_thought_flow(max_thoughts=MAX_THOUGHTS):
    """A flow that thinks until the problem is solved, or max_thoughts are thought without a solution.

    Run it with the shared store described at ChainOfThoughtNode.
    """
    node = ChainOfThoughtNode(max_thoughts)
    node - "continue" >> node
    node - "end" >> Node()  # An action without a successor makes PocketFlow warn.
    return Flow(start=node)
