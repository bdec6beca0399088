"""Kernels as loops over the threads of a block, between the places where its threads wait for each other.

A fiber for each thread costs a switch at every barrier, and keeps the compiler from vectorizing.  So a kernel whose
waits lie where all threads of the block come, or whole warps, gets a second body, which runs a block in one call: its
text is cut at the waits, and each piece, a region, is a loop over the threads.  Variables that live across a wait
become arrays over the threads, or stay what they are where all threads have the same value (MCUDA: Stratton et al.,
2008).  A shuffle writes to an array in one region and reads from it in the next one.  Device functions that wait are
written into the kernel.

``templates/cuda_launch.h`` runs a block by the second body; after a fault of memory it runs the block again by fibers,
which know the thread.  Kernels for which any of this is not certain have the first body alone.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from ...model import CompileError
from .. import c
from . import cuda_text

_T = TypeVar("_T")

_SHUFFLES = {"__shfl_sync": "at", "__shfl_up_sync": "up", "__shfl_down_sync": "down", "__shfl_xor_sync": "across"}
_VOTES = {"__ballot_sync": "votes", "__any_sync": "any", "__all_sync": "all"}
_BARRIERS = frozenset(("__syncthreads", "__syncwarp"))
_WAITS = _BARRIERS | _SHUFFLES.keys() | _VOTES.keys()
#: Words of kernels that need a fiber for each thread: they print in order, wait for others, or know their stack.
_APART = frozenset(
    """
    printf volatile goto asm __asm__ try alloca this_grid this_thread_block tiled_partition coalesced_threads cg cuda
    cooperative_groups grid_group thread_block thread_block_tile __activemask __match_any_sync __match_all_sync
    __syncthreads_count __syncthreads_or __syncthreads_and __uni_sync __nanosleep __reduce_add_sync __reduce_min_sync
    __reduce_max_sync __reduce_and_sync __reduce_or_sync __reduce_xor_sync __ldcg __ldcv cudaDeviceSynchronize
    """.split()
)
#: Words that make a macro more than an expression.
_STATEMENTS = _WAITS | frozenset(
    "return break continue goto if else for while do switch case __shared__ static".split()
)
#: Functions of CUDA that give every thread the same for the same arguments.
_PURE = frozenset(
    "static_cast reinterpret_cast const_cast int min max abs ceil floor ceilf floorf log2f __ffs __clz __popc".split()
)
#: Words of functions that give each thread another value.
_DIFFERS = frozenset(("threadIdx", "malloc", "new"))
_GEOMETRY = frozenset(("blockIdx", "blockDim", "gridDim", "warpSize"))
_NAMES = frozenset(("identifier", "type_identifier", "namespace_identifier"))
_LOOPS = frozenset(("for_statement", "while_statement", "do_statement"))
_BLOCKS = _LOOPS | {"compound_statement", "if_statement", "else_clause"}
_CLASSES = frozenset(("class_specifier", "struct_specifier"))
_DECLARATIONS = frozenset(("declaration", "type_definition", "alias_declaration"))
_FILE_SCOPE = frozenset(("translation_unit", "declaration_list"))
_BRANCHES = frozenset(("conditional_expression", "lambda_expression", "comma_expression"))
#: Expressions by which each region may compute a variable again.
_LIGHT = frozenset(
    """
    binary_expression unary_expression parenthesized_expression cast_expression number_literal identifier true false
    field_expression field_identifier conditional_expression type_descriptor primitive_type sized_type_specifier
    type_identifier
    """.split()
)
#: Words that end a kernel with an error, which names the thread.
_ENDS = frozenset(("assert", "__ufm_assert", "__trap", "__assertfail", "throw"))
#: Threads of a block, at most.
_MOST = 1024
_SEPARATORS = {n: " " for n in range(128) if not (chr(n).isalnum() or chr(n) == "_")}


class _NotCertain(Exception):
    """A kernel keeps fibers."""


def try_with_loops(source: str, compile_text: Callable[[str], _T]) -> _T:
    """What ``compile_text`` gives for a cell with second bodies, or for the cell itself where that does not compile.

    Raises
    ------
    CompileError
        Of the cell itself.
    """
    looped = add_loops(source)
    if looped != source:
        with contextlib.suppress(CompileError):  # the cell's own error, or a type that has no array
            return compile_text(looped)
    return compile_text(source)


def add_loops(source: str) -> str:
    """The cell with a second body in each kernel for which that is certain; lines stay as they are."""
    if "__global__" not in source:
        return source
    cell = _Cell(source)
    edits: list[tuple[int, str]] = []
    for node in cell.kernels:
        body = node.child_by_field_name("body")
        try:
            text = _Kernel(cell, node).write()
        except _NotCertain:
            continue
        assert body is not None
        edits.append((body.start_byte + 1, text))
    raw, pieces, done = cell.text.raw, list[bytes](), 0
    for at, text in edits:
        pieces += [raw[done:at], text.encode()]
        done = at
    return b"".join([*pieces, raw[done:]]).decode()


# ------------------------------------------------------------------------------------------ the cell


class _Cell:
    """A cell's text and its functions and classes by name."""

    def __init__(self, source: str) -> None:
        self.text = cuda_text.read(source)
        self.code = self.text.code
        self.root = c.parse_tree(self.code, cplus=True)
        self.definitions: dict[str, list[c.Node]] = {}
        self.classes = set[str]()
        self.kernels: list[c.Node] = []
        for node in c.walk(self.root):
            if node.type == "function_definition":
                if any(child.type == "__global__" for child in node.children):
                    self.kernels.append(node)
                else:
                    self.definitions.setdefault(_name_function(node), []).append(node)
            elif node.type in _CLASSES and (name := node.child_by_field_name("name")) is not None:
                self.definitions.setdefault(c.take_text(name), []).append(node)
                self.classes.add(c.take_text(name))
            elif node.type in _DECLARATIONS and node.parent is not None and node.parent.type in _FILE_SCOPE:
                for one in {c.take_text(n) for n in c.walk(node) if n.type in ("identifier", "type_identifier")}:
                    self.definitions.setdefault(one, []).append(node)
        self._reached: dict[int, frozenset[str]] = {}
        self._differing: dict[str, bool] = {}

    def take(self, node: c.Node) -> str:
        return self.code[node.start_byte : node.end_byte].decode().replace("\\\n", " ").replace("\n", " ")

    def find_words(self, text: str) -> set[str]:
        """The words of a text, and of its macros."""
        words, new = set[str](), _split(text)
        while new:
            words |= new
            new = {w for name in new & self.text.macros.keys() for w in _split(self.text.macros[name])} - words
        return words

    def reach(self, node: c.Node) -> frozenset[str]:
        """The words of a definition and of all that it names."""
        if node.id not in self._reached:
            words, names = self.find_words(self.take(node)), set[str]()
            while new := (words & self.definitions.keys()) - names:
                names |= new
                words |= {w for name in new for one in self.definitions[name] for w in self.find_words(self.take(one))}
            self._reached[node.id] = frozenset(words)
        return self._reached[node.id]

    def differs(self, text: str) -> bool:
        """Whether a text names what may give each thread another value: also a class whose members do."""
        if text not in self._differing:
            words = self.find_words(text)
            words |= {w for word in words for one in self.definitions.get(word, ()) for w in self.reach(one)}
            self._differing[text] = any(
                w in _DIFFERS or w in _WAITS or w.startswith(("atomic", "clock", "curand", "__cl")) for w in words
            )
        return self._differing[text]

    def find_waiting(self, call: c.Node) -> str:
        """The function that a call waits in, or ``""``."""
        function = call.child_by_field_name("function")
        if function is not None and function.type == "template_function":
            function = function.child_by_field_name("name")
        name = c.take_text(function) if function is not None and function.type == "identifier" else ""
        if name in _WAITS:
            return name
        ones = [one for one in self.definitions.get(name, ()) if one.type == "function_definition"]
        if not any(self.reach(one) & _WAITS for one in ones):
            return ""
        if len(ones) > 1 or self.text.conditional:
            raise _NotCertain
        return name

    def is_plain(self, macro: str) -> bool:
        """Whether a macro is an expression that changes nothing."""
        text = self.text.macros[macro]
        for word in ("==", "!=") if "<<=" in text or ">>=" in text else ("==", "!=", "<=", ">="):
            text = text.replace(word, " ")
        return not (any(word in text for word in ("=", "++", "--", ";", "{")) or _split(text) & _STATEMENTS)


