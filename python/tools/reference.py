#!/usr/bin/env python3
"""Writes the reference of the Python module: `reference.py FOLDER` makes FOLDER/*.html, one page a module, with the module on
PYTHONPATH. Signatures are those of the stubs (stubs.py). Fails on a public class or function without a docstring.
"""
import enum
import html
import importlib
import inspect
import pkgutil
import re
import sys
from pathlib import Path

import stubs

STYLE = """
body { font: 15px/1.45 sans-serif; margin: 0 auto; max-width: 60em; padding: 1em 2em; color: #222; background: #fff; }
a { color: #2450a0; text-decoration: none; } a:hover { text-decoration: underline; }
pre { background: #f4f5f7; padding: .5em .8em; overflow-x: auto; white-space: pre-wrap; margin: .3em 0; }
code, pre { font: 13px/1.4 monospace; }
h2 { border-bottom: 1px solid #ccc; margin-top: 2em; } section { margin: 1em 0; } section section { margin-left: 1.5em; }
p { margin: .3em 0; } nav { line-height: 1.8; }
"""
ESCAPE = html.escape


def without_signatures(name, text):
    """A docstring of pybind11 without its signatures, which are lines of their own."""
    lines = []
    for line in inspect.cleandoc(text or "").splitlines():
        signature = stubs.SIGNATURE.match(line.strip())
        if not (signature and signature[1] == name) and line.strip() != "Overloaded function.":
            lines.append(line)
    paragraphs = re.split(r"\n\s*\n", "\n".join(lines).strip())
    return "\n\n".join(dict.fromkeys(p for p in paragraphs if p.strip()))


def words(name, value):
    """The docstring of a value without signatures; for a property, that of its getter."""
    value = value.__func__ if isinstance(value, (staticmethod, classmethod)) else value
    text = without_signatures(name, value.__doc__)
    return re.sub(r"\A\(.*\) -> .*\n*", "", text) if isinstance(value, property) else text


def member_words(cls, name):
    """The docstring of a member: that of the first class, in the method resolution order, that has one."""
    found = (words(name, vars(base)[name]) for base in cls.__mro__ if name in vars(base))
    return next((text for text in found if text), "")


def python_signature(name, function):
    """The signature of a function that is written in Python, whose annotations are texts."""
    return f"def {name}" + re.sub(r"(: |-> )'([^']*)'", r"\1\2", str(inspect.signature(function)))


def of_stub(lines):
    """Lines of a stub in the form in which a page shows them."""
    if lines and lines[0].strip() == "@property":
        lines = [re.sub(r"def (\w+)\(self\) -> (.*): \.\.\.", r"\1: \2", lines[1])]
    lines = [re.sub(r": \.\.\.$", "", line.strip()).replace("builtins.", "") for line in lines]
    return [line for line in lines if line not in ("@overload", "@property")]


def function_signature(name, value):
    if inspect.isfunction(value):
        return [python_signature(name, value)]
    return of_stub(stubs.function_lines(name, value) if stubs.is_ours(value) else stubs.bound_lines(name, value))


def member_signature(cls, name, value):
    inner = value.__func__ if isinstance(value, (staticmethod, classmethod)) else value
    if inspect.isfunction(inner):
        above = [] if inner is value else [f"@{type(value).__name__}"]
        return above + [python_signature(name, inner)]
    getter = value.fget if isinstance(value, property) else None
    if inspect.isfunction(getter):
        return [f"{name}: {inspect.signature(getter).return_annotation}"]
    if isinstance(value, classmethod):
        return ["@classmethod", f"def {name}(...)"]
    if type(value).__name__ == "getset_descriptor":
        said = re.search(rf"^    (?:def {name}\(self\) -> (.*): \.\.\.|{name}: (.*))$", stubs.TENSOR, flags=re.M)
        return of_stub([f"{name}: {said[1] or said[2]}" if said else name])
    return of_stub(stubs.member_lines(name, value, cls.__name__))


def constructors(cls):
    """The signatures of the constructor, without self; an empty list if they are not known."""
    if issubclass(cls, enum.Enum):
        return []
    if cls.__name__ == "Tensor" and not inspect.isfunction(vars(cls).get("__init__")):
        lines = [re.search(r"def __init__\(.*?\) -> None", stubs.TENSOR, flags=re.S)[0]]
    elif hasattr(cls, "_function"):  # the module of a function takes all parameters but the first
        lines = [re.sub(r"\(\w+: [^,)]*(, )?", "(self, ", line, count=1) for line in function_signature("__init__", cls._function)]
    else:
        made = vars(cls).get("__init__") or vars(cls).get("__new__")
        made = inspect.unwrap(made.__func__ if isinstance(made, staticmethod) else made)  # modules wrap constructors
        if inspect.isfunction(made):
            lines = [python_signature("__init__", made)]
        elif type(made).__name__ == "instancemethod":
            lines = of_stub(stubs.bound_lines("__init__", made, "    ", cls.__name__))
        else:
            return []
    out = [re.sub(r"\s+", " ", re.sub(r"^def __init__\((?:self|cls)(?:, )?|\)?( -> \w+)?$", "", line)) for line in lines]
    return [] if out == ["*args: Any, **kwargs: Any"] else [f"{cls.__name__}({arguments})" for arguments in out]


