"""Client tokens, by which EC2 recognises retries, so that it creates nothing twice."""

from hashlib import sha256


def client_token(*parts: object) -> str:
    """A token for exactly these values: 64 ASCII characters, EC2's limit.

    Args:
        parts: The values that identify the resource to create, and are the same in a call and its retry.
    """
    return sha256("\0".join(map(str, parts)).encode()).hexdigest()
