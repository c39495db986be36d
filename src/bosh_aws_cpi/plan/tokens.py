"""Client tokens: by them EC2 recognises a call that is made again, and makes nothing twice."""

from hashlib import sha256


def client_token(*parts: object) -> str:
    """A token that stands for exactly these values: 64 ASCII characters, EC2's limit.

    Args:
        parts: What tells one thing to be made from every other: all that does not change
            between a call and its repetition.
    """
    return sha256("\0".join(map(str, parts)).encode()).hexdigest()
