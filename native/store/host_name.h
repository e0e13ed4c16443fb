/* Look up a host's IPv4 address: the number itself, /etc/hosts, and the servers of
 * /etc/resolv.conf. A C library cannot be had: a slim root's may lack what looks names up. */
#ifndef TRIMTAB_HOST_NAME_H
#define TRIMTAB_HOST_NAME_H

#include <stdint.h>

/* Write the address in network order; returns 0 if the host is not found. */
int find_host(const char *name, uint32_t *address);

#endif
