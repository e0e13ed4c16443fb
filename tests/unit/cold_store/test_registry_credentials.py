"""Credentials as Docker keeps them, and the registries that get them, over TLS too."""

import base64
import json
import re
import shutil
import ssl
import subprocess
from pathlib import Path
from typing import Any

import pytest
from fake_registry import FakeRegistry, Handler

from trimtab.cold_store import transport
from trimtab.cold_store.credentials import Credential, Credentials, CredentialsError
from trimtab.cold_store.registry import Registry, RegistryError
from trimtab.cold_store.transport import Transport

AUTH = base64.b64encode(b"me:se:cret").decode()
ME = Credential("me", "se:cret")
HUB = "https://index.docker.io/v1/"


@pytest.mark.parametrize(
    ("document", "host", "expected"),
    [
        ({"auths": {"r.org:5000": {"auth": AUTH}}}, "r.org:5000", ME),
        ({"auths": {"r.org": {"username": "me", "password": "se:cret"}}}, "r.org", ME),
        ({"auths": {"https://r.org/v2/": {"auth": AUTH}}}, "r.org", ME),
        ({"auths": {"r.org": {"auth": AUTH}}}, "r.org:5000", None),
        ({"auths": {"r.org": {"auth": AUTH}}}, "evil.r.org", None),
        ({"auths": {"r.org": {"auth": "%%%"}}}, "r.org", None),
        ({"auths": {"r.org": {}}}, "r.org", None),
        ({"auths": {HUB: {"auth": AUTH}}}, "docker.io", ME),
        ({"auths": {"r.org": {"identitytoken": "t"}}}, "r.org", Credential("", "", "t")),
        ({"auths": None}, "r.org", None),
        ({"auths": {"r.org": 5}}, "r.org", None),
        ({"auths": {"r.org": {"auth": 5}}}, "r.org", None),
        ({}, "r.org", None),
    ],
)
def test_what_a_config_has(document: Any, host: str, expected: Credential | None) -> None:
    assert Credentials(document).of(host) == expected


@pytest.mark.parametrize("text", ["[]", "{", '{"auths": 5}', '{"auths": "r.org"}', "\0"])
def test_what_is_no_config(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(CredentialsError, match=r"config\.json"):
        Credentials.read(tmp_path / "config.json")


def test_where_docker_keeps_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    assert Credentials.read().of("r.org") is None
    (tmp_path / "config.json").write_text(json.dumps({"auths": {"r.org": {"auth": AUTH}}}))
    assert Credentials.read().of("r.org") == ME
    monkeypatch.delenv("DOCKER_CONFIG")
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".docker").mkdir()
    (tmp_path / "config.json").rename(tmp_path / ".docker/config.json")
    assert Credentials.read().of("r.org") == ME


@pytest.mark.parametrize("key", ["credsStore", "credHelpers"])
def test_a_helper_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    helper = tmp_path / "docker-credential-test"
    helper.write_text(
        '#!/bin/sh\nread -r host; [ "$host" = r.org ] || exit 1\n'
        """echo '{"ServerURL": "r.org", "Username": "me", "Secret": "se:cret"}'\n"""
    )
    helper.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    given = {"credsStore": "test", "credHelpers": {"r.org": "test", "s.org": "../test"}}
    found = Credentials({key: given[key], "auths": {"s.org": {"auth": AUTH}}})
    assert found.of("r.org") == ME and found.of("s.org") == ME and found.of("t.org") is None


def test_an_identity_token_is_exchanged() -> None:
    seen = []

    def answer(handler: Handler) -> bool:
        if handler.path.startswith("/token"):
            seen.append((handler.command, handler.body))
            handler.registry.issued["new"] = "repository:a:pull"
            handler.send(200, b'{"access_token": "new"}')
        return handler.path.startswith("/token")

    registry = FakeRegistry(tokens=True, answer=answer)
    digest = registry.add("a", b"data")
    with registry.serving() as host:
        auths = {"auths": {host: {"identitytoken": "mine"}}}
        assert Registry(Transport(host, Credentials(auths))).blob("a", digest, 9) == b"data"
    [(method, form)] = seen
    assert method == "POST" and b"refresh_token=mine" in form and b"grant_type=refresh" in form


def test_passwords_are_not_shown() -> None:
    assert "cret" not in repr(ME) and "mine" not in repr(Credential("", "", "mine"))


def test_tls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only authorities that are known or given are trusted, and https stays https."""
    if not shutil.which("openssl"):
        pytest.skip("openssl is missing: apt-get install openssl")
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    made = (
        f"openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1"
        f" -keyout {key} -out {certificate} -subj /CN=r -addext subjectAltName=IP:127.0.0.1"
    )
    subprocess.run(made.split(), check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    monkeypatch.setattr(transport, "_LOCAL", re.compile("$x"))  # this machine is as any other
    registry = FakeRegistry(tls=context)
    digest = registry.add("a", b"data")
    with registry.serving() as host:
        asked = Registry(Transport(host, Credentials(), certificate))
        assert asked.blob("a", digest, 9) == b"data"
        with pytest.raises(RegistryError, match="certificate verify failed"):
            Registry(Transport(host, Credentials(), attempts=1)).blob("a", digest, 9)
        registry.redirect = host  # by http
        with pytest.raises(RegistryError, match="not allowed"):
            Registry(Transport(host, Credentials(), certificate)).blob("a", digest, 9)


def test_authorities_that_are_none(tmp_path: Path) -> None:
    for text in ("", "no PEM"):
        (tmp_path / "ca.pem").write_text(text)
        with pytest.raises(RegistryError, match=r"ca\.pem"):
            Registry(Transport("r.org", Credentials(), tmp_path / "ca.pem"))
