"""Reads YAML within limits: aliases can expand to gigabytes, and a number can take minutes to compute."""

from typing import ClassVar, Final

import yaml

from bosh_aws_cpi.jsontext import MAX_DEPTH

_MAX_NUMBER_LENGTH: Final = 300
"""The maximum length of a number in characters. A longer number of base 60 (1:30:00) takes long to compute,
and overflows."""
_NUMBER_TAGS: Final = frozenset({"tag:yaml.org,2002:float", "tag:yaml.org,2002:int"})


class OverLimitError(Exception):
    """The YAML exceeds a limit; the message names the limit, and does not quote the YAML.

    Args:
        message: The limit.
        line: The number of the line, from 1.
    """

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


class BoundedLoader(yaml.SafeLoader):
    """PyYAML's safe loader with limits.

    The methods raise `OverLimitError` before they construct a value.
    """

    max_values: ClassVar[int]
    """The maximum number of keys and values after the expansion of aliases."""

    def __init__(self, content: bytes) -> None:
        super().__init__(content)
        self._composed = 0
        self._depth = 0

    def scan_to_next_token(self) -> None:
        """Also skip a tab that is no indentation, as libyaml (scanner.c) does, which Directors use."""
        super().scan_to_next_token()
        while self.peek() == "\t" and (self.flow_level or not self.allow_simple_key):
            self.forward()
            super().scan_to_next_token()

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """Compose a node, within the limits."""
        line = self.peek_event().start_mark.line + 1  # type: ignore[no-untyped-call]
        self._composed += 1
        self._depth += 1
        if self._composed > self.max_values:
            raise OverLimitError(f"it has more than {self.max_values} values", line)
        if self._depth > MAX_DEPTH + 1:  # a scalar is one level deeper than its list or hash
            raise OverLimitError(f"it is nested deeper than {MAX_DEPTH} levels", line)
        node = super().compose_node(parent, index)
        self._depth -= 1
        if node is not None and node.tag in _NUMBER_TAGS and len(node.value) > _MAX_NUMBER_LENGTH:
            raise OverLimitError(f"a number has more than {_MAX_NUMBER_LENGTH} characters", line)
        return node

    def get_single_node(self) -> yaml.Node | None:
        """Compose the root of the only document, within the limits."""
        node = super().get_single_node()
        if node is not None:
            self._size(node, {})
        return node

    def _size(self, node: yaml.Node, known: dict[int, tuple[int, int]]) -> tuple[int, int]:
        """The number of values and of levels of a node after the expansion of aliases.

        An alias within its own anchor is endless, so it exceeds the limits.
        """
        if id(node) not in known:
            known[id(node)] = self.max_values + 1, MAX_DEPTH + 1
            inner: list[yaml.Node] = []
            if isinstance(node, yaml.MappingNode):
                inner = [each for pair in node.value for each in pair]
            elif isinstance(node, yaml.SequenceNode):
                inner = node.value
            sizes = [self._size(each, known) for each in inner]
            values = 1 + sum(count for count, _ in sizes)
            levels = max((levels for _, levels in sizes), default=0) + isinstance(node, yaml.CollectionNode)
            line = node.start_mark.line + 1
            if values > self.max_values:
                raise OverLimitError(
                    f"its aliases (*NAME) stand for more than {self.max_values} values", line
                )
            if levels > MAX_DEPTH:
                raise OverLimitError(f"with its aliases it is nested deeper than {MAX_DEPTH} levels", line)
            known[id(node)] = values, levels
        return known[id(node)]
