"""Changes the package's source as it is imported: one planted fault, or marks that record which blocks tests run.

Files on the disk stay as they are. A process takes the change from `NPEXPLORE_PLANTED` or `NPEXPLORE_RECORDED`, and so
do the processes that it starts, by the `sitecustomize.py` of `environment`.
"""

import ast
import builtins
import gc
import json
import mmap
import os
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, FunctionType

SWAPS = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.Add: ast.Sub, ast.Sub: ast.Add,
    ast.Mult: ast.Add, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip
BLOCK_FIELDS = ("body", "orelse", "finalbody")


def sites(tree):
    """Return the nodes of functions' bodies that can be changed."""
    bodies = [part for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) for part in node.body]
    nodes = dict.fromkeys(node for body in bodies for node in ast.walk(body))
    return [node for node in nodes if _operator(node) or _is_number(node) or isinstance(node, ast.If | ast.IfExp)]


def _operator(node):
    op = node.ops[0] if isinstance(node, ast.Compare) else getattr(node, "op", None)
    return op if type(op) in SWAPS else None


def _is_number(node):
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float)


def plant(node):
    """Change one node in its tree, and return what was changed."""
    old = ast.unparse(node).partition("\n")[0]
    if operator := _operator(node):
        new = SWAPS[type(operator)]()
        if isinstance(node, ast.Compare):
            node.ops[0] = new
        else:
            node.op = new
    elif _is_number(node):
        node.value = not node.value if isinstance(node.value, bool) else node.value + 1
    else:
        node.test = ast.copy_location(ast.UnaryOp(ast.Not(), node.test), node.test)
    return f"line {node.lineno}: {old} -> " + ast.unparse(node).partition("\n")[0]


def blocks(tree):
    """Return the lists of statements within functions, and the number of the innermost such list of each node."""
    lists, block_of = [], {}

    def visit(node, block):
        block_of[node] = block
        inside = block is not None or isinstance(node, ast.FunctionDef)
        for field, value in ast.iter_fields(node):
            if isinstance(value, list):
                inner = block
                is_block = isinstance(node, ast.stmt | ast.ExceptHandler | ast.match_case) and field in BLOCK_FIELDS
                if inside and is_block and value and not isinstance(node, ast.ClassDef):
                    inner = len(lists)
                    lists.append(value)
                for child in value:
                    if isinstance(child, ast.AST):
                        visit(child, inner)
            elif isinstance(value, ast.AST):
                visit(value, block)

    visit(tree, None)
    return lists, block_of


def _marked(tree, first):
    for number, statements in enumerate(blocks(tree)[0]):
        mark = ast.parse(f"__blocks_run__[{first + number}] = 1").body[0]
        for node in ast.walk(mark):
            if hasattr(node, "lineno"):
                ast.copy_location(node, statements[0])
        after = isinstance(statements[0], ast.Expr) and isinstance(statements[0].value, ast.Constant)
        statements.insert(int(after), mark)
    return tree


def install():
    """Change what is imported from now on, as the environment says."""
    if "NPEXPLORE_PLANTED" in os.environ:
        path, _, number = os.environ["NPEXPLORE_PLANTED"].rpartition(":")

        def changed(name, tree):
            if name == path:
                plant(sites(tree)[int(number)])
            return tree

        def concerned(name):
            return name == path
    elif "NPEXPLORE_RECORDED" in os.environ:
        record = Path(os.environ["NPEXPLORE_RECORDED"])
        first_blocks = json.loads(Path(f"{record}.first").read_text())
        with record.open("r+b") as file:
            builtins.__blocks_run__ = mmap.mmap(file.fileno(), 0)

        def changed(name, tree):
            return _marked(tree, first_blocks[name])

        def concerned(name):
            return name in first_blocks
    else:
        return
    plain, root = SourceFileLoader.get_code, os.environ["NPEXPLORE_CHANGED_ROOT"] + os.sep

    def get_code(self, fullname):
        path = self.get_filename(fullname)
        name = path.removeprefix(root)
        if not path.startswith(root) or not concerned(name):
            return plain(self, fullname)
        return compile(changed(name, ast.parse(self.get_data(path), path)), path, "exec", dont_inherit=True)

    SourceFileLoader.get_code = get_code


def swap(root, fault):
    """Give the functions of a module that is imported already the code that they have with a fault."""
    name, _, number = fault.rpartition(":")
    path = str(root / name)
    tree = ast.parse(Path(path).read_text(), path)
    plant(sites(tree)[int(number)])
    codes, todo = {}, [compile(tree, path, "exec", dont_inherit=True)]
    while todo:
        inner = [const for const in todo.pop().co_consts if isinstance(const, CodeType)]
        codes |= {(code.co_qualname, code.co_firstlineno): code for code in inner}
        todo += inner
    for function in [one for one in gc.get_objects() if isinstance(one, FunctionType)]:
        code = function.__code__
        if code.co_filename == path and (code.co_qualname, code.co_firstlineno) in codes:
            function.__code__ = codes[code.co_qualname, code.co_firstlineno]


def environment(root, folder, **change):
    """Return the variables with which processes change the source under a root; a folder for their start-up file."""
    (folder / "sitecustomize.py").write_text(
        f"import sys\nsys.path.insert(0, {str(Path(__file__).parents[1])!r})\n"
        "from reference.source_changes import install\ninstall()\nsys.path.pop(0)\n"
    )
    paths = f"{folder}:{root}:{root / 'tests'}"
    return {"PYTHONPATH": paths, "NPEXPLORE_CHANGED_ROOT": str(root), "PYTHONDONTWRITEBYTECODE": "1", **change}
