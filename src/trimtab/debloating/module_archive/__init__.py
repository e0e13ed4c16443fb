"""An archive of the byte code that runs read, from which Python imports in few system calls."""