def _split(text: str) -> set[str]:
    return set(text.translate(_SEPARATORS).split())


def _name_function(node: c.Node) -> str:
    return c.read_declarations(node)[0][0].name.rpartition("::")[2]


def _list_parameters(function: c.Node) -> list[c.Node]:
    """The parameters' declarations."""
    marks = (mark for mark in c.read_declarations(function)[0][0].marks if mark.kind == "(" and mark.node is not None)
    listed = next((mark.node.child_by_field_name("parameters") for mark in marks if mark.node is not None), None)
    return listed.named_children if listed is not None else []


def _list_marks(node: c.Node) -> dict[str, str]:
    """The marks of the declarators in a declaration, by the names that it declares."""
    return {declared.name: "".join(m.kind for m in declared.marks) for declared, _ in c.read_declarations(node)}


def _find_root(node: c.Node | None) -> c.Node | None:
    """The variable that an expression is, or is a part of."""
    while node is not None and node.type in ("parenthesized_expression", "field_expression", "subscript_expression"):
        node = node.child_by_field_name("argument") or (node.named_children[0] if node.named_children else None)
    return node if node is not None and node.type == "identifier" else None


def _find_declared(node: c.Node) -> c.Node | None:
    """The name in a declarator."""
    return next((n for n in c.walk(node) if n.type == "identifier"), None)


# ------------------------------------------------------------------------------- what a function does


@dataclass
class _Local:
    """A variable or parameter of a function."""

    name: str
    key: int
    pointer: bool = False
    #: How many dimensions it has as an array.
    array: int = 0
    #: Its address is taken, or it is a reference or given to one, or it is written in parts, or its class may differ.
    open: bool = False
    #: Declarations (None: a parameter) with their initializers, and writes with what they depend on.
    declared: list[tuple[c.Node | None, c.Node | None]] = field(default_factory=list)
    writes: list[tuple[c.Node, list[c.Node]]] = field(default_factory=list)


