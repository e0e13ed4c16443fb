"""Requests to one registry: its tokens, redirects, retries and limits."""

import json
import re
import ssl
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import IO, Any, TypeVar
from urllib.parse import urlencode, urljoin, urlsplit

import urllib3
from urllib3.util import parse_url

from trimtab.cold_store.credentials import CredentialSource
from trimtab.cold_store.responses import FAILURES, RegistryError, Response, reason_of
from trimtab.cold_store.retries import Retries
from trimtab.cold_store.timeouts import pool_with_timeouts

_MOST_REDIRECTS = 5
_REDIRECTS = {301, 302, 303, 307, 308}
_PIECE_BYTES = 1 << 18
_LITTLE_BYTES, _LITTLE_WAIT_S = 1 << 14, 1.0
_MOST_TOKEN_BYTES = 1 << 20
_MOST_CHALLENGE_CHARACTERS, _MOST_URL_CHARACTERS = 4096, 1 << 14
_DOCKER_HUB = {"docker.io", "index.docker.io"}
_LOCAL = re.compile(r"(?:127\.\d+\.\d+\.\d+|localhost|\[::1\])(?::\d+)?")
_PARAMETER = re.compile(r'(\w+)="([^"]*)"')
Result = TypeVar("Result")


@cache
def trusting(ca: Path | None) -> ssl.SSLContext:
    """Return what trusts the system's certificate authorities and those in the file `ca`.

    Raises RegistryError.
    """
    context = ssl.create_default_context()
    try:
        if ca is not None:
            context.load_verify_locations(ca)
    except OSError as error:
        raise RegistryError(f"{ca}: {error.strerror}; expected certificates as PEM") from None
    return context


def joined(base: str, url: str) -> str:
    """Return a place that a registry names, from `base` on. Raises RegistryError for no place."""
    try:
        place = urljoin(base, url[:_MOST_URL_CHARACTERS])
        urlsplit(place).port  # noqa: B018  raises for what is no number
    except ValueError as error:
        base, url = (each.partition("?")[0][:200] for each in (base, url))  # a query may be secret
        raise RegistryError(f"{base}: it leads to {url}: {error}") from None
    return place


