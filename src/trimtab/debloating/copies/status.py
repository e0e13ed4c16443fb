"""Permissions, owner, dates and attributes of a copied file or folder."""

import errno
import os
import stat

_NO_ATTRIBUTE = {errno.EOPNOTSUPP, errno.EPERM, errno.EACCES, errno.EINVAL, errno.ENODATA}
# Access control lists, and attributes that users set; no capabilities of a program.
_ATTRIBUTES = ("user.", "system.posix_acl_")
_CAPABILITY = "security.capability"
_NOT_GIVEN = {errno.EPERM, errno.EINVAL}  # EINVAL: an owner that our user namespace lacks


def copy_status(
    source: str | int, copy: int, status: os.stat_result, *, in_root: bool = False
) -> None:
    """Give a copy, by its descriptor, the permissions, dates and attributes of its original.

    We own it, and no set-user-ID bit makes programs run as us. With `in_root`, in the copy of a
    root file system, it gets the original's owner, and so its set-user-ID bits and capabilities,
    where we may set the owner.
    """
    mode = stat.S_IMODE(status.st_mode)
    as_it_was = in_root and give(copy, status)
    if stat.S_ISDIR(status.st_mode):
        mode |= 0 if as_it_was and os.geteuid() == 0 else stat.S_IRWXU  # we have to write there
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
    """Set the owner of a file, or of a link by its name in `folder`; return whether we may."""
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