class _Facts:
    """The statements at the level of a function's waits, and the variables on which all threads agree."""

    def __init__(self, cell: _Cell, function: c.Node, uniform: Mapping[str, bool] | None = None) -> None:
        self.cell = cell
        self.function = function
        body = function.child_by_field_name("body")
        if body is None or function.has_error or body.type != "compound_statement":
            raise _NotCertain
        self.body: c.Node = body
        self.nodes = list(c.walk(body))
        self.locals: list[_Local] = []
        self._scopes: dict[tuple[int, str], _Local] = {}
        #: Names that are the same at any time: parameters of its template, arrays of shared memory.
        self.templates = frozenset(_read_template(function))
        self.fixed = set(self.templates)
        self.borders: set[int] = set()
        self._find_borders()
        self.parameters = self._read_parameters()
        self._collect()
        common = uniform or {}
        scalars = [one for one in self.locals if not (one.array or one.open)]
        # Keys, of what may have one value for all threads.
        self.uniform = {one.key for one in scalars if one.declared[0][0] is not None or common.get(one.name, True)}
        self._settle()
        for node in self.nodes:
            if node.type == "return_statement" and self._is_common(node):
                self._add_border(node)
        self._settle()

    def _read_parameters(self) -> list[tuple[str, c.Node]]:
        result = []
        for node in _list_parameters(self.function):
            if node.type != "parameter_declaration":
                raise _NotCertain
            [(name, marks)] = _list_marks(node).items()
            if not name:
                continue
            local = self._local(name, 0)
            local.pointer |= "*" in marks or "[" in marks
            local.open |= "&" in marks or self._has_differing_type(node)
            local.declared.append((None, None))
            result.append((name, node))
        return result

    def _local(self, name: str, scope: int) -> _Local:
        local = self._scopes.get((scope, name))
        if local is None:
            local = self._scopes[scope, name] = _Local(name, len(self.locals))
            self.locals.append(local)
        return local

    @property
    def names(self) -> set[str]:
        return {local.name for local in self.locals}

    def find(self, node: c.Node | None) -> _Local | None:
        """The variable that an identifier names."""
        above = node
        while node is not None and above is not None and above.id != self.body.id:
            above = above.parent
            if above is not None and (local := self._scopes.get((above.id, c.take_text(node)))) is not None:
                return local
        return self._scopes.get((0, c.take_text(node))) if node is not None else None

    def is_uniform(self, local: _Local) -> bool:
        """Whether all threads agree on a variable."""
        return local.key in self.uniform

    def _add_border(self, node: c.Node | None) -> None:
        while node is not None and node.id != self.body.id:
            self.borders.add(node.id)
            node = node.parent

    def _find_borders(self) -> None:
        for node in self.nodes:
            if node.type == "call_expression" and self.cell.find_waiting(node):
                self._add_border(node)
        for node in self.nodes:
            if node.type in ("break_statement", "continue_statement"):
                above = node.parent
                while above is not None and above.type not in _LOOPS | {"switch_statement", "for_range_loop"}:
                    above = above.parent
                if above is not None and above.id in self.borders:
                    self._add_border(node)

    def is_level(self, node: c.Node) -> bool:
        """Whether a statement is one of those that the waits are among."""
        above = node.parent
        if above is None or above.id == self.body.id:
            return above is not None
        return above.type in _BLOCKS and above.id in self.borders and self.is_level(above)

    def _find_mask(self, node: c.Node) -> int:
        """The innermost ``if`` around a statement that some threads leave out and waits are in."""
        above = node.parent
        while above is not None and above.id != self.body.id:
            if above.type == "if_statement" and above.id in self.borders and not self.agrees(_find_condition(above)):
                return above.id
            above = above.parent
        return 0

    def _is_common(self, node: c.Node) -> bool:
        """Whether all threads come to a ``return`` if one does."""
        above = node.parent
        while above is not None and above.id != self.body.id:
            if above.type in _LOOPS and above.id not in self.borders:
                return False
            if above.type not in _BLOCKS or (
                above.type in _LOOPS | {"if_statement"} and not self.agrees(_find_condition(above))
            ):
                return False
            above = above.parent
        return above is not None and node.parent is not None and node.parent.id != self.body.id

    def _collect(self) -> None:
        for node in self.nodes:
            match node.type:
                case "declaration":
                    self._collect_declaration(node)
                case "assignment_expression":
                    rest = [n for n in (node.child_by_field_name("right"),) if n is not None]
                    self._write(node, node.child_by_field_name("left"), rest)
                case "update_expression":
                    self._write(node, node.child_by_field_name("argument"), [])
                case "pointer_expression" if node.children[0].type == "&":
                    self._open(node, node.child_by_field_name("argument"), direct=True)
                case "call_expression":
                    self._collect_call(node)
                case "identifier":
                    self._check_array(node)
                case "for_range_loop" | "structured_binding_declarator":
                    raise _NotCertain

    def _check_array(self, node: c.Node) -> None:
        """No pointer to an array of a thread may outlive a region."""
        local, above = self.find(node), node.parent
        if local is None or not local.array or above is None:
            return
        if above.type.endswith("_declarator") and above.type != "init_declarator":
            return
        depth = 0
        while above is not None and above.type == "subscript_expression":
            above, depth = above.parent, depth + 1
        if depth != local.array and (above is None or above.type not in ("argument_list", "sizeof_expression")):
            raise _NotCertain

    def _collect_declaration(self, node: c.Node) -> None:
        words, all_marks = {c.take_text(child) for child in node.children}, _list_marks(node)
        for declarator in node.children_by_field_name("declarator"):
            value = declarator.child_by_field_name("value")
            inner = declarator.child_by_field_name("declarator") if declarator.type == "init_declarator" else declarator
            name = _find_declared(inner) if inner is not None else None
            if inner is None or name is None:
                raise _NotCertain
            marks = all_marks.get(c.take_text(name), "")
            if words & {"__shared__", "extern", "static"}:
                self.fixed |= {c.take_text(name)} if "[" in marks else set()
                continue
            around = node.parent
            if around is not None and around.type == "condition_clause":
                around = around.parent
            local = self._local(c.take_text(name), around.id if around is not None else 0)
            local.array = marks.count("[")
            local.pointer |= "*" in marks
            if "&" in marks:
                local.open = True
                self._open(node, _find_root(value), direct=False)
            if "(" in marks or (value is not None and value.type == "argument_list") or self._has_differing_type(node):
                local.open = True
            local.declared.append((node, value))

    def _has_differing_type(self, declaration: c.Node) -> bool:
        type_ = declaration.child_by_field_name("type")
        return type_ is not None and self._is_differing_type(type_)

    def _is_differing_type(self, type_: c.Node) -> bool:
        text = self.cell.take(type_)
        # A template's type may be any class of the cell.
        names = self.cell.classes if self.templates & _split(text) else {text}
        return any(map(self.cell.differs, names))

    def _write(self, node: c.Node, target: c.Node | None, sources: list[c.Node]) -> None:
        root = _find_root(target)
        if (local := self.find(root)) is None:
            return
        whole = target is not None and target.type == "identifier"
        if whole:
            local.writes.append((node, sources))
        elif not local.pointer or (target is not None and target.type == "field_expression"):
            local.writes.append((node, sources))
            local.open |= not local.array

    def _open(self, node: c.Node, target: c.Node | None, *, direct: bool) -> None:
        root = _find_root(target)
        if (local := self.find(root)) is None:
            return
        if target is not None and target.type == "subscript_expression" and local.pointer:
            return
        if not (direct and node.parent is not None and node.parent.type == "argument_list"):
            raise _NotCertain
        local.open |= not local.array
        local.writes.append((node, []))

    def _collect_call(self, node: c.Node) -> None:
        function = node.child_by_field_name("function")
        if function is None:
            return
        if function.type == "field_expression":
            self._open_all([function.child_by_field_name("argument")], node)
            return
        name = c.take_text(function).partition("<")[0].rpartition("::")[2]
        heads = [self.cell.take(one).partition("{")[0] for one in self.cell.definitions.get(name, ())]
        listed = node.child_by_field_name("arguments")
        arguments = listed.named_children if listed is not None else []
        if name in ("swap", "exchange") or any("&" in head.partition("(")[2] for head in heads):
            self._open_all(arguments, node)
        else:
            for one in (self.find(n) for n in arguments if n.type == "identifier"):
                if one is not None and one.array:
                    one.writes.append((node, []))

    def _open_all(self, nodes: Collection[c.Node | None], node: c.Node) -> None:
        for root in map(_find_root, nodes):
            if (local := self.find(root)) is not None:
                local.open |= not local.array
                local.writes.append((node, []))

    # -- which variables all threads agree on

    def _settle(self) -> None:
        while bad := {key for key in self.uniform if not self._stays_uniform(self.locals[key])}:
            self.uniform -= bad

    def _stays_uniform(self, local: _Local) -> bool:
        masks = set[int]()
        for node, value in local.declared:
            if node is None:
                masks.add(0)
            elif not self.is_level(node) or (value is not None and not self.agrees(value)):
                return False
            else:
                masks.add(self._find_mask(node))
        for node, sources in local.writes:
            whole = node.parent
            while whole is not None and whole.type == "comma_expression":
                whole = whole.parent
            heading = whole is not None and whole.type == "for_statement" and whole.id in self.borders
            if whole is None or not (heading or whole.type == "expression_statement") or not self.is_level(whole):
                return False
            if not all(map(self.agrees, sources)):
                return False
            masks.add(self._find_mask(whole))
        return len(masks) == 1

    def agrees(self, node: c.Node | None) -> bool:
        """Whether an expression has one value for all threads of the block."""
        if node is None:
            return True
        for one in c.walk(node):
            if one.type in ("assignment_expression", "update_expression", "lambda_expression", "new_expression"):
                return False
            if one.type == "call_expression" and not self._is_pure(one):
                return False
            if one.type == "identifier":
                local, word = self.find(one), c.take_text(one)
                if not self.is_uniform(local) if local is not None else self.cell.differs(word):
                    return False
                if word in self.cell.text.macros:
                    words = self.cell.find_words(word)
                    if any(o.name in words and not self.is_uniform(o) for o in self.locals):
                        return False
            if one.type == "type_identifier" and self._is_differing_type(one):
                return False
        return True

    def _is_pure(self, call: c.Node) -> bool:
        function = call.child_by_field_name("function")
        name = c.take_text(function).partition("<")[0].rpartition("::")[2] if function is not None else ""
        known = name in self.cell.definitions or name in _PURE or name in self.cell.text.macros
        return known and not self.cell.differs(name)

    # -- for the writer

    def is_light(self, local: _Local) -> bool:
        """Whether a variable is as well computed again in each region."""
        declaration, value = local.declared[0]
        if local.writes or local.array or local.open or declaration is None or value is None or self.is_uniform(local):
            return False
        for node in c.walk(value):
            if node.type not in _LIGHT:
                return False
            if node.type == "identifier":
                inner, word = self.find(node), c.take_text(node)
                if not (self.is_steady(inner) if inner is not None else self.is_constant(word)):
                    return False
        return True

    def is_constant(self, word: str) -> bool:
        """Whether a name that is no variable of the function is the same at any time, for one thread."""
        if word in _GEOMETRY or word in self.fixed or word in ("threadIdx", "x", "y", "z") or word[0].isdigit():
            return True
        if word in self.cell.text.macros:
            return all(map(self.is_constant, _split(self.cell.text.macros[word]) - {word}))
        if any(local.name == word for local in self.locals):
            return all(self.is_steady(local) for local in self.locals if local.name == word)
        ones = self.cell.definitions.get(word, ())
        return bool(ones) and all(
            one.type == "declaration" and _split(self.cell.take(one)) & {"const", "constexpr", "__constant__"}
            for one in ones
        )

    def is_steady(self, local: _Local) -> bool:
        known = local.declared[0][0] is None or self.is_uniform(local)
        return not local.writes and (known or self.is_light(local))


