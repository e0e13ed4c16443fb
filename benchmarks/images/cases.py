"""Images of ordinary software: what is in each, what runs in it, and what is asked of it.

The smallest images are of the smallest Debian (`debootstrap --variant=minbase`) and the software's
package. Those of `registries.py` have what the images of public registries have besides.
"""

import sys
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path

DRIVE = Path(__file__).with_name("drive.py")


class Base(StrEnum):
    """What an image is built on: the smallest Debian, and what registries make of it."""

    MINIMAL = "minimal"
    NO_DOCUMENTATION = "no_documentation"  # as registries' Debian called slim
    FOR_BUILDING = "for_building"  # with compilers, headers and version control


@dataclass(frozen=True)
class Case:
    """An image: Debian packages, what runs in it and, of a server, the requests on its port.

    Of the same `software` several images are built. `volume` is a folder to which a run's user
    writes, mounted from outside; `set_up` is a shell command that ends an image's making.
    """

    software: str
    packages: tuple[str, ...]
    command: tuple[str, ...]
    port: int | None = None
    held_out: tuple[str, ...] = ()  # a command that is not traced
    user: str = ""
    base: Base = Base.MINIMAL
    volume: str = ""
    conda_prefix: str = ""  # where conda's own tools make an environment (conda.py)
    wheels: tuple[str, ...] = ()  # for Debian's Python
    byte_code: bool = False  # of these, as pip makes it by default
    set_up: str = ""
    files: dict[str, str] = field(default_factory=dict)

    def on(self, base: Base, packages: tuple[str, ...], set_up: str = "") -> "Case":
        """Return the same, built as registries' images are: on `base`, with more packages."""
        return replace(self, base=base, packages=(*self.packages, *packages), set_up=set_up)

    def drive(self, held_out: bool = False) -> tuple[str, ...]:
        """Return the requests to the server."""
        more = ("--held-out",) if held_out else ()
        return (sys.executable, str(DRIVE), self.software, str(self.port), *more)


