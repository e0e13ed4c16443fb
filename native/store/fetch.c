/* trimtab-fetch ADDRESS FILE: write the data at an http:// address to a file, atomically, and make
 * its parent folders. Exits with 0 if the file exists then. Readers check the data. */
#define _GNU_SOURCE
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

enum { LIMIT_S = 20, ATTEMPTS = 3, HEAD_BYTES = 16384, LARGEST_BYTES = 4 << 20 };

struct address {
  char host[256], port[8];
  const char *path;
};

static int parse(const char *text, struct address *address) {
  const char *begin = text + strlen("http://");
  if (strncmp(text, "http://", strlen("http://"))) return 0;
  size_t length = strcspn(begin, "/");
  address->path = begin[length] ? begin + length : "/";
  const char *colon = memchr(begin, ':', length);
  size_t host = colon ? (size_t)(colon - begin) : length;
  if (!host || host >= sizeof address->host) return 0;
  snprintf(address->host, sizeof address->host, "%.*s", (int)host, begin);
  snprintf(address->port, sizeof address->port, "%.*s", colon ? (int)(length - host - 1) : 2,
           colon ? colon + 1 : "80");
  return 1;
}

static int connect_to(const struct address *address) {
  struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list = NULL;
  struct timeval limit = {.tv_sec = LIMIT_S};
  if (getaddrinfo(address->host, address->port, &hints, &list)) return -1;
  int connection = -1;
  for (struct addrinfo *one = list; one && connection < 0; one = one->ai_next) {
    connection = socket(one->ai_family, one->ai_socktype | SOCK_CLOEXEC, one->ai_protocol);
    if (connection < 0) continue;
    setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    if (connect(connection, one->ai_addr, one->ai_addrlen) == 0) break;
    close(connection);
    connection = -1;
  }
  freeaddrinfo(list);
  return connection;
}

static int send_all(int connection, const char *text, size_t bytes) {
  for (size_t sent = 0; sent < bytes;) {
    ssize_t part = send(connection, text + sent, bytes - sent, MSG_NOSIGNAL);
    if (part <= 0) return 0;
    sent += (size_t)part;
  }
  return 1;
}

/* Read the answer into `body`; returns its length, or 0 for any answer but a complete 200. */
static size_t receive(int connection, char *body, size_t room) {
  size_t have = 0;
  ssize_t part;
  while (have < room && (part = recv(connection, body + have, room - have, 0)) > 0)
    have += (size_t)part;
  char *end = memmem(body, have < HEAD_BYTES ? have : HEAD_BYTES, "\r\n\r\n", 4);
  if (!end || strncmp(body, "HTTP/1.", 7) || strncmp(body + 8, " 200 ", 5)) return 0;
  *end = 0;
  const char *length = strcasestr(body, "\r\ncontent-length:");
  size_t bytes = have - (size_t)(end + 4 - body);
  if (!length || strtoul(length + strlen("\r\ncontent-length:"), NULL, 10) != bytes) return 0;
  memmove(body, end + 4, bytes);
  return bytes;
}

static size_t get(const struct address *address, char *body, size_t room) {
  char request[8192];
  int length = snprintf(request, sizeof request,
                        "GET %s HTTP/1.0\r\nHost: %s:%s\r\nConnection: close\r\n\r\n", address->path,
                        address->host, address->port);
  if (length >= (int)sizeof request) return 0;
  int connection = connect_to(address);
  if (connection < 0) return 0;
  size_t bytes = send_all(connection, request, (size_t)length) ? receive(connection, body, room) : 0;
  close(connection);
  return bytes;
}

static void make_folders(char *path) {
  for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
    *slash = 0;
    mkdir(path, 0700);
    *slash = '/';
  }
}

static int write_whole(char *path, const char *body, size_t bytes) {
  char temporary[4096 + 16];
  make_folders(path);
  if (snprintf(temporary, sizeof temporary, "%s.XXXXXX", path) >= (int)sizeof temporary) return 0;
  int file = mkstemp(temporary);
  if (file < 0) return 0;
  int whole = write(file, body, bytes) == (ssize_t)bytes;
  if (close(file) || !whole || rename(temporary, path)) {
    unlink(temporary);
    return 0;
  }
  return 1;
}

int main(int count, char **words) {
  static char body[LARGEST_BYTES];
  struct address address;
  if (count != 3 || !parse(words[1], &address)) {
    fprintf(stderr, "usage: trimtab-fetch http://HOST[:PORT]/PATH FILE\n");
    return 2;
  }
  for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
    size_t bytes = get(&address, body, sizeof body);
    if (bytes) return write_whole(words[2], body, bytes) ? 0 : 1;
  }
  return 1;
}
