"""Credentials of registries, as Docker's config.json and pull secrets of Kubernetes have them."""

import base64
import binascii
import json
import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, Self

_DOCKER_HUB = "https://index.docker.io/v1/"
_HELPER = re.compile(r"[\w.-]+")
_HELPER_TIMEOUT_S = 10
_NAME_OF_TOKENS = "<token>"  # by which helpers say that a secret is an identity token


class CredentialsError(ValueError):
    """A file that is no config.json of Docker; the message says which and why."""


@dataclass(frozen=True)
class Credential:
    """A name and a password, or an identity token."""

    username: str
    password: str = field(repr=False)
    identity_token: str = field(repr=False, default="")

    @property
    def basic(self) -> str | None:
        """The Authorization header of the name and the password; None without them."""
        if not self.username:
            return None
        return "Basic " + base64.b64encode(f"{self.username}:{self.password}".encode()).decode()


class CredentialSource(Protocol):
    """Where credentials of registries are from."""

    @property
    def version(self) -> object:
        """Another value once the credentials are others."""

    def of(self, host: str) -> Credential | None:
        """Return the credential of a registry, or None."""


class Credentials:
    """The credentials in a config.json of Docker, or none; helpers are asked anew each time."""

    def __init__(self, document: Mapping[str, Any] | None = None):
        self._auths = _mapping(document, "auths")
        self._helpers = _mapping(document, "credHelpers")
        self._store = (document or {}).get("credsStore")

    @classmethod
    def read(cls, path: Path | None = None) -> Self:
        """Read `path`, or where Docker keeps them; none if Docker has none.

        Raises CredentialsError for another kind of file.
        """
        file = path or config_file()
        try:
            document = json.loads(file.read_bytes())
        except FileNotFoundError as error:
            if path is not None:
                raise CredentialsError(f"{file}: no such file; give a config.json") from error
            return cls()
        except (OSError, ValueError) as error:
            raise CredentialsError(f"{file}: {error}; expected a config.json") from None
        try:
            return cls({**document})
        except (TypeError, AttributeError):
            raise CredentialsError(f'{file}: expected {{"auths": {{HOST: ...}}}}') from None

    @property
    def version(self) -> object:
        """Always the same value: these credentials stay."""
        return None

    def of(self, host: str) -> Credential | None:
        """Return the credential of a registry, or None."""
        hub = host in {"docker.io", "index.docker.io", "registry-1.docker.io"}
        names = [_DOCKER_HUB, host] if hub else [host]
        for name in names:
            helper = self._helpers.get(name, self._store)
            if helper and (found := _of_helper(str(helper), name)):
                return found
        by_host = {_host_of(name): each for name, each in self._auths.items()}
        for name in names:
            entry = self._auths.get(name) or by_host.get(_host_of(name))
            if isinstance(entry, dict) and (found := _of_entry(entry)):
                return found
        return None


def config_file() -> Path:
    """Return where Docker keeps its credentials."""
    folder = os.environ.get("DOCKER_CONFIG") or Path.home() / ".docker"
    return Path(folder, "config.json")


def _of_entry(entry: Mapping[str, Any]) -> Credential | None:
    username, password = entry.get("username", ""), entry.get("password", "")
    if auth := entry.get("auth"):
        try:
            username, _, password = base64.b64decode(auth).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError, TypeError):
            return None
    token = entry.get("identitytoken", "")
    found = Credential(str(username), str(password).rstrip("\0"), str(token))
    return found if found.username or found.identity_token else None


def _of_helper(helper: str, name: str) -> Credential | None:
    """Ask docker-credential-HELPER; None if it is missing, fails or knows none."""
    if not _HELPER.fullmatch(helper):
        return None
    try:
        done = subprocess.run(
            [f"docker-credential-{helper}", "get"],
            input=name.encode(),
            capture_output=True,
            timeout=_HELPER_TIMEOUT_S,
            check=True,
        )
        said = json.loads(done.stdout)
        username, secret = str(said["Username"]), str(said["Secret"])
    except (OSError, subprocess.SubprocessError, ValueError, KeyError, TypeError):
        return None
    if username == _NAME_OF_TOKENS:
        return Credential("", "", secret)
    return Credential(username, secret)


def _host_of(name: str) -> str:
    return re.sub(r"^https?://", "", name).partition("/")[0]


def _mapping(document: Mapping[str, Any] | None, key: str) -> Mapping[str, Any]:
    value: Mapping[str, Any] = (document or {}).get(key) or {}
    value.keys()  # anything else is no config.json
    return value
