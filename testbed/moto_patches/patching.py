"""Replaces functions of moto."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

from moto.ec2.exceptions import EC2ClientError

Original = Callable[..., Any]
"""A function of moto that is replaced."""
Replacement = Any
"""A function whose first argument is the function that it replaces."""


@dataclass(frozen=True)
class Patch:
    """One correction.

    Attributes:
        owner: The class or module of moto that is corrected.
        name: The method, property or function in it.
        replacement: Called with the original, then with the original's arguments.
        is_new: Whether moto lacks the method: the replacement is then called without an original.
    """

    owner: Any
    name: str
    replacement: Replacement
    is_new: bool = False


class Patches(list[Patch]):
    """The corrections of one module, in the order in which they are written."""

    def around(self, owner: Any, name: str, *, is_new: bool = False) -> Callable[[Replacement], Replacement]:
        """Note the decorated function as the replacement of `owner.name`."""

        def note(replacement: Replacement) -> Replacement:
            self.append(Patch(owner, name, replacement, is_new))
            return replacement

        return note

    def adding(self, owner: Any, name: str) -> Callable[[Replacement], Replacement]:
        """Note the decorated function as the method `owner.name`, which moto lacks."""
        return self.around(owner, name, is_new=True)


def install(patch: Patch) -> None:
    """Install a correction; fails when moto no longer has the function that it corrects, or has a new one."""
    if patch.is_new:
        if hasattr(patch.owner, patch.name):
            message = f"moto has a {patch.name} of its own now"
            raise TypeError(message)
        setattr(patch.owner, patch.name, patch.replacement)
        return
    original = vars(patch.owner)[patch.name]
    if isinstance(original, property):
        if original.fget is None:
            message = f"{patch.name} cannot be read"
            raise TypeError(message)
        getter = functools.partial(patch.replacement, original.fget)
        setattr(patch.owner, patch.name, property(getter))
        return

    @functools.wraps(original)
    def corrected(*arguments: Any, **keywords: Any) -> Any:
        return patch.replacement(original, *arguments, **keywords)

    setattr(patch.owner, patch.name, corrected)


def refuse(code: str, message: str) -> NoReturn:
    """Answer an EC2 client error."""
    raise EC2ClientError(code, message)


def parameter(response: Any, name: str, default: Any = None) -> Any:
    """Read a parameter of the request that a response object of moto answers."""
    return response._get_param(name, default)  # noqa: SLF001 - moto has no other way


def tag_specifications(response: Any) -> dict[str, dict[str, str]]:
    """Read the tags of a request, by type of resource."""
    tags: dict[str, dict[str, str]] = response._parse_tag_specification()  # noqa: SLF001
    return tags


def show(response: Any, values: dict[str, Any]) -> None:
    """Let an answer show these values at these paths instead of those of moto's objects."""
    shown = {path: (lambda _, value=value: value) for path, value in values.items()}
    response.RESPONSE_KEY_PATH_TO_TRANSFORMER = {**shown, **response.RESPONSE_KEY_PATH_TO_TRANSFORMER}
