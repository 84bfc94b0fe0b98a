"""The flow: one node that follows its own "continue"."""

from pocketflow import Flow, Node

from nodes import ChainOfThoughtNode


def create_chain_of_thought_flow(max_thoughts=30):
    """A flow that thinks until the problem is solved, or max_thoughts are thought without a solution.

    Run it with the shared store described at ChainOfThoughtNode.
    """
    node = ChainOfThoughtNode(max_thoughts, max_retries=3)
    node - "continue" >> node
    node - "end" >> Node()  # An action without a successor makes PocketFlow warn.
    return Flow(start=node)
