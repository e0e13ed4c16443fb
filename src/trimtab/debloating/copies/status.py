"""What a copy of a file or folder has of its original besides content."""

import errno
import os
import stat

_NO_ATTRIBUTE = {errno.EOPNOTSUPP, errno.EPERM, errno.EACCES, errno.EINVAL, errno.ENODATA}
# Lists of who may what, and what people keep with their files; no capability of a program.
_ATTRIBUTES = ("user.", "system.posix_acl_")
_CAPABILITY = "security.capability"
_NOT_GIVEN = {errno.EPERM, errno.EINVAL}  # EINVAL: an owner who is none in our user namespace


def copy_status(
    source: str | int, copy: int, status: os.stat_result, *, in_root: bool = False
) -> None:
    """Give a copy, by its descriptor, permissions, dates and attributes of its original.

    Its owner is ours, and nothing has a program run as that. `in_root`, in the copy of a root file
    system, it has the original's owner and all that this brings, where we may give it.
    """
    mode = stat.S_IMODE(status.st_mode)
    as_it_was = in_root and give(copy, status)
    if stat.S_ISDIR(status.st_mode):
        mode |= 0 if as_it_was and os.geteuid() == 0 else stat.S_IRWXU  # who has to write there
    elif not as_it_was:
        mode &= 0o1777
    wanted = (*_ATTRIBUTES, _CAPABILITY) if as_it_was else _ATTRIBUTES
    for attribute in _attributes(source, wanted):
        try:
            os.setxattr(copy, attribute, os.getxattr(source, attribute))
        except OSError as error:
            if error.errno not in _NO_ATTRIBUTE:
                raise
    os.fchmod(copy, mode)
    os.utime(copy, ns=(status.st_atime_ns, status.st_mtime_ns))


def give(copy: int | str, status: os.stat_result, folder: int | None = None) -> bool:
    """Give a file, or a link by its name in `folder`, to an original's owner, if we may."""
    try:
        os.chown(copy, status.st_uid, status.st_gid, dir_fd=folder, follow_symlinks=folder is None)
    except OSError as error:
        if error.errno in _NOT_GIVEN:
            return False
        raise
    return True


def _attributes(source: str | int, wanted: tuple[str, ...]) -> list[str]:
    try:
        return [name for name in os.listxattr(source) if name.startswith(wanted)]
    except OSError as error:
        if error.errno in _NO_ATTRIBUTE:
            return []
        raise
