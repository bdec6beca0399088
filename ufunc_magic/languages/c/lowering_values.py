"""A cell's file scope as lowerers of functions see it, and its functions before their bodies are read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from tree_sitter import Node

from ...ir import Constant, CType, Expression, Symbol
from .type_lowering import TypeReader


@dataclass(frozen=True, eq=False)
class FunctionDefinition:
    """A function of the cell, not yet lowered; ``template`` are the names of its type parameters."""

    name: str
    node: Node
    template: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Head:
    """The head of a function.

    Attributes
    ----------
    parameters : tuple of Symbol
    defaults : tuple of Node or None
        The value of each parameter that a call may leave out.
    returns : tuple of CType
        None for void; one that is `AUTO` is known only with the body.
    """

    parameters: tuple[Symbol, ...]
    defaults: tuple[Node | None, ...]
    returns: tuple[CType, ...]


class Scope(Protocol):
    """File scope."""

    cplus: bool
    #: <math.h>'s functions take their arguments' type in C, too.
    generic_math: bool
    types: TypeReader

    def find_value(self, name: str) -> Symbol | Constant | str:
        """The value of a name of file scope or of a header, or the reason why it has none."""

    def changes(self, name: str) -> bool:
        """Whether something in the text assigns to a variable of this name, or takes its address."""

    def is_class(self, name: str) -> bool: ...

    def define(self, node: Node) -> None:
        """Take in a type that a function declares."""

    def list_enumerators(self, node: Node) -> dict[str, Symbol]:
        """The enumerators of an ``enum``."""

    def lower_constant(self, node: Node) -> Expression:
        """An expression of file scope: a default argument."""

    def find_definitions(self, name: str) -> Sequence[FunctionDefinition]: ...

    def find_heads(self, name: str) -> Sequence[Head]: ...

    def returns(self, name: str, index: int) -> tuple[CType, ...]:
        """The types that a function returns."""
