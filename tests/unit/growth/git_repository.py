"""Small git repositories with commits at chosen times, and what git itself says of them."""

import subprocess
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

YEAR_S = 31_557_600  # 365.25 days: never twice in one year, nor past one
BEGIN = int(datetime(2001, 6, 1, tzinfo=UTC).timestamp())


class GitRepository:
    """A repository that a test makes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True)
        self.git("init", "-q", "-b", "main")

    def git(self, *words: str, at_s: int = BEGIN) -> str:
        environment = {
            "PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@a", "GIT_AUTHOR_DATE": f"{at_s} +0000",
            "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@a",
            "GIT_COMMITTER_DATE": f"{at_s} +0000",
        }  # fmt: skip
        return subprocess.run(
            ["git", *words], cwd=self.folder, env=environment, check=True, capture_output=True,
            text=True,
        ).stdout  # fmt: skip

    def commit(self, at_s: int, files: dict[str, str | bytes | None]) -> None:
        for name, content in files.items():
            path = self.folder / name
            if content is None:
                path.unlink()
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        self.git("add", "-A", at_s=at_s)
        self.git("commit", "-q", "--allow-empty", "-m", "more", at_s=at_s)

    def blamed(self, *names: str, revision: str = "HEAD") -> Counter[int]:
        """The lines of files by year, as git blame says."""
        found: Counter[int] = Counter()
        for name in names:
            for line in self.git("blame", "--line-porcelain", revision, "--", name).splitlines():
                key, _, value = line.partition(" ")
                if key == "committer-time":
                    found[datetime.fromtimestamp(int(value), UTC).year] += 1
        return found


def numbered(*numbers: int) -> str:
    return "".join(f"line {number}\n" for number in numbers)