_EXPRESSIONS = ("assignment_expression", "update_expression")


def _find_condition(node: c.Node) -> c.Node | None:
    return node.child_by_field_name("condition")


# --------------------------------------------------------------------------------------- the second body


@dataclass(eq=False)
class _Variable:
    """A variable of a thread.  ``slot`` is its array over the threads, ``again`` its declaration where it is light."""

    order: int
    slot: str = ""
    type: str = ""
    again: str = ""
    array: bool = False
    #: The region that declares it; -1: others fill it.
    home: int = -1
    crosses: bool = False
    #: Types of other arrays depend on it, as "thread 0 sees it" outside of the loops.
    view: str = ""
    filled: bool = True  # its declaration gives it a value
    viewed: bool = False
    fixed: bool = False  # of a type without an array: it cannot live across a wait


@dataclass(eq=False)
class _Region:
    """Statements that a thread does without waiting."""

    index: int
    guard: str
    in_loop: bool
    pieces: list[str] = field(default_factory=list)
    uses: dict[str, _Variable] = field(default_factory=dict)
    declares: dict[str, _Variable] = field(default_factory=dict)
    written: set[str] = field(default_factory=set)
    otherwise: str = ""  # for threads that leave it out
    returns: tuple[str, ...] | None = None  # the masks that a return clears
    words: set[str] = field(default_factory=set)


@dataclass(eq=False)
class _Inside:
    """A device function that is written into a kernel: its template, the variables of its parameters, how it begins."""

    facts: _Facts
    templates: dict[str, bool]
    scope: dict[str, _Variable] = field(default_factory=dict)
    heads: list[str] = field(default_factory=list)
    aliases: dict[str, str] = field(default_factory=dict)
    constants: dict[str, str] = field(default_factory=dict)


_RETURN = "\0return\0"
_ANY = "\0any\0"