def prose(text):
    """A docstring as HTML: paragraphs, `code`, examples."""
    out = []
    for paragraph in re.split(r"\n\s*\n", text):
        lines = paragraph.splitlines()
        starts = [k for k, line in enumerate(lines) if line.startswith((">>>", "    "))]
        cut = starts[0] if starts else len(lines)
        if cut:
            out.append("<p>" + re.sub(r"`([^`]+)`", r"<code>\1</code>", ESCAPE("\n".join(lines[:cut]), False)) + "</p>")
        if lines[cut:]:
            out.append("<pre>" + ESCAPE(inspect.cleandoc("\n" + "\n".join(lines[cut:]))) + "</pre>")
    return "\n".join(out)


def entry(tag, identity, signatures, text):
    lines = ESCAPE("\n".join(dict.fromkeys(signatures)), False)
    head = f"<pre><b>{lines}</b></pre>" if tag == "b" else f"<{tag}>{lines}</{tag}>"
    return f'<section id="{identity}">\n{head}\n' + prose(text)


def public(module):
    """The pairs (name, value) of the public classes, functions and values of a module that belong to Strata."""
    names = getattr(module, "__all__", None) or [n for n in vars(module) if not n.startswith("_")]
    for name in sorted(names):
        value = getattr(module, name)
        home = getattr(value, "__module__", None) or type(value).__module__
        if not inspect.ismodule(value) and (home.split(".")[0] == "strata" or type(value).__name__ == "builtin_function_or_method"):
            yield name, value


def members(cls):
    """The pairs (name, value) of the public members that a class adds to its bases."""
    return [(n, v) for n, v in sorted(vars(cls).items()) if not n.startswith("_")]


def is_documented_kind(value):
    """True for functions, methods and properties; False for plain values and static properties."""
    if type(value).__name__ == "pybind11_static_property":
        return False
    return callable(value) or isinstance(value, (property, staticmethod, classmethod)) or "descriptor" in type(value).__name__


def class_html(where, name, cls, missing):
    bases = [b.__name__ for b in cls.__bases__ if not b.__name__.startswith(("_", "object", "pybind11"))]
    head = f"class {cls.__name__}" + (f"({', '.join(bases)})" if bases else "")
    out = [entry("h2", name, [head], inspect.cleandoc(cls.__doc__ or ""))]
    if not (cls.__doc__ or "").strip():
        missing.append(f"{where}.{name}")
    made = constructors(cls)
    out += ["<pre>" + ESCAPE("\n".join(made), False) + "</pre>"] if made else []
    values = []
    for inner, member in members(cls):
        if not is_documented_kind(member) or isinstance(member, type):
            values.append(inner)
            continue
        text = member_words(cls, inner)
        if not text:
            missing.append(f"{where}.{name}.{inner}")
        out.append(entry("b", f"{name}.{inner}", member_signature(cls, inner, member), text) + "\n</section>")
    out += ["<p>Values: " + ", ".join(f"<code>{v}</code>" for v in values) + "</p>"] if values else []
    return "\n".join(out + ["</section>"])


def page(title, body):
    head = f'<meta charset="utf-8"><title>{title}</title><style>{STYLE}</style>'
    links = '<p><a href="../index.html">C++</a> | <a href="index.html">Python</a></p>'
    return f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head>\n<body>\n{links}\n<h1>{title}</h1>\n{body}\n</body></html>\n'


def module_html(name, module, missing):
    classes, functions, values = [], [], []
    for key, value in public(module):
        kind = classes if isinstance(value, type) else functions if callable(value) and hasattr(value, "__doc__") else values
        kind.append((key, value))
    out = [prose(inspect.cleandoc(module.__doc__ or ""))]
    links = [f'<a href="#{key}">{key}</a>' for key, _ in classes + functions]
    out += ["<nav>" + ", ".join(links) + "</nav>"] if links else []
    for key, cls in classes:
        other = key != cls.__name__ and getattr(module, cls.__name__, None) is cls
        alias = entry("h2", key, [f"{key} = {cls.__name__}"], "") + "</section>"
        out.append(alias if other else class_html(name, key, cls, missing))
    out += ["<h2>Functions</h2>"] if functions else []
    for key, value in functions:
        text = words(getattr(value, "__name__", key), value)
        if not text:
            missing.append(f"{name}.{key}")
        out.append(entry("b", key, function_signature(key, value), text) + "\n</section>")
    if values:
        out.append("<h2>Values</h2><p>" + ", ".join(f"<code>{key}</code>" for key, _ in values) + "</p>")
    return page(name, "\n".join(out)), len(classes), len(functions)


def modules():
    """strata and all public modules in it, as a dictionary by name."""
    import strata

    found = {"strata": strata}
    for info in pkgutil.walk_packages(strata.__path__, "strata."):
        is_python = info.module_finder.find_spec(info.name).origin.endswith(".py")
        if not is_python or any(part.startswith("_") for part in info.name.split(".")):
            continue
        try:
            found[info.name] = importlib.import_module(info.name)
        except ModuleNotFoundError as error:
            if error.name != "numpy":
                raise
            print(f"{info.name} needs NumPy, and is left out")
    return found


def main(folder):
    missing, rows, classes, functions = [], [], 0, 0
    folder.mkdir(parents=True, exist_ok=True)
    for name, module in modules().items():
        text, more_classes, more_functions = module_html(name, module, missing)
        classes, functions = classes + more_classes, functions + more_functions
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
        first = ESCAPE((module.__doc__ or "").strip().split("\n")[0])
        rows.append(f'<p><a href="{name}.html"><code>{name}</code></a> {first}</p>')
    (folder / "index.html").write_text(page("The Python module", "\n".join(rows)), encoding="utf-8")
    print(f"{len(rows)} modules, {classes} classes, {functions} functions")
    for name in missing:
        print(f"{name} has no docstring")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
