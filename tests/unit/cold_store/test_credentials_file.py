"""Credentials that a node renews in a file while its cold store runs."""

import base64
import json
import os
from pathlib import Path

import pytest
from fake_registry import FakeRegistry, Handler

from trimtab.cold_store.credentials import CredentialsError
from trimtab.cold_store.credentials_file import CredentialsFile
from trimtab.cold_store.registry import Registry, RegistryError
from trimtab.cold_store.transport import Transport

DATA = b"a removed file"
RENEWED = f"Basic {base64.b64encode(b'me:renewed').decode()}"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config.json"


def give(file: Path, host: str, password: str) -> None:
    file.write_text(json.dumps({"auths": {host: {"username": "me", "password": password}}}))


def client(host: str, file: Path, said: list[str] | None = None) -> Registry:
    say = (lambda _: None) if said is None else said.append
    return Registry(Transport(host, CredentialsFile(file, say)))


@pytest.mark.parametrize("tokens", [False, True])
def test_renewed_credentials_are_seen(file: Path, tokens: bool) -> None:
    registry = FakeRegistry(login="me:old", tokens=tokens)
    digest = registry.add("a", DATA)
    with registry.serving() as host:
        give(file, host, "old")
        asked = client(host, file)
        assert asked.blob("a", digest, 99) == DATA
        registry.login = "me:new"
        registry.issued.clear()
        with pytest.raises(RegistryError) as caught:
            asked.blob("a", digest, 99)
        assert caught.value.status == 401
        give(file, host, "new")
        assert asked.blob("a", digest, 99) == DATA


def test_a_registry_that_forbids_old_ones_gets_new_ones(file: Path) -> None:
    """Some answer 403 to a password that has ended, and never 401."""

    def forbids(handler: Handler) -> bool:
        given = handler.headers.get("Authorization")
        if given in (None, RENEWED):
            return False
        handler.send(403)
        return True

    registry = FakeRegistry(login="me:old")
    digest = registry.add("a", DATA)
    with registry.serving() as host:
        give(file, host, "old")
        asked = client(host, file)
        assert asked.blob("a", digest, 99) == DATA
        registry.answer, registry.login = forbids, "me:renewed"
        with pytest.raises(RegistryError, match="403"):
            asked.blob("a", digest, 99)
        give(file, host, "renewed")
        assert asked.blob("a", digest, 99) == DATA


def test_a_change_that_no_time_or_size_shows_is_seen_after_a_401(file: Path) -> None:
    registry = FakeRegistry(login="me:old")
    digest = registry.add("a", DATA)
    with registry.serving() as host:
        give(file, host, "old")
        asked = client(host, file)
        assert asked.blob("a", digest, 99) == DATA
        before = file.stat()
        give(file, host, "new")
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
        registry.login = "me:new"
        assert asked.blob("a", digest, 99) == DATA


def test_a_change_while_a_token_is_fetched_is_seen(file: Path) -> None:
    """The token of the old password is not taken for one of the new."""
    registry = FakeRegistry(login="me:old", tokens=True)
    digest = registry.add("a", DATA)

    def renews(handler: Handler) -> bool:
        if handler.path.startswith("/token"):
            registry.answer = None
            give(file, handler.headers["Host"], "renewed")
        return False

    registry.answer = renews
    with registry.serving() as host:
        give(file, host, "old")
        asked = client(host, file)
        assert asked.blob("a", digest, 99) == DATA
        registry.login = "me:renewed"
        assert asked.blob("a", digest, 99) == DATA
    assert registry.count("GET", "/token") == 2


def test_a_link_to_another_folder_is_followed(tmp_path: Path) -> None:
    """Kubernetes replaces the link ..data, through which a secret's files are seen."""
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
        give(tmp_path / name / "config.json", "r.org", name)
    data = tmp_path / "..data"
    data.symlink_to("old")
    (tmp_path / "config.json").symlink_to("..data/config.json")
    found = CredentialsFile(tmp_path / "config.json", print)
    before, old = found.version, found.of("r.org")
    (tmp_path / "next").symlink_to("new")
    (tmp_path / "next").rename(data)
    new = found.of("r.org")
    assert found.version != before and old and old.password == "old"
    assert new and new.password == "new"


@pytest.mark.parametrize("text", ["", '{"auths": {"r.o', "[]", None])
def test_a_half_written_file_keeps_what_it_had(file: Path, text: str | None) -> None:
    said: list[str] = []
    give(file, "r.org", "old")
    found = CredentialsFile(file, said.append)
    if text is None:
        file.unlink()
    else:
        file.write_text(text)
    kept = found.of("r.org")
    assert kept and kept.password == "old"
    [line] = said
    assert str(file) in line and "what it had before is used" in line
    give(file, "r.org", "new")
    new = found.of("r.org")
    assert new and new.password == "new" and len(said) == 1


def test_a_file_that_is_none_at_first_is_refused(file: Path) -> None:
    with pytest.raises(CredentialsError):
        CredentialsFile(file, print)