class Transport:
    """Requests to the registry `host` (HOST[:PORT]; docker.io too); connections stay open.

    It is asked by https, by http if it is this machine or with `plain_http`; `ca` has further
    certificate authorities. `pause` waits before another try. Thread-safe.
    """

    def __init__(
        self,
        host: str,
        credentials: CredentialSource,
        ca: Path | None = None,
        plain_http: bool = False,
        timeout_s: float = 20,
        attempts: int = 4,
        pause: Callable[[float], None] = time.sleep,
    ):
        self.host = host
        self.is_docker_hub = host in _DOCKER_HUB
        self._credentials, self._timeout_s = credentials, timeout_s
        self._attempts, self._pause = attempts, pause
        scheme = "http" if plain_http or _LOCAL.fullmatch(host) else "https"
        self._base = f"{scheme}://{'registry-1.docker.io' if self.is_docker_hub else host}/"
        self._pool = pool_with_timeouts(
            maxsize=16,
            retries=False,
            ssl_context=trusting(ca),
            timeout=urllib3.Timeout(connect=min(5, timeout_s), read=timeout_s),
            blocksize=_PIECE_BYTES,
        )
        self._lock = threading.Lock()
        # Of a scope, until when, and of which credentials.
        self._authorizations: dict[str, tuple[str, float, object]] = {}

    def retries(self) -> Retries:
        """Return the retries of a request that is about to be made."""
        return Retries(self._attempts, self._pause)

    def again(self, action: Callable[[], Result]) -> Result:
        """Return what `action` does; it is tried a few times if a failure may be over soon."""
        retries = self.retries()
        while True:
            try:
                return action()
            except RegistryError as error:
                retries.failed(error)

    @contextmanager
    def exchange(
        self,
        method: str,
        url: str,
        scope: str,
        headers: Mapping[str, str] | None = None,
        body: Callable[[], IO[bytes]] | bytes | None = None,
        accepted: Collection[int] = (200,),
    ) -> Iterator[Response]:
        """Send a request to `url`, absolute or below the registry, and give its response.

        `scope` is what a token has to allow. Raises RegistryError for statuses but the `accepted`.
        """
        url = joined(self._base, url)
        said = f"{self.host}: {method} {urlsplit(url).path}"
        given = {"Accept-Encoding": "identity", **(headers or {})}
        try:
            raw = self._authorized(method, url, scope, given, body)
        except FAILURES as error:
            raise RegistryError(f"{said}: {reason_of(error)}", passing=True) from None
        try:
            response = Response(raw, said, self._timeout_s)
            if response.status not in accepted:
                raise response.refusal(self.host)
            yield response
        finally:
            _let_go(raw)

    def _authorized(
        self, method: str, url: str, scope: str, headers: Mapping[str, str], body: Any
    ) -> Any:
        if _place(url) != _place(self._base):  # an upload's place on another host
            self._check_lead(self._base, url)
            return self._sent(method, url, headers, None, body)
        used = self._authorization(scope)
        raw = self._sent(method, url, headers, used, body)
        if raw.status != 401:
            return raw
        challenge = raw.headers.get("WWW-Authenticate", "")
        _let_go(raw)
        with self._lock:  # of many requests at once, one gets the token
            current = self._authorization(scope)
            if current is None or current == used:
                version = self._credentials.version  # before they are read: they may change
                current, valid_s = self._new_authorization(challenge, scope)
                self._authorizations[scope] = current, time.monotonic() + valid_s, version
        return self._sent(method, url, headers, current, body)

    def _authorization(self, scope: str) -> str | None:
        kept, until, version = self._authorizations.get(scope, (None, 0.0, None))
        is_valid = time.monotonic() < until and version == self._credentials.version
        return kept if is_valid else None

    def _new_authorization(self, challenge: str, scope: str) -> tuple[str, float]:
        """Return the value of the header that a registry asked for, and for how many seconds."""
        credential = self._credentials.of(self.host)
        kind, _, rest = challenge.partition(" ")
        parameters = dict(_PARAMETER.findall(rest[:_MOST_CHALLENGE_CHARACTERS]))
        basic = credential.basic if credential else None
        if kind.lower() == "basic" and basic:
            return basic, 3600
        realm = parameters.get("realm", "")
        if kind.lower() != "bearer" or not realm:
            raise RegistryError(
                f"{self.host}: it asks for a login; type `docker login {self.host}`, or give a file"
                " with its credentials",
                401,
            )
        if urlsplit(realm).scheme != "https" and not self._base.startswith("http:"):
            raise RegistryError(f"{self.host}: its tokens are at {realm}, which is not https", 401)
        words = {"service": parameters["service"]} if "service" in parameters else {}
        if credential and credential.identity_token:
            form = {**words, "grant_type": "refresh_token", "client_id": "trimtab",
                    "refresh_token": credential.identity_token, "scope": scope}  # fmt: skip
            sent = {"Content-Type": "application/x-www-form-urlencoded"}
            raw = self._sent("POST", realm, sent, None, urlencode(form).encode())
        else:
            query = urlencode([*words.items(), *(("scope", each) for each in scope.split())])
            url = f"{realm}{'&' if '?' in realm else '?'}{query}"
            raw = self._sent("GET", url, {}, basic, None)
        try:
            response = Response(raw, f"{self.host}: a token from {realm}", self._timeout_s)
            if response.status != 200:
                raise response.refusal(self.host)
            return _token(response.body(_MOST_TOKEN_BYTES), self.host)
        finally:
            _let_go(raw)

    def _sent(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        authorization: str | None,
        body: Callable[[], IO[bytes]] | bytes | None,
    ) -> Any:
        """Return the response after redirects; another host never gets the authorization."""
        start = _place(url)
        for _ in range(_MOST_REDIRECTS + 1):
            own = {"Authorization": authorization} if authorization else {}
            opened = body() if callable(body) else None
            try:
                raw = self._pool.urlopen(
                    method,
                    url,
                    body=body if opened is None else opened,
                    headers={**headers, **(own if _place(url) == start else {})},
                    redirect=False,
                    retries=False,
                    preload_content=False,
                    decode_content=False,
                )
            finally:
                if opened is not None:
                    opened.close()
            target = raw.headers.get("Location")
            if raw.status == 401 and _place(url) != start:  # its challenge is not the registry's
                _let_go(raw)
                raise RegistryError(
                    f"{self.host}: it leads to {_public(url)}, which asks for a login"
                )
            if raw.status not in _REDIRECTS or not target:
                return raw
            _let_go(raw)
            before, url = url, joined(url, target)
            self._check_lead(before, url)
        raise RegistryError(f"{self.host}: more than {_MOST_REDIRECTS} redirects")

    def _check_lead(self, before: str, url: str) -> None:
        if _place(url)[0] not in {"https", _place(before)[0]}:
            raise RegistryError(f"{self.host}: it leads to {_public(url)}, which is not allowed")


def _token(document: bytes, host: str) -> tuple[str, float]:
    try:
        said = json.loads(document)
        token = said.get("token") or said.get("access_token")
        valid_s = float(said.get("expires_in") or 60)
    except (ValueError, AttributeError, TypeError, RecursionError):
        token, valid_s = None, 0.0
    if not isinstance(token, str) or not token.isascii() or not token.isprintable():
        raise RegistryError(f"{host}: no token in the response of its token server")
    return f"Bearer {token}", min(max(valid_s - 10, 1), 3600)


def _public(url: str) -> str:
    """Return a place without its query and user, which may be a signature or a password."""
    parts = parse_url(url)
    return str(parts._replace(auth=None, query=None, fragment=None).url)


def _place(url: str) -> tuple[str | None, str | None, int | None]:
    """Return where a request for `url` goes: urlsplit finds another host in `other\\@host`."""
    parts = parse_url(url)
    return (
        parts.scheme,
        parts.host,
        parts.port or {"http": 80, "https": 443}.get(parts.scheme or ""),
    )


def _let_go(raw: Any) -> None:
    """Give the connection back if little of its response is unread; else close it."""
    if 0 < (raw.length_remaining or 0) <= _LITTLE_BYTES:
        with suppress(RegistryError):
            list(Response(raw, "", _LITTLE_WAIT_S).pieces(_LITTLE_BYTES))
    if raw.length_remaining == 0:
        raw.drain_conn()
    else:
        raw.close()
    raw.release_conn()
