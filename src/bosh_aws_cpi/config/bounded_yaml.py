"""Reads YAML within limits: a small file can stand for gigabytes, a number can take minutes to compute."""

from typing import ClassVar, Final

import yaml

from bosh_aws_cpi.jsontext import MAX_DEPTH

_LONGEST_NUMBER: Final = 300
"""The maximum length of a number, in characters. YAML's base 60 (1:30:00) takes longer with each digit, and
overflows beyond this."""
_NUMBERS: Final = frozenset({"tag:yaml.org,2002:float", "tag:yaml.org,2002:int"})


class OverLimitError(Exception):
    """The YAML exceeds a limit, which the message names without quoting it.

    Args:
        message: The limit.
        line: Where, from 1.
    """

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


class BoundedLoader(yaml.SafeLoader):
    """PyYAML's safe loader.

    Its methods raise `OverLimitError` before they construct a value.
    """

    most_values: ClassVar[int]
    """The maximum number of keys and values, with aliases in full."""

    def __init__(self, content: bytes) -> None:
        super().__init__(content)
        self._composed = 0
        self._depth = 0

    def scan_to_next_token(self) -> None:
        """Skip also a tab that is no indentation, as libyaml (scanner.c) and with it a Director does."""
        super().scan_to_next_token()
        while self.peek() == "\t" and (self.flow_level or not self.allow_simple_key):
            self.forward()
            super().scan_to_next_token()

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """A node of the file."""
        line = self.peek_event().start_mark.line + 1  # type: ignore[no-untyped-call]
        self._composed += 1
        self._depth += 1
        if self._composed > self.most_values:
            raise OverLimitError(f"it has more than {self.most_values} values", line)
        if self._depth > MAX_DEPTH + 1:  # a value is deeper than the innermost list or hash
            raise OverLimitError(f"it is nested deeper than {MAX_DEPTH} levels", line)
        node = super().compose_node(parent, index)
        self._depth -= 1
        if node is not None and node.tag in _NUMBERS and len(node.value) > _LONGEST_NUMBER:
            raise OverLimitError(f"a number has more than {_LONGEST_NUMBER} characters", line)
        return node

    def get_single_node(self) -> yaml.Node | None:
        """The root of the only document."""
        node = super().get_single_node()
        if node is not None:
            self._size(node, {})
        return node

    def _size(self, node: yaml.Node, known: dict[int, tuple[int, int]]) -> tuple[int, int]:
        """How many values a node stands for, and on how many levels.

        An alias within its own anchor never ends, so it counts as too many.
        """
        if id(node) not in known:
            known[id(node)] = self.most_values + 1, MAX_DEPTH + 1
            inner: list[yaml.Node] = []
            if isinstance(node, yaml.MappingNode):
                inner = [each for pair in node.value for each in pair]
            elif isinstance(node, yaml.SequenceNode):
                inner = node.value
            sizes = [self._size(each, known) for each in inner]
            values = 1 + sum(count for count, _ in sizes)
            levels = max((levels for _, levels in sizes), default=0) + isinstance(node, yaml.CollectionNode)
            line = node.start_mark.line + 1
            if values > self.most_values:
                raise OverLimitError(
                    f"its aliases (*NAME) stand for more than {self.most_values} values", line
                )
            if levels > MAX_DEPTH:
                raise OverLimitError(f"with its aliases it is nested deeper than {MAX_DEPTH} levels", line)
            known[id(node)] = values, levels
        return known[id(node)]
