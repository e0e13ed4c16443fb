#include "connection.h"

#include <asm/unistd_64.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include "../file_fallback/system.h"
#include "host_name.h"

/* The last two components are the request's path. */
static int parse_socket(const char *text, struct address *address) {
  size_t end = strlen(text), slashes = 0;
  while (end && slashes < 2) slashes += text[--end] == '/';
  address->path = text + end;
  while (end && text[end - 1] == '/') end--;
  struct text host = text_in(address->host, sizeof address->host);
  put_part(&host, text, end);
  return slashes == 2 && end && host.whole;
}

int parse_address(const char *text, struct address *address) {
  static const char http[] = "http://", unix_socket[] = "unix:";
  address->port = 0;
  if (begins_with(text, unix_socket)) return parse_socket(text + sizeof unix_socket - 1, address);
  if (!begins_with(text, http)) return 0;
  const char *begin = text + sizeof http - 1, *end = begin;
  while (*end && *end != '/' && *end != ':') end++;
  struct text host = text_in(address->host, sizeof address->host);
  put_part(&host, begin, (size_t)(end - begin));
  unsigned port = *end == ':' ? 0 : 80;
  if (*end == ':')
    while (*++end >= '0' && *end <= '9' && port < 1 << 16) port = 10 * port + (unsigned)(*end - '0');
  address->port = (uint16_t)port;
  address->path = *end ? end : "/";
  return host.whole && end > begin && port && port < 1 << 16 && *address->path == '/';
}

long connect_to(const struct address *address, int seconds) {
  struct sockaddr_un local = {.sun_family = AF_UNIX};
  struct sockaddr_in remote = {.sin_family = AF_INET, .sin_port = __builtin_bswap16(address->port)};
  struct timeval limit = {.tv_sec = seconds};
  int by_name = address->port != 0;
  struct text path = text_in(local.sun_path, sizeof local.sun_path);
  if (by_name && !find_host(address->host, &remote.sin_addr.s_addr)) return -EHOSTUNREACH;
  if (!by_name) put(&path, address->host);
  if (!path.whole) return -ENAMETOOLONG;
  long connection = KERNEL(__NR_socket, by_name ? AF_INET : AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, 0);
  if (connection < 0) return connection;
  kernel(__NR_setsockopt, connection, SOL_SOCKET, SO_SNDTIMEO, (long)&limit, sizeof limit, 0);
  long error = by_name ? KERNEL(__NR_connect, connection, &remote, sizeof remote, 0)
                       : KERNEL(__NR_connect, connection, &local, sizeof local, 0);
  if (!error) return connection;
  close_file(connection);
  return error;
}
