"""The roots that calls trust, a file each: ``stored_roots.py LIB`` stores them, and is certifi from then on.

certifi has them in one file, and OpenSSL reads all of it for each connection: a fifth of what `has_vm`
executes (docs/decisions/start-up.md). From a folder it reads only the roots that a server's certificate leads
to, if each is in a file of its own, named by the hash of its subject as `openssl rehash` does. `store` writes
this folder when BOSH compiles the package; the SDK and requests ask `where`. What an operator trusts in place
of these roots stays a file.
"""

import ssl
import sys
from contextlib import suppress
from threading import Lock

_HERE = __file__.rpartition("/")[0]
BUNDLE = f"{_HERE}/cacert.pem"
FOLDER = f"{_HERE}/roots"
_load = ssl.SSLContext.load_verify_locations
_loading = Lock()


def where() -> str:
    """Return the folder; the file where OpenSSL would take the folder's path for a list of folders."""
    return BUNDLE if ":" in FOLDER else FOLDER


def _load_in_turn(
    context: ssl.SSLContext,
    cafile: str | None = None,
    capath: str | None = None,
    cadata: str | bytes | None = None,
) -> None:
    """Let the SDK, which knows only files, name the folder as one (boto/botocore issue 2731).

    One thread after the other: OpenSSL may crash when several do this to one context at the same time, as
    those that upload a stemcell would (openssl/openssl issue 24480).
    """
    if cafile == FOLDER:
        cafile, capath = None, FOLDER
    with _loading:
        _load(context, cafile, capath, cadata)


def store(lib: str) -> None:
    """Write the folder, and put this module in certifi's place.

    OpenSSL must then find each root in the folder; otherwise certifi stays as it is.
    """
    import shutil  # noqa: PLC0415 - a call, which also loads this module, needs none of these
    from collections import Counter  # noqa: PLC0415
    from pathlib import Path  # noqa: PLC0415

    certifi = Path(lib, "certifi")
    bundle, folder = certifi / "cacert.pem", certifi / "roots"
    whole = _context()
    whole.load_verify_locations(bundle)
    roots = sorted(whole.get_ca_certs(binary_form=True))
    folder.mkdir()
    numbers: Counter[str] = Counter()
    for root in roots:
        name = _show(root, _context())
        (folder / f"{name}.{numbers[name]}").write_text(ssl.DER_cert_to_PEM_cert(root))
        numbers[name] += 1
    parts = _context()
    parts.load_verify_locations(capath=folder)
    for root in roots:
        _show(root, parts)
    # A context has what OpenSSL has read from the folder so far: what it looked for.
    found = sorted(parts.get_ca_certs(binary_form=True))
    if found != roots or len(roots) != whole.cert_store_stats()["x509"]:
        shutil.rmtree(folder)
        sys.stderr.write("bosh_aws_cpi: OpenSSL does not find each root in a folder; calls read one file\n")
        return
    for unused in certifi.glob("*.py"):
        unused.unlink()
    shutil.copyfile(__file__, certifi / "__init__.py")


def _context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    return context


def _show(root: bytes, context: ssl.SSLContext) -> str:
    """Let OpenSSL look for a root in what a context trusts; returns the hash of its subject, in hexadecimals.

    A root is shown as a server's own certificate. Until TLS 1.2 a server sends it in the clear, before it has
    to prove anything (RFC 5246, 7.4.1.3 and 7.4.2), so the two messages can be written here.
    """
    hello = b"\3\3" + bytes(32) + b"\0" + _ECDHE_RSA_AES128 + b"\0" + _sized(2, _RENEGOTIATION_INFO)
    messages = ssl.MemoryBIO()
    for kind, body in ((b"\2", hello), (b"\x0b", _sized(3, _sized(3, root)))):
        messages.write(b"\x16\3\3" + _sized(2, kind + _sized(3, body)))
    client = context.wrap_bio(messages, ssl.MemoryBIO())
    with suppress(ssl.SSLError):  # the rest of the handshake is missing, or a root is no server's certificate
        client.do_handshake()
    # Python's hash of a certificate is OpenSSL's of its subject (certificate_hash in Modules/_ssl/cert.c).
    chain = client._sslobj.get_unverified_chain() or []  # type: ignore[attr-defined]  # noqa: SLF001
    return "".join(f"{hash(each) & 0xFFFFFFFF:08x}" for each in chain)


_ECDHE_RSA_AES128 = b"\xc0\x2f"
_RENEGOTIATION_INFO = b"\xff\1\0\1\0"
"""The extension without which OpenSSL takes no server (RFC 5746, 3.4)."""


def _sized(width: int, content: bytes) -> bytes:
    return len(content).to_bytes(width, "big") + content


if __name__ == "__main__":
    store(sys.argv[1])
else:
    ssl.SSLContext.load_verify_locations = _load_in_turn  # type: ignore[assignment,method-assign]
