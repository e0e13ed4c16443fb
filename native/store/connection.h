/* Connect to a store's server. */
#ifndef TRIMTAB_CONNECTION_H
#define TRIMTAB_CONNECTION_H

#include <stdint.h>

enum { ADDRESS_BYTES = 4096 };

struct address {
  char host[ADDRESS_BYTES]; /* a name or IPv4 number, or a socket's path */
  uint16_t port;            /* 0 for a socket's path */
  const char *path;         /* of the request */
};

/* Parse http://HOST[:PORT]/PATH or unix:SOCKET/FOLDER/NAME; returns 0 for another text. */
int parse_address(const char *text, struct address *address);

/* A connection, or -errno. Sending waits for `seconds`. */
long connect_to(const struct address *address, int seconds);

#endif