_POSTGRES = (
    "set -e; bin=$(echo /usr/lib/postgresql/*/bin); $bin/initdb -A trust -D /tmp/d > /tmp/init;"
    " $bin/pg_ctl -w -s -D /tmp/d -o '-k /tmp -h \"\"' -l /tmp/log start;"
    " psql -h /tmp -Atc '{}' postgres; $bin/pg_ctl -w -s -D /tmp/d stop"
)
_SCRIPT = (
    "import json, re, sqlite3;"
    " print(json.dumps({'sum': sum(range(10)), 'find': re.findall('a.', 'abac')}))"
)
_TRAINING = """
import sys, torch
from torch import nn
torch.manual_seed(0)
torch.set_num_threads(1)
net = nn.Sequential(nn.Conv2d(1, 6, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                    nn.Linear(864, 84), nn.ReLU(), nn.Linear(84, 10))
images, labels = torch.rand(640, 1, 28, 28), torch.randint(10, (640,))
optimiser = torch.optim.Adam(net.parameters())
batch = int(sys.argv[1])
for epoch in range(2):
    for start in range(0, len(images), batch):
        optimiser.zero_grad()
        part = slice(start, start + batch)
        loss = nn.functional.cross_entropy(net(images[part]), labels[part])
        loss.backward()
        optimiser.step()
    print(epoch, loss.item())
"""
_JAVA = "cd /tmp && cp /srv/Hello.java . && javac Hello.java && java -cp . Hello"
_HELLO = """
import java.util.stream.*;
public class Hello {
    public static void main(String[] words) {
        System.out.println(IntStream.range(0, Integer.parseInt(words[0])).boxed()
            .map(String::valueOf).collect(Collectors.joining(",")));
    }
}
"""
_NOTES = (  # what it wrote in an earlier run is there in the next one
    "umask 077; echo {} >> /data/notes; sort -u /data/notes > /data/sorted; id -u; cat /data/sorted"
)
SMALLEST = {
    "python": Case(
        "python",
        ("python3",),
        ("python3", "-c", _SCRIPT),
        held_out=("python3", "-c", _SCRIPT.replace("10", "99")),
    ),
    "nginx": Case(
        "nginx", ("nginx-light",), ("nginx", "-g", "daemon off;"), port=8411,
        files={"etc/nginx/conf.d/port.conf": "server { listen 8411; root /var/www/html;"
               " index index.nginx-debian.html; }"},
    ),
    "redis": Case(
        "redis", ("redis-server",), ("redis-server", "--port", "8412", "--save", ""), port=8412
    ),
    "caddy": Case(
        "caddy", ("caddy",),
        ("caddy", "file-server", "--root", "/srv", "--listen", "127.0.0.1:8414"), port=8414,
        files={"srv/index.html": "<p>the first page</p>\n",
               "srv/second.html": "<p>the second page</p>\n"},
    ),
    "memcached": Case(
        "memcached", ("memcached",), ("memcached", "-p", "8413", "-u", "nobody"), port=8413
    ),
    "postgres": Case(
        "postgres",
        ("postgresql",),
        ("sh", "-c", _POSTGRES.format("select 6 * 7, version() is not null")),
        held_out=("sh", "-c", _POSTGRES.format("select sum(i) from generate_series(1, 9) i")),
        user="postgres",
    ),
    "node": Case(
        "node",
        ("nodejs",),
        ("node", "-e", "console.log(JSON.stringify({sum: [1, 2, 3].reduce((a, b) => a + b)}))"),
        held_out=("node", "-e", "console.log([3, 1, 2].sort().join())"),
    ),
    "r": Case(
        "r",
        ("r-base-core",),
        ("Rscript", "-e", "set.seed(1); print(summary(lm(dist ~ speed, cars))$r.squared)"),
        held_out=("Rscript", "-e", "print(quantile(cars$dist))"),
    ),
    "jvm": Case(
        "jvm",
        ("default-jdk-headless",),
        ("sh", "-c", f"{_JAVA} 3"),
        held_out=("sh", "-c", f"{_JAVA} 8"),
        files={"srv/Hello.java": _HELLO},
    ),
    "busybox": Case(
        "busybox",
        ("busybox-static",),
        ("busybox", "sh", "-c", "echo b a | tr ' ' '\\n' | busybox sort"),
        held_out=("busybox", "sh", "-c", "busybox seq 3 | busybox tac"),
    ),
    "torch": Case(
        "torch", ("python3",), ("python3", "/srv/train.py", "32"),
        wheels=("torch==2.13.0", "numpy"), held_out=("python3", "/srv/train.py", "50"),
        files={"srv/train.py": _TRAINING},
    ),
    "conda": Case(
        "conda", (), ("/opt/env/bin/measure", "4", "det"), conda_prefix="/opt/env",
        held_out=("/opt/env/bin/measure", "5", "norm"),
    ),
    "cron": Case(
        "cron",
        ("cron",),
        ("sh", "-c", "mkdir -p /tmp/j && printf 'echo ran > /tmp/j/out' > /tmp/j/job.sh"
         " && (cron -f & p=$!; sleep 1; kill $p) && sh /tmp/j/job.sh && cat /tmp/j/out"),
    ),
    "volume": Case(
        "volume", (), ("sh", "-c", _NOTES.format("first")), volume="/data", user="games",
        set_up="mkdir /data && chown games /data",
        held_out=("sh", "-c", _NOTES.format("second") + "; wc -l < /data/notes"),
    ),
}  # fmt: skip
SMALLEST["torch_with_byte_code"] = replace(SMALLEST["torch"], byte_code=True)
_FLASK = """
import flask
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

app = flask.Flask(__name__)
features, kinds = load_iris(return_X_y=True)
model = LogisticRegression(max_iter=500).fit(features, kinds)

@app.route("/")
def predicted():
    return flask.jsonify(kinds=model.predict(features[::10]).tolist())

@app.route("/fails")
def fails():
    return str(1 // len(flask.request.args))

app.run(port=8415)
"""
_PHP = """<?php
if (isset($_GET['more'])) echo md5(serialize(new DateTime('2026-01-02'))), intdiv(1, 0);
else echo json_encode(array_map('strrev', ['one', 'two']));
"""
_GIT = (
    "set -e; cd $(mktemp -d); git init -q .; echo a > f; git add f;"
    " git -c user.name=a -c user.email=a@b commit -qm first; {}"
)
# Of software that no other table has: what is pushed and comes back from a registry.
NEW = {
    "flask": Case(
        "flask", ("python3-flask", "python3-sklearn"), ("python3", "/srv/app.py"), port=8415,
        files={"srv/app.py": _FLASK},
    ),
    "php": Case(
        "php", ("apache2", "libapache2-mod-php"), ("apache2ctl", "-D", "FOREGROUND"), port=8416,
        files={"etc/apache2/ports.conf": "Listen 8416\n", "var/www/html/page.php": _PHP},
        set_up="sed -i 's/:80>/:8416>/' /etc/apache2/sites-available/000-default.conf;"
        " echo ServerName localhost >> /etc/apache2/apache2.conf",
    ),
    "ruby": Case(
        "ruby", ("ruby",), ("ruby", "-rjson", "-e", "puts JSON.dump([1, 2].sum)"),
        held_out=("ruby", "-rdigest", "-rset", "-e", "puts Digest::SHA256.hexdigest('a'), Set[1]"),
    ),
    "imagemagick": Case(
        "imagemagick", ("imagemagick",), ("convert", "rose:", "-resize", "50%", "txt:-"),
        held_out=("convert", "rose:", "-blur", "0x2", "txt:-"),
    ),
    "git": Case(
        "git", ("git",), ("sh", "-c", _GIT.format("git log --format=%s")),
        held_out=("sh", "-c", _GIT.format("echo b >> f; git diff --stat; git grep -c a HEAD")),
    ),
}  # fmt: skip
