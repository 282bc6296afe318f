"""Where names of a Python project come from: imports are followed through its own files, in the syntax alone."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from hideseek.federate.claims.sources import Module

DEEPEST = 20  # re-exports that are followed
Scope = ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef
SCOPES = (ast.Module, ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


@dataclass(frozen=True, eq=False)
class Names:
    """The names of one file: what imports bind, and what stands around each node."""

    module: Module

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        """The node around each node."""
        return {child: node for node in ast.walk(self.module.tree) for child in ast.iter_child_nodes(node)}

    @cached_property
    def imports(self) -> dict[str, str]:
        """What each imported name stands for, by its dotted name."""
        bound: dict[str, str] = {}
        for node in ast.walk(self.module.tree):
            if isinstance(node, ast.Import):
                for each in node.names:
                    head = each.name if each.asname else each.name.partition(".")[0]
                    bound[each.asname or head] = head
            elif isinstance(node, ast.ImportFrom):
                source = self._source(node)
                bound.update({each.asname or each.name: f"{source}.{each.name}" for each in node.names})
        return bound

    @cached_property
    def stars(self) -> list[str]:
        """The modules of which all names are imported."""
        found = [node for node in ast.walk(self.module.tree) if isinstance(node, ast.ImportFrom)]
        return [self._source(node) for node in found if any(each.name == "*" for each in node.names)]

    def _source(self, node: ast.ImportFrom) -> str:
        """Give the dotted name of the module that something is imported from."""
        if not node.level:
            return node.module or ""
        package = self.module.name.split(".")
        if not self.module.place.endswith("__init__.py"):
            package = package[:-1]
        else:
            package = package[:-1] if package[-1] == "__init__" else package
        package = package[: len(package) - (node.level - 1)]
        return ".".join([*package, *([node.module] if node.module else [])])

    def dotted(self, node: ast.AST) -> str | None:
        """Give the dotted name of `a.b.c`, where a is imported; None for all else."""
        tail: list[str] = []
        while isinstance(node, ast.Attribute):
            tail.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or node.id not in self.imports:
            return None
        return ".".join([self.imports[node.id], *reversed(tail)])

    def scopes(self, node: ast.AST) -> Iterator[Scope]:
        """Give the scopes around a node, from inside; classes hide nothing from their methods, as in Python."""
        inside: ast.AST | None = self.parents.get(node)
        first = True
        while inside is not None:
            if isinstance(inside, SCOPES):
                if first or not isinstance(inside, ast.ClassDef):
                    yield inside
                first = False
            inside = self.parents.get(inside)


class Project:
    """All Python files of a project, by their dotted names."""

    def __init__(self, modules: Sequence[Module]) -> None:
        self.files = [Names(module) for module in modules]
        self.by_name = {each.module.name.removesuffix(".__init__"): each for each in self.files}

    def origin(self, dotted: str) -> str:
        """Follow a name through files of the project that only import it."""
        for _ in range(DEEPEST):
            head, _, name = dotted.rpartition(".")
            file = self.by_name.get(head)
            if file is None or name not in file.imports:
                return dotted
            dotted = file.imports[name]
        return dotted


def bindings(scope: Scope) -> dict[str, list[ast.expr | None]]:
    """Give what each name of a scope is assigned; None where that is no plain assignment."""
    bound: dict[str, list[ast.expr | None]] = {}
    if isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        given = scope.args
        extra = [each for each in (given.vararg, given.kwarg) if each is not None]
        for argument in (*given.posonlyargs, *given.args, *given.kwonlyargs, *extra):
            bound.setdefault(argument.arg, []).append(None)
    body: list[ast.AST] = [scope.body] if isinstance(scope, ast.Lambda) else [*scope.body]
    while body:
        node = body.pop()
        plain: list[ast.Name] = []
        if isinstance(node, ast.Assign):
            plain = [each for each in node.targets if isinstance(each, ast.Name)]
            value: ast.expr | None = node.value
        elif isinstance(node, ast.AnnAssign | ast.NamedExpr) and isinstance(node.target, ast.Name):
            plain, value = [node.target], node.value
        for each in plain:
            bound.setdefault(each.id, []).append(value)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
            bound.setdefault(node.id, []).append(None)
        if not isinstance(node, SCOPES):
            body += [child for child in ast.iter_child_nodes(node) if child not in plain]
    return bound
