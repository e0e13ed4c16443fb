"""Rewrite `from X import y` of a module's body such that y is bound later, if that is safe."""

import ast

MYPY = False  # true for type checkers only
if MYPY:
    from typing import Any

_SEE_ALL = {"globals", "vars", "locals", "eval", "exec", "dir", "_getframe", "__getattr__"}
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def deferrable(tree: ast.Module, is_lazy: "Any", guarded: bool) -> "list[Any]":
    """Return the statements whose names the module's body neither uses nor binds again."""
    bound: dict[str, int] = {}
    at_import: set[str] = set()
    in_functions: set[str] = set()
    in_lambdas: set[str] = set()

    def visit(node: ast.AST, inside: bool, is_lambda: bool) -> None:
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Load):
                (in_lambdas if is_lambda else in_functions if inside else at_import).add(node.id)
            elif not inside:
                bound[node.id] = bound.get(node.id, 0) + 1
        elif isinstance(node, (ast.Import, ast.ImportFrom)) and not inside:
            for each in node.names:
                alias = each.asname or each.name.partition(".")[0]
                bound[alias] = bound.get(alias, 0) + 1
        elif isinstance(node, ast.Global):
            for name in node.names:
                bound[name] = bound.get(name, 0) + 2
        elif isinstance(node, ast.ExceptHandler) and node.name and not inside:
            bound[node.name] = bound.get(node.name, 0) + 1
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            if not inside:
                bound[node.name] = bound.get(node.name, 0) + 1
        if isinstance(node, _FUNCTIONS):
            body = node.body if isinstance(node.body, list) else [node.body]
            for field, value in ast.iter_fields(node):
                if field != "body":
                    for each in value if isinstance(value, list) else [value]:
                        if isinstance(each, ast.AST):
                            # Annotations and defaults are evaluated outside, or later by tools.
                            visit(each, inside, is_lambda)
            for each in body:
                visit(each, True, is_lambda or isinstance(node, ast.Lambda))
            return
        for each in ast.iter_child_nodes(node):
            visit(each, inside, is_lambda)

    words = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    words |= {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    words |= {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    if words & _SEE_ALL:
        return []
    visit(tree, False, False)
    used = at_import | in_lambdas | (set() if guarded else in_functions)
    found = []
    for statement in tree.body:
        if not isinstance(statement, ast.ImportFrom) or statement.module == "__future__":
            continue
        aliases = [each.asname or each.name for each in statement.names]
        if "*" in aliases or not is_lazy(statement):
            continue
        if all(bound.get(alias) == 1 and alias not in used for alias in aliases):
            found.append(statement)
    return found


def rewrite(text: bytes, path: str, is_lazy: "Any", guarded: bool) -> "Any":
    """Return the code of a source with deferred names; None if it has none."""
    tree = ast.parse(text, path)
    statements = deferrable(tree, is_lazy, guarded)
    if not statements:
        return None
    names = set()
    for statement in statements:
        pairs = tuple((each.name, each.asname or each.name) for each in statement.names)
        names |= {alias for _, alias in pairs}
        call = f"__import__('trimtab_deferred').defer({statement.module or ''!r}, {pairs!r}, {statement.level})"
        tree.body[tree.body.index(statement)] = _at(ast.parse(call).body[0], statement)
    if guarded:
        for node in ast.walk(tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                _guard(node, names)
    return compile(tree, path, "exec", dont_inherit=True)


def _guard(function: "Any", names: "set[str]") -> None:
    found = set()
    todo = list(function.body)
    while todo:
        node = todo.pop()
        if isinstance(node, _FUNCTIONS):
            continue
        if isinstance(node, ast.Name) and node.id in names:
            found.add(node.id)
        todo += ast.iter_child_nodes(node)
    if found:
        lines = "\n ".join(sorted(found))
        text = f"try:\n {lines}\nexcept NameError: __import__('trimtab_deferred').bind()"
        first = 1 if ast.get_docstring(function, clean=False) is not None else 0
        place = function.body[min(first, len(function.body) - 1)]
        function.body.insert(first, _at(ast.parse(text).body[0], place))


def _at(node: "Any", place: "Any") -> "Any":
    for each in ast.walk(node):
        if hasattr(each, "lineno"):
            each.lineno, each.col_offset = place.lineno, place.col_offset
            each.end_lineno, each.end_col_offset = place.lineno, place.end_col_offset
    return node
