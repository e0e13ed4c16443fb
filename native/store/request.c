#include "request.h"

#include <asm/unistd_64.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>

#include "../file_fallback/system.h"
#include "connection.h"
#include "which.h"

/* A slow answer is better than the program's end. */
enum { LIMIT_S = 60, ATTEMPTS = 3, HEAD_BYTES = 16384, REQUEST_BYTES = 4 * ADDRESS_BYTES, LONGEST_HEADER = 1000,
       LARGEST_ANSWER = 4 << 20 };

static int64_t now_ms(void) {
  struct timespec now;
  KERNEL(__NR_clock_gettime, CLOCK_MONOTONIC, &now, 0, 0);
  return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Read `registry` beside the fetcher, one line of printed ASCII; returns 0 without one. */
static int read_registry(const char *fetcher, char line[LONGEST_HEADER + 2]) {
  char path[ADDRESS_BYTES];
  struct text text = text_in(path, sizeof path);
  int has_folder = 0;
  for (const char *at = fetcher; *at; at++) has_folder |= *at == '/';
  if (has_folder) put(&text, fetcher);
  else {
    long length = KERNEL(__NR_readlink, "/proc/self/exe", path, sizeof path - 1, 0);
    text.at += length > 0 ? length : 0;
    *text.at = 0;
  }
  cut_last(path);
  text.at = path + strlen(path);
  put(&text, "/registry");
  long file = text.whole ? open_path(AT_FDCWD, path, O_RDONLY | O_NONBLOCK, 0) : -1;
  if (file < 0) return 0;
  long got = KERNEL(__NR_read, file, line, LONGEST_HEADER + 2, 0);
  close_file(file);
  if (got > 0 && line[got - 1] == '\n') got--;
  if (got <= 0 || got > LONGEST_HEADER) return 0;
  line[got] = 0;
  for (long i = 0; i < got; i++)
    if (line[i] <= ' ' || line[i] > '~') return 0;
  return 1;
}

static int is_unreserved(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') ||
         byte == '-' || byte == '.' || byte == '_' || byte == '~';
}

static int encode(const char *piece, char encoded[LONGEST_HEADER + 1]) {
  static const char digits[] = "0123456789ABCDEF";
  struct text text = text_in(encoded, LONGEST_HEADER + 1);
  for (; *piece && *piece != '\n' && text.whole; piece++) {
    uint8_t byte = (uint8_t)*piece;
    char code[3] = {'%', digits[byte >> 4], digits[byte & 15]};
    if (is_unreserved(*piece)) put_part(&text, piece, 1);
    else put_part(&text, code, sizeof code);
  }
  return text.whole && *encoded;
}

static void write_request(struct text *request, const struct address *address, const char *fetcher,
                          const char *piece) {
  char header[LONGEST_HEADER + 2];
  put(request, "GET ");
  put(request, address->path);
  put(request, " HTTP/1.0\r\nHost: ");
  put(request, address->port ? address->host : "localhost");
  if (address->port) {
    put(request, ":");
    put_number(request, address->port, 1);
  }
  put(request, "\r\nConnection: close\r\n");
  if (read_registry(fetcher, header)) {
    put(request, "Trimtab-Index: ");
    put(request, header);
    put(request, "\r\n");
  }
  if (encode(piece, header)) {
    put(request, "Trimtab-Piece: ");
    put(request, header);
    put(request, "\r\n");
  }
  put(request, "\r\n");
}

static int send_all(long connection, const struct text *request) {
  for (const char *at = request->begin; at < request->at;) {
    long part = kernel(__NR_sendto, connection, (long)at, request->at - at, MSG_NOSIGNAL, 0, 0);
    if (part <= 0) return 0;
    at += part;
  }
  return 1;
}

/* The length of a head that is complete, with the empty line at its end; 0 of any other. */
static size_t head_of(const char *answer, size_t have) {
  for (size_t at = 0; at + 4 <= have && at < HEAD_BYTES; at++)
    if (!memcmp(answer + at, "\r\n\r\n", 4)) return at + 4;
  return 0;
}

/* The length that a head gives its body; -1 without one. */
static long content_length(const char *head, size_t bytes, size_t most) {
  static const char name[] = "\r\ncontent-length:";
  for (size_t at = 0; at + sizeof name < bytes; at++) {
    size_t same = 0, length = 0;
    while (name[same] && (head[at + same] == name[same] || (head[at + same] | 0x20) == name[same])) same++;
    if (name[same]) continue;
    const char *digit = head + at + same;
    while (*digit == ' ') digit++;
    if (*digit < '0' || *digit > '9') return -1;
    for (; *digit >= '0' && *digit <= '9' && length <= most; digit++) length = 10 * length + (size_t)(*digit - '0');
    return length <= most ? (long)length : -1;
  }
  return -1;
}

static int status_of_answer(const char *head) {
  if (!begins_with(head, "HTTP/1.") || !head[7] || head[8] != ' ') return FAILED;
  const char *code = head + 9;
  if (begins_with(code, "200 ") || begins_with(code, "200\r")) return FETCHED;
  if (begins_with(code, "404")) return NOT_NAMED;
  return *code == '4' ? REFUSED : FAILED;
}

/* Read an answer: only a complete one counts. */
static int receive(long connection, int64_t until_ms, struct body *body) {
  static char answer[LARGEST_ANSWER];
  size_t have = 0, head = 0;
  long part = 0, length = -1;
  while (have < sizeof answer) {
    struct pollfd source = {(int)connection, POLLIN, 0};
    int64_t left = until_ms - now_ms();
    if (left <= 0 || KERNEL(__NR_poll, &source, 1, left, 0) <= 0) return FAILED;
    part = KERNEL(__NR_read, connection, answer + have, sizeof answer - have, 0);
    if (part <= 0) break;
    have += (size_t)part;
    if (!head && (head = head_of(answer, have))) {
      int status = status_of_answer(answer);
      if (status != FETCHED) return status;
      length = content_length(answer, head, sizeof answer);
    }
    if (head && length >= 0 && have >= head + (size_t)length) break;
  }
  if (!head || length <= 0 || have != head + (size_t)length) return FAILED;
  *body = (struct body){answer + head, (size_t)length};
  return FETCHED;
}

int get(const char *fetcher, const char *address, const char *piece, struct body *body) {
  static char buffer[REQUEST_BYTES];
  static struct address parsed;
  struct text request = text_in(buffer, sizeof buffer);
  if (!parse_address(address, &parsed)) return USAGE;
  write_request(&request, &parsed, fetcher, piece);
  if (!request.whole) return USAGE;
  int64_t until_ms = now_ms() + LIMIT_S * 1000;
  int status = FAILED;
  for (int attempt = 0; attempt < ATTEMPTS && status == FAILED && now_ms() < until_ms; attempt++) {
    long connection = connect_to(&parsed, LIMIT_S);
    if (connection < 0) return NO_SERVER;
    status = send_all(connection, &request) ? receive(connection, until_ms, body) : FAILED;
    close_file(connection);
  }
  return status;
}
