"""The lists of mods that clients of a Flower project are given, and all that they lead to."""

import ast
from collections.abc import Iterable, Iterator, Sequence

from hideseek.federate.claims.names import Names, Project

MODS_ARGUMENT = 1  # its place among the arguments of ClientApp: client_fn, mods
ADDING = ("append", "insert", "extend")


def lists_of_mods(project: Project) -> set[ast.AST]:
    """Give all nodes of `mods=[…]`, wherever it stands, and of the second argument of a ClientApp."""
    every = (node for file in project.files for node in ast.walk(file.module.tree))
    named = [node.value for node in every if isinstance(node, ast.keyword) and node.arg == "mods"]
    placed = [call.args[MODS_ARGUMENT] for call in _clients(project) if len(call.args) > MODS_ARGUMENT]
    return {inner for root in (*named, *placed) for inner in ast.walk(root)}


def has_unread_mods(project: Project) -> bool:
    """Tell whether a ClientApp is given arguments that are made when the project runs: `**settings`, `*settings`."""
    return any(
        any(isinstance(each, ast.Starred) for each in call.args) or any(each.arg is None for each in call.keywords)
        for call in _clients(project)
    )


def _clients(project: Project) -> Iterator[ast.Call]:
    """Give all calls of ClientApp, also under another name."""
    for file in project.files:
        for node in ast.walk(file.module.tree):
            if isinstance(node, ast.Call):
                plain = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                dotted = project.origin(file.dotted(node.func) or plain)
                if dotted.rpartition(".")[2] == "ClientApp":
                    yield node


def reachable(project: Project, roots: Iterable[ast.AST]) -> set[ast.AST]:
    """Give all nodes that some lead to, through names of variables and functions anywhere in the project."""
    known: dict[str, list[ast.AST]] = {}
    waiting = [*roots]
    for file in project.files:
        for node in ast.walk(file.module.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                known.setdefault(node.name, []).append(node)
            for name, value in _assigned(node):
                known.setdefault(name, []).append(value)
    seen: set[ast.AST] = set()
    while waiting:
        for node in ast.walk(waiting.pop()):
            if node in seen:
                continue
            seen.add(node)
            reference = _name(node)
            waiting += known.pop(reference, []) if reference is not None else []
    return seen


def _assigned(node: ast.AST) -> Sequence[tuple[str, ast.AST]]:
    """Give the names that a statement gives a value to, also by `mods.append(…)`, `mods += …` and `mods[0] = …`."""
    if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign) and node.value is not None:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return [(name, node.value) for each in targets if (name := _name(_whole(each)))]
    if isinstance(node, ast.Call) and (name := _added_to(node)):
        return [(name, argument) for argument in node.args]
    return []


class Ways:
    """Where mods of a project go: into lists of mods (all nodes that they lead to), or elsewhere."""

    def __init__(self, project: Project, in_mods: set[ast.AST]) -> None:
        self.in_mods = in_mods
        self.unread = has_unread_mods(project)
        self.read: dict[str, list[tuple[ast.AST, Names]]] = {}
        """Where each name is read."""
        for file in project.files:
            for node in ast.walk(file.module.tree):
                if (name := _name(node)) is not None and isinstance(getattr(node, "ctx", None), ast.Load):
                    self.read.setdefault(name, []).append((node, file))

    def lead_elsewhere(self, mod: ast.AST, file: Names) -> bool:
        """Tell whether a mod goes where it is not followed: into another call, an object, or a statement like `for`.

        Names that it is given, lists that it is added to and functions that return it are followed; where all of them
        end, no client has it.
        """
        waiting, seen = [(mod, file)], set[str]()
        while waiting:
            names = _led_to(*waiting.pop())
            if names is None:
                return True
            for name in names - seen:
                seen.add(name)
                waiting += self.read.get(name, [])
        return False


def _led_to(node: ast.AST, file: Names) -> set[str] | None:
    """Give the names by which others get hold of a node; None where it goes elsewhere."""
    inner, around = node, file.parents.get(node)
    while around is not None and not isinstance(around, ast.stmt):
        if isinstance(around, ast.Call) and inner is not around.func:
            return {name} if (name := _added_to(around)) else None
        if isinstance(around, ast.Yield | ast.YieldFrom):
            return _function(around, file)
        inner, around = around, file.parents.get(around)
    if isinstance(around, ast.Assign | ast.AnnAssign | ast.AugAssign):
        targets = around.targets if isinstance(around, ast.Assign) else [around.target]
        names = {each.id for each in map(_whole, targets) if isinstance(each, ast.Name)}
        return names if len(names) == len({ast.dump(each) for each in map(_whole, targets)}) else None
    if isinstance(around, ast.Return):
        return _function(around, file)
    return set() if isinstance(around, ast.Expr) else None


def _function(node: ast.AST, file: Names) -> set[str] | None:
    """Give the name of the function that a node is in; None for one that a decorator passes on."""
    scope = next(file.scopes(node), None)
    plain = isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef) and not scope.decorator_list
    return {scope.name} if plain and isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef) else None


def _added_to(call: ast.Call) -> str | None:
    """Give the name of the list that a call adds to."""
    adds = isinstance(call.func, ast.Attribute) and call.func.attr in ADDING
    return _name(call.func.value) if adds and isinstance(call.func, ast.Attribute) else None


def _whole(target: ast.expr) -> ast.expr:
    """Give the list of which something is a place: `mods` of `mods[0]`."""
    return target.value if isinstance(target, ast.Subscript) else target


def _name(node: ast.AST) -> str | None:
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else None
