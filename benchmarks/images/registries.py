"""Images as public registries have them, rebuilt of Debian's packages.

Which base each has, and what is installed besides the software, is as the Dockerfiles of the Docker
Official Images say (buildpack-deps, python, node, postgres, redis, memcached) and nginx's own say,
for Debian 12. What these compile themselves, or have from the maker's own packages, is Debian's
package of it: the programs are Debian's, the rest of the image is the same. Images of a Debian
without documentation are smaller than the smallest Debian is, so that less of them can go.
"""

from cases import SMALLEST, Base, Case

NAMES = "{}_as_in_registries"
# The layers curl, scm and the last one of buildpack-deps.
FOR_BUILDING = (
    *("ca-certificates", "curl", "gnupg", "netbase", "sq", "wget"),
    *("git", "mercurial", "openssh-client", "subversion", "procps"),
    *("autoconf", "automake", "bzip2", "default-libmysqlclient-dev", "dpkg-dev", "file", "g++"),
    *("gcc", "imagemagick", "libbz2-dev", "libc6-dev", "libcurl4-openssl-dev", "libdb-dev"),
    *("libevent-dev", "libffi-dev", "libgdbm-dev", "libglib2.0-dev", "libgmp-dev", "libjpeg-dev"),
    *("libkrb5-dev", "liblzma-dev", "libmagickcore-dev", "libmagickwand-dev", "libmaxminddb-dev"),
    *("libncurses5-dev", "libncursesw5-dev", "libpng-dev", "libpq-dev", "libreadline-dev"),
    *("libsqlite3-dev", "libssl-dev", "libtool", "libwebp-dev", "libxml2-dev", "libxslt-dev"),
    *("libyaml-dev", "make", "patch", "unzip", "xz-utils", "zlib1g-dev"),
)
_PYTHON = (
    *("libbluetooth-dev", "tk-dev", "uuid-dev", "python3-dev", "python3-venv"),
    *("python3-pip", "python3-setuptools", "python3-wheel", "idle-python3.11"),
)
REGISTRIES: dict[str, Case] = {
    NAMES.format(name): SMALLEST[name].on(*more)
    for name, more in {
        "python": (Base.FOR_BUILDING, _PYTHON),
        "torch_with_byte_code": (Base.FOR_BUILDING, _PYTHON),  # pip's, on Python's image
        "node": (Base.FOR_BUILDING, ("npm", "yarnpkg", "libnode-dev")),
        "nginx": (
            Base.NO_DOCUMENTATION,
            (
                *("ca-certificates", "curl", "gettext-base", "libnginx-mod-http-xslt-filter"),
                *("libnginx-mod-http-geoip", "libnginx-mod-http-image-filter"),
                "libnginx-mod-http-js",
            ),
            "rm /etc/nginx/modules-enabled/*",  # of which nginx's own image loads none
        ),
        "redis": (Base.NO_DOCUMENTATION, ("gosu", "tzdata")),
        "memcached": (Base.NO_DOCUMENTATION, ("libsasl2-modules",)),
        "postgres": (
            Base.NO_DOCUMENTATION,
            ("gnupg", "gosu", "less", "libnss-wrapper", "locales", "xz-utils", "zstd"),
            "localedef -i en_US -f UTF-8 en_US.UTF-8",
        ),
    }.items()
}
