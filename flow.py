"""The flow: one node that follows its own "continue"."""

from pocketflow import Flow, Node

from nodes import ChainOfThoughtNode


def create_chain_of_thought_flow(node=None):
    """A flow that thinks until a thought has checked the solution or the run stops without a check.

    node: a ChainOfThoughtNode, by default one without arguments.
    """
    node = node or ChainOfThoughtNode()
    node - "continue" >> node
    node - "end" >> Node()  # PocketFlow warns of an action without a successor.
    return Flow(start=node)
