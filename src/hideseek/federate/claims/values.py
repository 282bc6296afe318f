"""The numbers of a project, told from its syntax: literals, constants, the run's configuration, plain arithmetic."""

import ast
import math
import operator
from collections.abc import Callable, Mapping

from hideseek.federate.claims.names import Names, Project, bindings
from hideseek.federate.claims.records import NotKnown

DEEPEST = 60  # expressions in expressions
OPERATORS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Pow: math.pow,
}
FUNCTIONS: dict[str, Callable[[float], float]] = {
    "math.sqrt": math.sqrt,
    "math.log": math.log,
    "math.exp": math.exp,
    "numpy.sqrt": math.sqrt,
    "numpy.log": math.log,
}
RUNNING = "is computed when the project runs"


class Values:
    """Numbers of a project; every number is a float, so that no arithmetic takes long."""

    def __init__(self, project: Project, config: Mapping[str, object]) -> None:
        self.project = project
        self.config = config

    def number(self, node: ast.expr, names: Names, depth: int = 0) -> float:
        """Give the number that an expression is, or say why it is not known."""
        try:
            return self._number(node, names, depth)
        except (ArithmeticError, ValueError) as error:
            raise error if isinstance(error, NotKnown) else NotKnown("is no number that can be computed") from None

    def _number(self, node: ast.expr, names: Names, depth: int) -> float:
        if depth > DEEPEST:
            raise NotKnown("is computed in too many steps")
        if isinstance(node, ast.Constant):
            return _plain(node.value)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
            inner = self.number(node.operand, names, depth + 1)
            return -inner if isinstance(node.op, ast.USub) else inner
        if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
            left = self.number(node.left, names, depth + 1)
            return OPERATORS[type(node.op)](left, self.number(node.right, names, depth + 1))
        if isinstance(node, ast.Subscript) and self._is_config(node.value, names, depth):
            return self._setting(node.slice)
        if isinstance(node, ast.Call):
            return self._called(node, names, depth)
        if isinstance(node, ast.Name) or (isinstance(node, ast.Attribute) and names.dotted(node) is not None):
            return self.number(*self._bound(node, names), depth + 1)
        raise NotKnown(RUNNING)

    def _called(self, node: ast.Call, names: Names, depth: int) -> float:
        """Give float(…), int(…), a square root or logarithm, or a setting with a default."""
        called = node.func
        if isinstance(called, ast.Name) and called.id in ("float", "int") and len(node.args) == 1:
            inner = node.args[0]
            text = inner.value if isinstance(inner, ast.Constant) else self._text(inner, names, depth)
            value = float(text) if isinstance(text, str) else self.number(inner, names, depth + 1)
            return float(math.trunc(value)) if called.id == "int" else value
        if (asked := self._asked(node, names, depth)) is not None:
            key, default = asked
            if default is None or not isinstance(key, ast.Constant) or key.value in self.config:
                return self._setting(key)
            return self.number(default, names, depth + 1)
        function = FUNCTIONS.get(names.dotted(called) or "")
        if function is not None and len(node.args) == 1 and not node.keywords:
            return function(self.number(node.args[0], names, depth + 1))
        raise NotKnown(RUNNING)

    def _bound(self, node: ast.expr, names: Names) -> tuple[ast.expr, Names]:
        """Give the one expression that a name stands for, and the file that it is in."""
        if isinstance(node, ast.Name):
            for scope in names.scopes(node):
                found = bindings(scope).get(node.id)
                if found is None:
                    continue
                if len(found) > 1:
                    raise NotKnown(f"is {node.id}, which is assigned {len(found)} times")
                if found[0] is None:
                    raise NotKnown(f"is {node.id}, an argument or variable whose value is not in the source")
                return found[0], names
        dotted = self.project.origin(names.dotted(node) or "")
        module, _, name = dotted.rpartition(".")
        file = self.project.by_name.get(module)
        values = bindings(file.module.tree).get(name, []) if file is not None else []
        if file is None or len(values) != 1 or values[0] is None:
            raise NotKnown(f"is {ast.unparse(node)}, which is not found in the source")
        return values[0], file

    def _is_config(self, node: ast.expr, names: Names, depth: int) -> bool:
        """Tell whether an expression is the run's configuration (`context.run_config`)."""
        if isinstance(node, ast.Attribute):
            return node.attr == "run_config"
        if not isinstance(node, ast.Name) or depth > DEEPEST:
            return False
        try:
            value, file = self._bound(node, names)
        except NotKnown:
            return False
        return self._is_config(value, file, depth + 1)

    def _text(self, node: ast.expr, names: Names, depth: int) -> object:
        """Give a setting that may be a text, as in float(run_config["epsilon"]) or with .get."""
        asked = self._asked(node, names, depth)
        if asked is None:
            return None
        key, default = asked
        if not isinstance(key, ast.Constant) or key.value in self.config or default is None:
            return self.config.get(str(getattr(key, "value", None)))
        return default.value if isinstance(default, ast.Constant) else None

    def _asked(self, node: ast.expr, names: Names, depth: int) -> tuple[ast.expr, ast.expr | None] | None:
        """Give the key of run_config[key] and of run_config.get(key, default), with the default; None for all else."""
        if isinstance(node, ast.Subscript) and self._is_config(node.value, names, depth):
            return node.slice, None
        if not isinstance(node, ast.Call) or node.keywords or not 1 <= len(node.args) <= 2:
            return None
        called = node.func
        if not isinstance(called, ast.Attribute) or called.attr != "get":
            return None
        if not self._is_config(called.value, names, depth):
            return None
        return node.args[0], node.args[1] if len(node.args) == 2 else None

    def _setting(self, key: ast.expr) -> float:
        """Give a number of the run's configuration."""
        if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
            raise NotKnown("is a setting of the run whose name is not in the source")
        if key.value not in self.config:
            raise NotKnown(f"is run_config[{key.value!r}], which pyproject.toml does not have")
        return _plain(self.config[key.value])


def _plain(value: object) -> float:
    """Give a number; a text, or a truth, is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise NotKnown("is no number")
    return float(value)
