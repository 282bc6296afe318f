"""The lists of mods that clients of a Flower project are given, and all that they lead to."""

import ast
from collections.abc import Iterable, Sequence

from hideseek.federate.claims.names import Project


def lists_of_mods(project: Project) -> set[ast.AST]:
    """Give all nodes of `mods=[…]`, wherever it stands."""
    every = (node for file in project.files for node in ast.walk(file.module.tree))
    return {
        inner
        for node in every
        if isinstance(node, ast.keyword) and node.arg == "mods"
        for inner in ast.walk(node.value)
    }


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
            reference = getattr(node, "id", getattr(node, "attr", None))
            waiting += known.pop(reference, []) if isinstance(reference, str) else []
    return seen


def _assigned(node: ast.AST) -> Sequence[tuple[str, ast.AST]]:
    """Give the names that a statement gives a value to, also by `mods.append(…)` and `mods += …`."""
    if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign) and node.value is not None:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return [(name, node.value) for each in targets if (name := getattr(each, "id", getattr(each, "attr", None)))]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("append", "insert"):
        name = getattr(node.func.value, "id", getattr(node.func.value, "attr", None))
        return [(name, argument) for argument in node.args if name]
    return []
