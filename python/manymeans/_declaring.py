"""Parameters of estimators. Each is declared once, which makes signatures, checks and documentation.

`parameters` looks like `dataclasses.dataclass`, also to type checkers, but makes no dataclasses: dask makes those again
from their fields alone, and would lose what was fitted. This module imports nothing of the package, since the site
loads it alone.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
import textwrap
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:

    def dataclass_transform(**options: Any) -> Any:
        """Do nothing: type checkers alone need it."""
        return lambda decorator: decorator


_Class = TypeVar("_Class", bound=type)
_WIDTH = 116  # of documentation


class Parameter(NamedTuple):
    """The facts about a parameter.

    Attributes
    ----------
    default : object
    text : str
        Its documentation.
    accepts : list
        Constraints of scikit-learn.
    type : str
        As documentation has it; empty: as the annotation says.
    option : bool
        True for an option of the library, under the same name.
    kw_only : bool
    hint : str
        Its annotation.

    """

    default: Any
    text: str
    accepts: list[Any]
    type: str
    option: bool
    kw_only: bool
    hint: str = ""


def parameter(
    *,
    default: Any,
    text: str = "",
    accepts: list[Any] | None = None,
    type: str = "",
    option: bool = False,
    kw_only: bool = True,
) -> Any:
    """Declare a parameter, by the attributes of `Parameter`; without a text, change the default of an inherited one."""
    return Parameter(default, text, accepts or [], type, option, kw_only)


def merged(own: dict[str, Parameter], inherited: list[dict[str, Parameter]]) -> dict[str, Parameter]:
    """Put new parameters of a class before the parameters of its bases; it may change some."""
    every: dict[str, Parameter] = {}
    for base in inherited:
        every = base | every
    own = {name: value if value.text else every[name]._replace(default=value.default) for name, value in own.items()}
    return {name: value for name, value in own.items() if name not in every} | every | own


def documented(text: str, every: dict[str, Parameter]) -> str:
    """Put the section of the parameters before the first section of a docstring."""
    lines = ["Parameters", "----------"]
    for name, value in every.items():
        default = json.dumps(value.default) if isinstance(value.default, str) else repr(value.default)
        lines.append(f"{name} : {value.type or value.hint.replace(' | ', ' or ')}, default={default}")
        lines += textwrap.wrap(
            value.text, _WIDTH, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False
        )
    first, *others = re.split(r"(?=^\w[\w ]*\n-{3,}$)", text, maxsplit=1, flags=re.MULTILINE)
    return "\n\n".join([first.rstrip(), "\n".join(lines), *others])


@dataclass_transform(kw_only_default=True, field_specifiers=(parameter,))
def parameters(cls: _Class) -> _Class:
    """Make what follows from the parameters that a class and its bases declare."""
    own = {name: value for name, value in vars(cls).items() if isinstance(value, Parameter)}
    hints = inspect.get_annotations(cls)
    for name, value in own.items():
        delattr(cls, name)
        own[name] = value._replace(hint=hints[name])
    every = merged(own, [getattr(base, "_parameters", {}) for base in cls.__bases__])
    fields = [
        (name, value.hint, dataclasses.field(default=value.default, kw_only=value.kw_only))
        for name, value in every.items()
    ]
    init: Any = vars(dataclasses.make_dataclass(cls.__name__, fields, eq=False, repr=False))["__init__"]
    init.__qualname__, init.__module__ = f"{cls.__qualname__}.__init__", cls.__module__
    made: Any = cls
    made.__init__, made._parameters = init, every
    made._parameter_constraints = {name: value.accepts for name, value in every.items()}
    if cls.__doc__ is not None:  # python -OO has none
        made.__doc__ = documented(inspect.cleandoc(cls.__doc__), every)
    return cls
