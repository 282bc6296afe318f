"""The places of a Python project where a known privacy setting is used, with its numbers."""

import ast
import re
from collections.abc import Iterator
from dataclasses import replace

from hideseek.federate.claims.mods import Ways, lists_of_mods, reachable
from hideseek.federate.claims.names import Names, Project
from hideseek.federate.claims.records import Given, NotKnown
from hideseek.federate.claims.signatures import FUNCTIONS, METHODS, MODS, SIGNATURES
from hideseek.federate.claims.values import Values

OWN = "{name} is a mod of the project's own, and what it does is not read"
PASSED_ON = "it is passed on in a way that is not followed, so that it is not known whether a client uses it"
UNREAD = "a ClientApp gets arguments that are made when the project runs, and this may be among them"
SUSPECT = re.compile(r"priva|noise|clip|(^|_)l?dp(_|$)|DP|Dp[A-Z]|secagg", re.IGNORECASE)
"""Names of mods that promise something."""


def uses(project: Project, values: Values) -> Iterator[Given]:
    """Give every use of a known setting, file by file."""
    lists = lists_of_mods(project)
    ways = Ways(project, reachable(project, lists))
    for file in project.files:
        notes = _annotations(file.module.tree)
        for node in ast.walk(file.module.tree):
            if isinstance(node, ast.Attribute) and node.attr in METHODS:
                parent = file.parents.get(node)
                if isinstance(parent, ast.Call) and parent.func is node:
                    yield _call(node.attr, parent, file, values)
            elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load) and node not in notes:
                name = _known(node, file, project)
                if name is not None:
                    yield _use(name, node, file, values, ways)
                elif (why := _own_mod(node, file, lists, project)) is not None:
                    yield Given(why, f"{file.module.place}:{node.lineno}", {"": NotKnown(OWN.format(name=why))})


def _known(node: ast.Name | ast.Attribute, file: Names, project: Project) -> str | None:
    """Give the setting that a name refers to."""
    dotted = file.dotted(node)
    short = node.id if isinstance(node, ast.Name) else node.attr
    if dotted is None and short in SIGNATURES and isinstance(node, ast.Name):  # imported with a star, perhaps
        dotted = next((f"{star}.{short}" for star in file.stars), f"{file.module.name}.{short}")
    if dotted is None:
        return None
    origin = project.origin(dotted)
    name = origin.rpartition(".")[2]
    return name if name in SIGNATURES else None


def _use(name: str, node: ast.expr, file: Names, values: Values, ways: Ways) -> Given:
    """Describe one use: a call, or a mod that is named."""
    place = f"{file.module.place}:{node.lineno}"
    parent = file.parents.get(node)
    dotted = file.dotted(node)
    starred = bool(file.stars) and dotted is None
    origin = "" if starred else values.project.origin(dotted or f"{file.module.name}.{name}")
    package, _ = SIGNATURES[name]
    if origin and origin.partition(".")[0] != package:
        return Given(name, place, {"": NotKnown(f"{origin} is not {package}'s own, and what it does is not read")})
    if name in FUNCTIONS and (node in ways.in_mods or (why := _unclear(node, file, ways)) is None):
        return Given(name, place, unused="" if node in ways.in_mods else "it is in no list of mods")
    if name in FUNCTIONS:
        return Given(name, place, {"": NotKnown(why)})
    if isinstance(parent, ast.ClassDef) and name == "DPFedAvgNumPyClient":
        return Given(name, place)
    if isinstance(parent, ast.Call) and parent.func is node:
        if name in MODS and parent in ways.in_mods:
            return _call(name, parent, file, values)
        if name in MODS:
            given = _call(name, parent, file, values, "it is made but is in no list of mods")
            why = _unclear(parent, file, ways)
            return given if why is None else replace(given, values={**given.values, "": NotKnown(why)})
        return _call(name, parent, file, values, "" if _is_used(parent, file) else "it is made but never used")
    return Given(name, place, {"": NotKnown(f"{name} is not called here but extended or passed on")})


def _unclear(mod: ast.expr, file: Names, ways: Ways) -> str | None:
    """Say why it is not known whether a client uses a mod that is in no list of mods; None where none does."""
    if ways.unread:
        return UNREAD
    return PASSED_ON if ways.lead_elsewhere(mod, file) else None


def _call(name: str, node: ast.Call, file: Names, values: Values, unused: str = "") -> Given:
    """Read the arguments of a call."""
    order = SIGNATURES[name][1] if name in SIGNATURES else ()
    given: dict[str, ast.expr] = {}
    found: dict[str, float | NotKnown] = {}
    for position, argument in enumerate(node.args):
        if isinstance(argument, ast.Starred):
            found[""] = NotKnown("its arguments are a list that is made when the project runs")
            break
        if position < len(order):
            given[order[position]] = argument
    for keyword in node.keywords:
        if keyword.arg is None:
            found[""] = NotKnown("its arguments are a dictionary that is made when the project runs")
        else:
            given[keyword.arg] = keyword.value
    for argument_name, argument in given.items():
        if isinstance(argument, ast.Constant) and (argument.value is None or isinstance(argument.value, bool)):
            found.update({argument_name: float(argument.value)} if argument.value is not None else {})
            continue
        try:
            found[argument_name] = values.number(argument, file)
        except NotKnown as why:
            found[argument_name] = why
    return Given(name, f"{file.module.place}:{node.lineno}", found, unused, frozenset(given))


def _is_used(call: ast.Call, file: Names) -> bool:
    """Tell whether what a call makes is used: a name that is assigned and never read is not."""
    parent = file.parents.get(call)
    if not isinstance(parent, ast.Assign) or not all(isinstance(target, ast.Name) for target in parent.targets):
        return not isinstance(parent, ast.Expr)
    names = {target.id for target in parent.targets if isinstance(target, ast.Name)}
    reads = (node for node in ast.walk(file.module.tree) if isinstance(node, ast.Name) and node.id in names)
    return any(isinstance(node.ctx, ast.Load) for node in reads) or isinstance(file.parents.get(parent), ast.Module)


def _own_mod(node: ast.expr, file: Names, lists: set[ast.AST], project: Project) -> str | None:
    """Give the name of something in a list of mods that promises privacy by its name, and leads to no known setting."""
    name = node.id if isinstance(node, ast.Name) else getattr(node, "attr", "")
    if node not in lists or not SUSPECT.search(name):
        return None
    inside = reachable(project, {node})
    known = (
        _known(each, other, project)
        for other in project.files
        for each in ast.walk(other.module.tree)
        if each in inside and isinstance(each, ast.Name | ast.Attribute)
    )
    return None if any(known) else name


def _annotations(tree: ast.Module) -> set[ast.AST]:
    """Give all nodes of types, which use nothing."""
    roots = [getattr(node, field, None) for node in ast.walk(tree) for field in ("annotation", "returns")]
    return {inner for root in roots if isinstance(root, ast.AST) for inner in ast.walk(root)}
