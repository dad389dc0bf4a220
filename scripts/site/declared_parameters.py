"""Parameters that estimators declare (python/manymeans/_declaring.py), for MkDocs, which reads the source alone."""

import ast
import importlib.util
import pathlib

import griffe

FILE = pathlib.Path(__file__).resolve().parents[2] / "python" / "manymeans" / "_declaring.py"
SPEC = importlib.util.spec_from_file_location("manymeans_declaring", FILE)
DECLARING = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(DECLARING)


def literal(value):
    """The value of an expression that is a constant, or the name of one in its module."""
    if isinstance(value, griffe.ExprName):
        value = value.parent.module[value.name].value
    return ast.literal_eval(str(value))


def own_parameters(class_):
    own = {}
    for name, member in class_.attributes.items():
        call = member.value
        if isinstance(call, griffe.ExprCall) and str(call.function) == "parameter":
            given = {one.name: literal(one.value) for one in call.arguments if one.name != "accepts"}
            own[name] = DECLARING.parameter(**given, accepts=[])._replace(hint=str(member.annotation))
    return own


def all_parameters(class_):
    bases = [base for base in class_.resolved_bases if base.is_class]
    return DECLARING.merged(own_parameters(class_), [all_parameters(base) for base in bases])


def complete(class_):
    """Gives a class the signature and the documentation that it has in Python."""
    every = all_parameters(class_)
    made = [griffe.Parameter("self", kind=griffe.ParameterKind.positional_or_keyword)]
    for name, value in every.items():
        kind = griffe.ParameterKind.keyword_only if value.kw_only else griffe.ParameterKind.positional_or_keyword
        made.append(griffe.Parameter(name, annotation=value.hint, kind=kind, default=repr(value.default)))
    class_.set_member("__init__", griffe.Function("__init__", parameters=griffe.Parameters(*made), returns="None"))
    class_.docstring.value = DECLARING.documented(class_.docstring.value, every)


class DeclaredParameters(griffe.Extension):
    def on_package(self, *, pkg, **_):
        for module in pkg.modules.values():
            for class_ in module.classes.values():
                if any(str(decorator.value) == "parameters" for decorator in class_.decorators):
                    complete(class_)