class _Kernel:
    """Writes the second body of one kernel."""

    def __init__(self, cell: _Cell, node: c.Node) -> None:
        self.cell, self.node = cell, node
        reached = cell.reach(node)
        macros = reached & cell.text.macros.keys()
        if reached & _APART or not all(map(cell.is_plain, macros)):
            raise _NotCertain
        self._check_directives(node)
        self.functions = [one for name in reached & cell.definitions.keys() for one in cell.definitions[name]]
        self.facts = _Facts(cell, node)
        self.hidden = self._find_hidden()
        if any(_waits_by_atomics(cell, one) for one in [node, *self.functions]):
            raise _NotCertain
        self.out: list[str | _Region | _Variable] = []
        self.region: _Region | None = None
        self.count = 0
        self.scope: dict[str, _Variable] = {}
        self.masks: list[str] = []
        self.depth = 0
        self.stack: list[str] = []
        self.checks: dict[str, None] = {}
        self.constants: dict[str, str] = {}
        self.result: _Variable | None = None

    def _find_hidden(self) -> frozenset[str]:
        """Words that the kernel may reach without a name: of classes by a type parameter, of all by a pointer."""
        cell, kinds = self.cell, set[str]()
        for one in [self.node, *self.functions]:
            if any(_read_template(one).values()) or "auto" in _split(cell.take(one)):
                kinds |= _CLASSES
            listed = _list_parameters(one) if one.type == "function_definition" else []
            if any("(" in marks for p in listed for marks in _list_marks(p).values()):
                kinds |= {*_CLASSES, "function_definition"}
        definitions = [one for ones in cell.definitions.values() for one in ones if one.type in kinds]
        words = frozenset(word for one in definitions for word in cell.reach(one))
        if words & (_APART | _WAITS):
            raise _NotCertain
        return words

    def _check_directives(self, node: c.Node) -> None:
        lines = self.cell.text.raw[node.start_byte : node.end_byte].split(b"\n")
        if any(line.lstrip().startswith(b"#") and b"pragma" not in line for line in lines):
            raise _NotCertain

    def write(self) -> str:
        for name, _ in self.facts.parameters:
            if not all(self.facts.is_uniform(local) for local in self.facts.locals if local.name == name):
                self._take_parameter(name)
        self._put_all(self.facts.body.named_children)
        self._flush()
        return self._finish()

    def _take_parameter(self, name: str) -> None:
        """A parameter that each thread changes in its own way."""
        number = self._number()
        self.out.append(f"auto &__ufm_p{number} = {name};")
        variable = self._add_variable(name, f"__ufm_plain<decltype(__ufm_by_value({name}))>")
        region = self._open()
        variable.home = region.index
        region.declares[name] = variable
        self._add(f"auto {name} = __ufm_p{number};")

    # -- pieces of the output

    def _number(self) -> int:
        self.count += 1
        return self.count

    def _open(self) -> _Region:
        if self.region is None:
            self.region = _Region(self._number(), self.masks[-1] if self.masks else "", self.depth > 0)
            self.out.append(self.region)
        return self.region

    def _early(self, piece: str | _Variable) -> None:
        """Before the region that is open."""
        self.out.insert(len(self.out) - (self.region is not None), piece)

    def _flush(self) -> None:
        if self.region is not None and self.region.returns is not None:
            self.out.append(_ANY)
        self.region = None

    def _plain(self, text: str) -> None:
        """Write a text that runs once for all threads."""
        self._flush()
        self.out.append(text)

    def _add_variable(self, name: str, type_: str, *, array: bool = False) -> _Variable:
        number = self._number()
        variable = _Variable(
            number, f"__ufm_s{number}", f"typedef {type_} __ufm_t{number};" if type_ else "", array=array
        )
        self.scope[name] = variable
        self._early(variable)
        variable.view = name
        return variable

    def _add(self, text: str, node: c.Node | None = None) -> None:
        """A statement of each thread."""
        region = self._open()
        region.pieces.append(text)
        self._use(text, region)
        if node is not None:
            spans = range(node.start_byte, node.end_byte)
            for local in self.facts.locals:
                if any(at.start_byte in spans for at, _ in local.writes):
                    region.written.add(local.name)

    def _use(self, text: str, region: _Region | None) -> None:
        """Note which variables a text reads; without a region, for its type alone."""
        waiting = self.cell.find_words(text)
        if region is not None:
            region.words |= waiting
        done = set[str]()
        while waiting:
            word = waiting.pop()
            done.add(word)
            variable = self.scope.get(word)
            if variable is None:
                continue
            variable.viewed |= region is None
            if region is None or variable.home != region.index:
                variable.crosses = True
                if variable.fixed:
                    raise _NotCertain
            if region is not None:
                region.uses.setdefault(word, variable)
            if variable.again:
                waiting |= self.cell.find_words(variable.again) - done

    # -- statements

    def _put_all(self, nodes: Collection[c.Node]) -> None:
        for node in nodes:
            self._put(node)

    def _put_block(self, node: c.Node) -> None:
        """A statement with a scope of its own."""
        outer = dict(self.scope)
        self._put_all(node.named_children) if node.type == "compound_statement" else self._put(node)
        self._flush()
        self.scope = outer

    def _put(self, node: c.Node) -> None:
        facts = self.facts
        if node.type == "declaration":
            self._declare(node)
        elif node.id in facts.borders:
            self._put_border(node)
        elif node.type in ("static_assert_declaration", "alias_declaration", "type_definition", "using_declaration"):
            self._early(self._text(node))
        elif node.type == "return_statement" and self.stack:
            self._return(node)
        elif node.type == "expression_statement" and self._is_for_all(node):
            self._plain(self._text(node))
        else:
            self._add(self._text(node, self._find_returns(node)), node)

    def _is_for_all(self, node: c.Node) -> bool:
        """Whether a statement changes variables that all threads agree on."""
        written = {
            local.key
            for local in self.facts.locals
            for at, _ in local.writes
            if node.start_byte <= at.start_byte < node.end_byte
        }
        if written & self.facts.uniform and not written <= self.facts.uniform:
            raise _NotCertain
        if not written & self.facts.uniform:
            return False
        parts, waiting = list[c.Node](), list(node.named_children)
        while waiting:
            part = waiting.pop()
            waiting += part.named_children if part.type == "comma_expression" else []
            parts += [part] if part.type != "comma_expression" else []
        targets = [p.child_by_field_name("left" if p.type == "assignment_expression" else "argument") for p in parts]
        if not all(
            t is not None and t.type == "identifier" and p.type in _EXPRESSIONS
            for t, p in zip(targets, parts, strict=True)
        ):
            raise _NotCertain
        return True

    def _find_returns(self, node: c.Node) -> dict[int, tuple[int, str]]:
        returns = [n for n in c.walk(node) if n.type == "return_statement" and not _is_in_lambda(n, node)]
        if returns and self.stack:
            raise _NotCertain
        if returns:
            self._open().returns = tuple(self.masks)
            if self.depth:
                self._open().in_loop = True
        return {n.start_byte: (n.end_byte, _RETURN) for n in returns}

    def _text(self, node: c.Node, edits: Mapping[int, tuple[int, str]] | None = None) -> str:
        code, done, text = self.cell.code, node.start_byte, ""
        edits = {**self._place_assertions(node), **(edits or {})}
        for start in sorted(edits):
            if done <= start < node.end_byte:
                text += code[done:start].decode() + edits[start][1]
                done = edits[start][0]
        return (text + code[done : node.end_byte].decode()).replace("\\\n", " ").replace("\n", " ")

    def _place_assertions(self, node: c.Node) -> dict[int, tuple[int, str]]:
        """Have assertions name the lines that they are on in the cell."""
        edits: dict[int, tuple[int, str]] = {}
        for call in (n for n in c.walk(node) if n.type == "call_expression") if b"assert" in (node.text or b"") else ():
            function, listed = call.child_by_field_name("function"), call.child_by_field_name("arguments")
            if function is not None and listed is not None and function.text == b"assert":
                if b"#line" in self.cell.text.raw:
                    raise _NotCertain
                edits[function.start_byte] = (listed.start_byte + 1, f"__ufm_assert({call.start_point[0] + 1}, ")
        return edits

    def _put_border(self, node: c.Node) -> None:
        match node.type:
            case "compound_statement":
                self._plain("{")
                self._put_block(node)
                self._plain("}")
            case "break_statement" | "continue_statement":
                if self.masks:
                    raise _NotCertain
                self._plain(self._text(node))
            case "return_statement" if self.stack:
                self._return(node)
            case "return_statement":
                if self.masks:
                    raise _NotCertain
                self._plain("return;")
            case "expression_statement":
                self._put_expression(node)
            case "if_statement":
                self._put_if(node)
            case "for_statement" | "while_statement" | "do_statement":
                self._put_loop(node)
            case _:
                raise _NotCertain

    def _put_expression(self, node: c.Node) -> None:
        inner = node.named_children[0]
        name = self.cell.find_waiting(inner) if inner.type == "call_expression" else ""
        if name in _BARRIERS:
            if name == "__syncthreads" and self.masks:
                raise _NotCertain
            self._flush()
            return
        edits = self._hoist(node)
        if inner.type == "call_expression" and edits.get(inner.start_byte, (0, ""))[0] == inner.end_byte:
            return
        if self._is_for_all(node):
            raise _NotCertain
        self._add(self._text(node, edits), node)

    def _put_loop(self, node: c.Node) -> None:
        facts, body = self.facts, node.child_by_field_name("body")
        assert body is not None
        heads = [node.child_by_field_name(name) for name in ("initializer", "condition", "update")]
        for head in heads:
            for one in c.walk(head) if head is not None else ():
                if one.type == "call_expression" and not facts.agrees(one):
                    raise _NotCertain
                local = facts.find(one) if one.type == "identifier" else None
                if local is not None and not facts.is_uniform(local):
                    raise _NotCertain
        if not facts.agrees(heads[1]):
            raise _NotCertain
        outer = dict(self.scope)
        self.depth += 1
        is_do = node.type == "do_statement"
        self._plain(
            "do {" if is_do else self.cell.code[node.start_byte : body.start_byte].decode().replace("\n", " ") + "{"
        )
        self._put_block(body)
        self._plain(f"}} while {self._text(heads[1])};" if is_do and heads[1] is not None else "}")
        self.depth -= 1
        self.scope = outer

    def _put_if(self, node: c.Node) -> None:
        condition, then = _find_condition(node), node.child_by_field_name("consequence")
        other = node.child_by_field_name("alternative")
        assert condition is not None
        assert then is not None
        if not any(n.id in self.facts.borders for n in (then, other) if n is not None):
            self._add(self._text(node, {**self._hoist(condition), **self._find_returns(node)}), node)
            return
        branches = [then, *(other.named_children if other is not None else ())]
        if self.facts.agrees(condition):
            self._plain(f"{self.cell.code[node.start_byte : then.start_byte].decode()} {{".replace("\n", " "))
            for k, branch in enumerate(branches):
                self._plain("} else {" * (k > 0))
                self._put_block(branch)
            self._plain("}")
            return
        if self.cell.find_words(self._text(node)) & {"__syncthreads"} or self.cell.reach(node) & {"__syncthreads"}:
            raise _NotCertain
        self._check_whole_warps(condition)
        names = [f"__ufm_m{self._number()}" for _ in branches]
        self._flush()
        for k, name in enumerate(names):
            self._early(f"bool {name}[{_MOST}];")
            self._add(f"{name}[__ufm_t] = {'!' * k}({self._text(condition)});")
            self._open().otherwise += f"{name}[__ufm_t] = false;"
        for name, branch in zip(names, branches, strict=True):
            self._plain(f"if (__ufm_some({name}, __ufm_n)) {{")
            self.masks.append(name)
            self._put_block(branch)
            self._plain("}")
            self.masks.pop()

    def _check_whole_warps(self, condition: c.Node) -> None:
        """Have the block run so only if all lanes of each warp agree on a condition, which is known at its start."""
        for node in c.walk(condition):
            known = node.type != "identifier" or self.facts.find(node) or self.facts.is_constant(c.take_text(node))
            if node.type not in _LIGHT | {"condition_clause"} or not known:
                raise _NotCertain
        lines: list[str] = []
        self._add_steady(condition, lines, set())
        test = self._text(condition)
        self.checks[
            f"[&] {{ bool __ufm_first = false; __UFM_THREADS() {{ __UFM_THREAD; {''.join(lines)} "
            f"const bool __ufm_c = {test}; if (__ufm_t % 32 == 0) __ufm_first = __ufm_c; "
            "else if (__ufm_first != __ufm_c) return false; } return true; }()"
        ] = None

    def _add_steady(self, node: c.Node, lines: list[str], done: set[str]) -> None:
        """The declarations that an expression needs at the start of the kernel."""
        nodes = [n for n in c.walk(node) if n.type == "identifier"]
        hidden = {
            w for n in nodes if c.take_text(n) in self.cell.text.macros for w in self.cell.find_words(c.take_text(n))
        }
        needed = [self.facts.find(n) for n in nodes] + [o for o in self.facts.locals if o.name in hidden]
        for local in needed:
            if local is None or local.name in done:
                continue
            done.add(local.name)
            declaration, value = local.declared[0]
            if local.writes or [o.name for o in self.facts.locals].count(local.name) > 1:
                raise _NotCertain
            if declaration is None and not self.stack:
                continue
            if value is None or declaration is None or not (self.facts.is_light(local) or self.facts.is_steady(local)):
                raise _NotCertain
            if any(n.type not in _LIGHT for n in c.walk(value)):
                raise _NotCertain
            self._add_steady(value, lines, done)
            specifiers, declarators = self._take_apart(declaration)
            lines += [
                f"[[maybe_unused]] {specifiers}{self._text(n)};" for n in declarators if _take_name(n) == local.name
            ]

    # -- declarations

    def _take_apart(self, node: c.Node) -> tuple[str, list[c.Node]]:
        """Split a declaration into its specifiers and its declarators."""
        declarators = node.children_by_field_name("declarator")
        if not declarators:
            raise _NotCertain
        return self.cell.code[node.start_byte : declarators[0].start_byte].decode().replace("\n", " "), declarators

    def _declare(self, node: c.Node) -> None:
        facts = self.facts
        words = {c.take_text(child) for child in node.children}
        if words & {"__shared__", "extern", "static"}:
            if "static" in words and not words & {"__shared__", "const", "constexpr"}:
                raise _NotCertain
            self._early(self._text(node))
            return
        specifiers, declarators = self._take_apart(node)
        edits = self._hoist(node) if node.id in facts.borders else {}
        for declarator in declarators:
            name = _take_name(declarator)
            local = facts.find(_find_declared(declarator.child_by_field_name("declarator") or declarator))
            assert local is not None
            text = f"{specifiers}{self._text(declarator, edits)};"
            value = declarator.child_by_field_name("value")
            if facts.is_uniform(local):
                calm = value is None or all(n.type in _LIGHT for n in c.walk(value))
                self._early(text) if calm else self._plain(text)
                self.scope.pop(name, None)
                continue
            inner = declarator.child_by_field_name("declarator") if declarator.type == "init_declarator" else declarator
            assert inner is not None
            region = self._open()
            if facts.is_light(local):
                variable = _Variable(self._number(), again=f"[[maybe_unused]] {text}", home=region.index, view=text)
                self.scope[name] = variable
                self._early(variable)
            else:
                variable = self._add_variable(name, "", array=bool(local.array))
                variable.home = region.index
                variable.filled = value is not None
                spelled = [w for w in specifiers.split() if w not in ("constexpr", "register")]
                named = _rename(self.cell, inner, f"__ufm_t{variable.slot[7:]}")
                variable.type = f"typedef {' '.join(spelled)} {named};"
                marks = _list_marks(node).get(name, "")
                variable.fixed = "auto" in spelled or "&" in marks or "(" in marks
            region.declares[name] = variable
            self._add(text, declarator)

    # -- calls that wait

    def _hoist(self, node: c.Node) -> dict[int, tuple[int, str]]:
        """Have the calls in a statement that wait done before it; what to write in their places."""
        edits: dict[int, tuple[int, str]] = {}
        for call in _list_calls(node):
            if not (name := self.cell.find_waiting(call)):
                continue
            above = call.parent
            while above is not None and above.id != node.id:
                logical = above.type == "binary_expression" and any(ch.type in ("&&", "||") for ch in above.children)
                if above.type in _BRANCHES or logical:
                    raise _NotCertain
                above = above.parent
            listed = call.child_by_field_name("arguments")
            arguments = listed.named_children if listed is not None else []
            if name in _BARRIERS:
                raise _NotCertain
            if name in _SHUFFLES or name in _VOTES:
                text = self._exchange(call, name, arguments, edits)
            else:
                text = self._write_in(call, name, arguments, edits)
            edits = {at: edit for at, edit in edits.items() if not call.start_byte <= at < call.end_byte}
            edits[call.start_byte] = (call.end_byte, text)
        return edits

    def _exchange(self, call: c.Node, name: str, arguments: list[c.Node], edits: dict[int, tuple[int, str]]) -> str:
        if len(arguments) < 2:
            raise _NotCertain
        self.checks[f"(unsigned)({self._find_constant(arguments[0])}) == ~0u"] = None
        number, vote = self._number(), name in _VOTES
        value = self._text(arguments[1], edits)
        type_ = "int" if vote else f"decltype({self._text(call)})"
        if not vote:
            self._use(self._text(call), None)
        self._early(f"typedef {type_} __ufm_t{number}; __ufm_given<__ufm_t{number}> __ufm_x{number};")
        give = f"__ufm_x{number}.give(__ufm_t, {'2 | (0 != (' * vote}{value}{'))' * vote});"
        self._add(give)
        self._open().otherwise += f"__ufm_x{number}.give(__ufm_t, __ufm_t{number}());"
        self._plain(f"__ufm_x{number}.end(__ufm_n);")
        if vote:
            self._plain(f"__ufm_x{number}.vote(__ufm_n);")
            text = f"__ufm_x{number}.{_VOTES[name]}(__ufm_t)"
        else:
            rest = ", ".join(self._text(n, edits) for n in arguments[2:])
            text = f"__ufm_x{number}.{_SHUFFLES[name]}(__ufm_t, {rest})"
        result = f"__ufm_v{number}"
        kind = "auto" if vote else f"__ufm_t{number}"
        region = self._open()
        variable = self._add_variable(result, "unsigned" if vote else f"__ufm_t{number}")
        variable.home = region.index
        region.declares[result] = variable
        self._add(f"const {kind} {result} = {text};")
        return result

    def _find_constant(self, node: c.Node) -> str:
        """The text of a mask without variables of the kernel."""
        text = self._text(node)
        for local in filter(None, (self.facts.find(n) for n in c.walk(node) if n.type == "identifier")):
            if node.type != "identifier" or local.writes:
                raise _NotCertain
            declaration, value = local.declared[0]
            if declaration is None and local.name in self.constants:
                return self.constants[local.name]
            if value is None:
                raise _NotCertain
            return self._find_constant(value)
        return text

    def _write_in(self, call: c.Node, name: str, arguments: list[c.Node], edits: dict[int, tuple[int, str]]) -> str:
        """The body of a device function that waits, in place of its call."""
        function = next(one for one in self.cell.definitions[name] if one.type == "function_definition")
        if name in self.stack or len(self.stack) > 6:
            raise _NotCertain
        self._check_directives(function)
        names = [_take_name(n) for n in c.walk(function) if n.type == "parameter_declaration"]
        agreed = {p: self.facts.agrees(arg) for p, arg in zip(names, arguments, strict=False)}
        facts = _Facts(self.cell, function, agreed)
        if len(facts.parameters) != len(arguments):
            raise _NotCertain
        free = {c.take_text(n) for n in c.walk(function) if n.type in _NAMES}
        free = {w for n in free for w in self.cell.find_words(n)} - facts.names
        if free & (self.facts.names | self.scope.keys()):
            raise _NotCertain
        inside = _Inside(facts, _read_template(function))
        for (parameter, node), argument in zip(facts.parameters, arguments, strict=True):
            self._give(inside, parameter, node, argument, edits)
        number = self._number()
        result = _Variable(number, f"__ufm_s{number}", f"typedef decltype({self._text(call)}) __ufm_t{number};")
        result.crosses, result.view = True, f"__ufm_v{number}"
        nothing = c.take_text(function.child_by_field_name("type") or function) == "void"
        if not nothing:
            self._use(self._text(call), None)
            self._early(result)
        self._name_template(inside, _read_template_arguments(call))
        self._plain("{")
        self.out += inside.heads
        outer = self.facts, self.scope, self.constants, self.result
        self.facts, self.scope, self.constants, self.result = facts, inside.scope, inside.constants, result
        self.stack.append(name)
        self._put_all(facts.body.named_children)
        self._flush()
        self.stack.pop()
        self.facts, self.scope, self.constants, self.result = outer
        self._plain("}")
        if nothing:
            return ""
        self.scope[result.view] = result
        return result.view

    def _give(
        self, inside: _Inside, parameter: str, node: c.Node, argument: c.Node, edits: dict[int, tuple[int, str]]
    ) -> None:
        """An argument of a device function that is written into the kernel."""
        text, facts = self._text(argument, edits), inside.facts
        declarator, type_ = node.child_by_field_name("declarator"), node.child_by_field_name("type")
        assert declarator is not None
        assert type_ is not None
        with contextlib.suppress(_NotCertain):
            inside.constants[parameter] = self._find_constant(argument)
        marks = _list_marks(node)[parameter]
        if "&" in marks:
            known = self.scope.get(text)
            if known is None or known.again or known.fixed:
                raise _NotCertain
            known.crosses = True
            inside.scope[parameter] = known
            return
        number = self._number()
        name = f"__ufm_k{number}"
        if _split(self._text(node)) & inside.templates.keys():
            self._use(self._text(argument), None)
            self._early(f"typedef __ufm_plain<decltype(__ufm_by_value({self._text(argument)}))> {name};")
            if (word := c.take_text(type_)) in inside.templates and marks in ("", "*"):
                inside.aliases.setdefault(word, f"__ufm_plain<decltype(*({name})0)>" if marks else name)
        else:
            self._early(f"typedef {_rename(self.cell, declarator, name, node)};")
        if all(facts.is_uniform(local) for local in facts.locals if local.name == parameter):
            self._plain(f"__ufm_plain<{name}> __ufm_p{number} = {text};")
            inside.heads.append(f"[[maybe_unused]] __ufm_plain<{name}> {parameter} = __ufm_p{number};")
            return
        slot = f"__ufm_s{number}"
        inside.scope[parameter] = _Variable(number, slot, crosses=True)
        self._early(f"__ufm_plain<{name}> {slot}[{_MOST}];")
        self._add(f"{slot}[__ufm_t] = {text};")
        inside.heads.append(f"[[maybe_unused]] auto &{parameter} = {slot}[0];")

    def _name_template(self, inside: _Inside, explicit: list[str]) -> None:
        """The parameters of a function's template."""
        for k, (parameter, is_type) in enumerate(inside.templates.items()):
            if k < len(explicit):
                name = inside.aliases[parameter] = f"__ufm_k{self._number()}"
                self._early(f"typedef {explicit[k]} {name};" if is_type else f"constexpr auto {name} = {explicit[k]};")
            if parameter not in inside.aliases:
                raise _NotCertain
            alias = inside.aliases[parameter]
            inside.heads.insert(
                0, f"using {parameter} = {alias};" if is_type else f"constexpr auto {parameter} = {alias};"
            )

    def _return(self, node: c.Node) -> None:
        """The end of a device function's body."""
        if node.parent is None or node.parent.id != self.facts.body.id or node.next_named_sibling is not None:
            raise _NotCertain
        if node.named_children and self.result is not None:
            edits = self._hoist(node)
            self._add(f"{self.result.slot}[__ufm_t] = {self._text(node.named_children[0], edits)};", node)

    # -- the text

    def _finish(self) -> str:
        regions = [piece for piece in self.out if isinstance(piece, _Region)]
        ends = [r for r in regions if r.returns is not None]
        first = -1 if any(r.in_loop for r in ends) else min((r.index for r in ends), default=1 << 30)
        alive = any(r.index > first for r in regions)
        texts: list[str] = []
        for piece in self.out:
            if isinstance(piece, _Region):
                texts.append(self._write_region(piece, guarded=alive and piece.index > first, alive=alive))
            elif isinstance(piece, _Variable):
                texts.append(_write_variable(piece))
            elif piece == _ANY:
                texts += ["if (!__ufm_some(__ufm_alive, __ufm_n)) return;"] * alive
            else:
                texts.append(piece)
        checks = "".join(f" && {check}" for check in self.checks)
        if alive:
            texts.insert(0, f"bool __ufm_alive[{_MOST}]; __builtin_memset(__ufm_alive, 1, sizeof __ufm_alive);")
        return f" if (__UFM_BLOCK_OFFERED{checks}) {{ __UFM_BLOCK_BEGIN; {' '.join(texts)} return; __UFM_BLOCK_END }} "

    def _write_region(self, region: _Region, *, guarded: bool, alive: bool) -> str:
        before: list[str] = []
        after: list[str] = []
        for name, variable in sorted(region.uses.items(), key=lambda item: item[1].order):
            if variable.home == region.index:
                continue
            if variable.again:
                before.append(variable.again)
            elif variable.array:
                before.append(f"auto &{name} = {variable.slot}[__ufm_t];")
            else:
                before.append(f"[[maybe_unused]] auto {name} = {variable.slot}[__ufm_t];")
                after += [f"{variable.slot}[__ufm_t] = {name};"] if name in region.written else []
        for name, variable in region.declares.items():
            if variable.slot and variable.crosses and (variable.filled or name in region.written):
                copy = f"__builtin_memcpy(&{variable.slot}[__ufm_t], &{name}, sizeof {name});"
                after.append(copy if variable.array else f"{variable.slot}[__ufm_t] = {name};")
        body, label = " ".join(region.pieces), ""
        if region.returns is not None:
            cleared = "".join(f"{mask}[__ufm_t] = " for mask in (*region.returns, *["__ufm_alive"] * alive))
            clear = f"{cleared}false; " if cleared else ""
            body = body.replace(_RETURN, f"{{ {region.otherwise} {clear}goto __ufm_end{region.index}; }}")
            label = f"__ufm_end{region.index}:;"
        named = region.words & self.cell.definitions.keys()
        reached = {
            w for name in named for one in self.cell.definitions[name] for w in self.cell.reach(one)
        } | self.hidden
        if (region.words | reached) & _WAITS:
            raise _NotCertain
        if "threadIdx" in reached or (region.words | reached) & _ENDS:
            before.insert(0, "::threadIdx = threadIdx;")
        free = any(word.startswith("atomic") for word in region.words | reached)
        guard = region.guard or ("__ufm_alive" if guarded else "")
        skip = f"if (!{guard}[__ufm_t]) {{ {region.otherwise} continue; }}" if guard else ""
        head = "__UFM_THREADS()" if free else "__UFM_THREADS(__UFM_IVDEP)"
        return f"{head} {{ __UFM_THREAD; {skip} {{ {' '.join([*before, body, *after])} }} {label} }}"


