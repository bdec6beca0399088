"""A ufunc's operands in Python: inputs are parameters, cores nested lists, and outputs what the function gives back."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ..ir import CType
from ..model import Operand, Signature
from .value import Lines, Stop, assign, number, parse_template, write_array, write_length, zero


@dataclass(frozen=True)
class OperandLists:
    """The operands of ``signature``: their Python names and their types, by their positions in the cell."""

    signature: Signature
    names: Mapping[int, str]
    types: Mapping[int, CType]

    def write_parameters(self) -> list[str]:
        return [self.names[o.index] for o in self.signature.inputs]

    def write_sizes(self) -> Lines:
        """The lines that give the parameters that are sizes their values."""
        return [assign(self.names[at], self._measure_dimension(dim)) for at, dim in self.signature.sizes.items()]

    def write_opening(self, operand: Operand, *, assigned: bool = False, changed: bool = False) -> Lines:
        """What an operand needs before the first statement, which may certainly assign it or change its elements."""
        name, t = self.names[operand.index], self.types[operand.index]
        if not operand.core:
            if operand.role != "output" or assigned:
                return []
            return [assign(name, zero(t))]
        flat = self._is_flat(operand)
        if operand.role == "output":
            lengths = [self._write_size(dim) for dim in operand.core]
            lengths = [parse_template("{} * {}", *lengths)] if flat else lengths
            return [assign(name, write_array(zero(t.element), lengths))]
        if flat:
            return [assign(name, parse_template("[value for row in {} for value in row]", name))]
        if operand.role == "inout" or changed:
            return [
                assign(
                    name, parse_template("list({})" if len(operand.core) == 1 else "[list(row) for row in {}]", name)
                )
            ]
        return []

    def write_closing(self, operand: Operand) -> ast.expr:
        """The operand after ``return``."""
        name = self.names[operand.index]
        if not operand.core:
            return ast.Name(name)
        if self._is_flat(operand):
            rows, columns = map(self._write_size, operand.core)
            return parse_template("[{0}[i * {1}:(i + 1) * {1}] for i in range({2})]", name, columns, rows)
        return ast.Name(name)

    def _write_size(self, dim: int | str) -> ast.expr:
        """How the text says the size of a core dimension."""
        if isinstance(dim, int):
            return number(dim)
        if not dim.isidentifier():
            return _Computed(self._write_size).visit(ast.parse(dim, mode="eval").body)  # type: ignore[no-any-return]
        if operand := self.signature.size_operands.get(dim):
            return ast.Name(self.names[operand.index])
        parameter = next((at for at, of in self.signature.sizes.items() if of == dim), None)
        return self._measure_dimension(dim) if parameter is None else ast.Name(self.names[parameter])

    def _measure_dimension(self, dim: str) -> ast.expr:
        """``len(...)`` of the first input that has the core dimension."""
        for operand in self.signature.inputs:
            if dim in operand.core:
                return write_length(self.names[operand.index], operand.core.index(dim))
        raise Stop(f"has the core dimension {dim}, which no input has")

    def _is_flat(self, operand: Operand) -> bool:
        """Whether the cell sees the core as one run of elements where Python sees nested lists."""
        depth = self.types[operand.index].depth
        if depth in (0, len(operand.core)):
            return False
        if depth == 1 and len(operand.core) == 2:
            return True
        raise Stop(f"uses an unknown layout for `{operand.name}`")


@dataclass
class _Computed(ast.NodeTransformer):
    """The text of a size that is computed, with the text of each size in it."""

    size: Callable[[str], ast.expr]

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.size(node.id)