def _write_variable(variable: _Variable) -> str:
    if variable.again:
        return variable.again if variable.viewed else ""
    if not variable.crosses:
        return ""
    number = variable.slot[7:]
    view = f" [[maybe_unused]] auto &{variable.view} = {variable.slot}[0];" if variable.view else ""
    return f"{variable.type} __ufm_plain<__ufm_t{number}> {variable.slot}[{_MOST}];{view}"


def _waits_by_atomics(cell: _Cell, function: c.Node) -> bool:
    """Whether a loop that does not count has an atomic: it may wait for another thread."""
    loops = (n for n in c.walk(function) if n.type in _LOOPS)
    doubtful = (n for n in loops if n.type != "for_statement" or n.child_by_field_name("update") is None)
    return any(word.startswith("atomic") for n in doubtful for word in cell.reach(n))


def _is_in_lambda(node: c.Node, until: c.Node) -> bool:
    above = node.parent
    while above is not None and above.id != until.id:
        if above.type == "lambda_expression":
            return True
        above = above.parent
    return False


def _take_name(node: c.Node) -> str:
    name = _find_declared(node.child_by_field_name("declarator") or node)
    return c.take_text(name) if name is not None else ""


def _rename(cell: _Cell, declarator: c.Node, name: str, whole: c.Node | None = None) -> str:
    """A declarator, or the whole declaration around it, with another name."""
    old, around = _find_declared(declarator), whole or declarator
    if old is None:
        raise _NotCertain
    code = cell.code
    return (
        code[around.start_byte : old.start_byte].decode() + name + code[old.end_byte : around.end_byte].decode()
    ).replace("\n", " ")


def _list_calls(node: c.Node) -> Iterator[c.Node]:
    """The calls below a node, inner ones first."""
    for child in node.named_children:
        yield from _list_calls(child)
    if node.type == "call_expression":
        yield node


def _read_template(function: c.Node) -> dict[str, bool]:
    """The parameters of a function's template, and whether each is a type."""
    above = function.parent
    if above is None or above.type != "template_declaration":
        return {}
    return {p.name: p.is_type for p in c.read_template_parameters(above)}


def _read_template_arguments(call: c.Node) -> list[str]:
    function = call.child_by_field_name("function")
    if function is None or function.type != "template_function":
        return []
    listed = function.child_by_field_name("arguments")
    return [c.take_text(n) for n in listed.named_children] if listed is not None else []
