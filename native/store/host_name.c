/* Formats: hosts(5), resolv.conf(5), RFC 1035 section 4. */
#include "host_name.h"

#include <asm/unistd_64.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include "../file_fallback/system.h"

enum { FILE_BYTES = 1 << 16, MESSAGE_BYTES = 1232, NAME_BYTES = 256, HEAD_BYTES = 12, TYPE_A = 1, CLASS_IN = 1,
       DNS_PORT = 53, WAIT_MS = 2000, ATTEMPTS = 2 };

static int is_number(const char *text, uint32_t *address) {
  uint8_t parts[4];
  for (int i = 0; i < 4; i++) {
    unsigned value = 0;
    const char *begin = text;
    while (*text >= '0' && *text <= '9' && value < 256) value = 10 * value + (unsigned)(*text++ - '0');
    if (text == begin || value > 255 || *text++ != (i < 3 ? '.' : 0)) return 0;
    parts[i] = (uint8_t)value;
  }
  memcpy(address, parts, sizeof parts);
  return 1;
}

static void read_text(const char *path, char *to) {
  long file = open_path(AT_FDCWD, path, O_RDONLY | O_NONBLOCK, 0);
  long got = file < 0 ? 0 : KERNEL(__NR_read, file, to, FILE_BYTES - 1, 0);
  to[got > 0 ? got : 0] = 0;
  if (file >= 0) close_file(file);
}

/* The next word of a line, ended by a zero; NULL at the line's end, where *at is on its newline. */
static char *next_word(char **at) {
  char *begin = *at;
  while (*begin == ' ' || *begin == '\t' || *begin == '\r') begin++;
  if (*begin == '#' || *begin == ';')
    while (*begin && *begin != '\n') begin++;
  *at = begin;
  return *begin && *begin != '\n' ? begin : NULL;
}

static size_t length_of_word(const char *word) {
  size_t length = 0;
  while ((unsigned char)word[length] > ' ') length++;
  return length;
}

static int is_word(const char *word, size_t length, const char *name) {
  for (size_t i = 0; i < length; i++)
    if ((word[i] | 0x20) != (name[i] | 0x20)) return 0;
  return !name[length];
}

static int number_of_word(const char *word, size_t length, uint32_t *address) {
  char number[16];
  struct text text = text_in(number, sizeof number);
  put_part(&text, word, length);
  return text.whole && is_number(number, address);
}

static int is_in_hosts(char *file, const char *name, uint32_t *address) {
  for (char *at = file, *word; *at; at += *at == '\n') {
    uint32_t number;
    int known = 0;
    for (int i = 0; (word = next_word(&at)); i++) {
      size_t length = length_of_word(word);
      if (!i) known = number_of_word(word, length, &number);
      else if (known && is_word(word, length, name)) {
        *address = number;
        return 1;
      }
      at = word + length;
    }
  }
  return 0;
}

/* Write the question; returns the message's length, 0 if the name cannot be one. */
static size_t ask(uint8_t *message, uint16_t id, const char *name, const char *domain, size_t domain_bytes) {
  static const uint8_t tail[] = {0, 0, TYPE_A, 0, CLASS_IN};
  char whole[NAME_BYTES];
  struct text text = text_in(whole, sizeof whole - 2);
  put(&text, name);
  if (domain_bytes) put(&text, "."), put_part(&text, domain, domain_bytes);
  memset(message, 0, HEAD_BYTES);
  memcpy(message, &id, sizeof id);
  message[2] = 1; /* recursion is wanted */
  message[5] = 1; /* question */
  size_t at = HEAD_BYTES;
  for (const char *label = whole; *label;) {
    size_t length = 0;
    while (label[length] && label[length] != '.') length++;
    if (!length || length > 63) return 0;
    message[at++] = (uint8_t)length;
    memcpy(message + at, label, length);
    at += length;
    label += length + (label[length] == '.');
  }
  memcpy(message + at, tail, sizeof tail);
  return text.whole ? at + sizeof tail : 0;
}

/* The place behind a name, or 0 if it does not end in the message. */
static size_t after_name(const uint8_t *message, size_t bytes, size_t at) {
  while (at < bytes && message[at] && message[at] < 64) at += message[at] + 1u;
  return at >= bytes ? 0 : at + (message[at] ? 2 : 1);
}

static int find_answer(const uint8_t *message, size_t bytes, uint32_t *address) {
  if (bytes < HEAD_BYTES || message[3] & 15) return 0;
  unsigned answers = message[6] << 8 | message[7];
  size_t at = after_name(message, bytes, HEAD_BYTES);
  if (!at) return 0;
  for (at += 4; answers; answers--) {
    if (!(at = after_name(message, bytes, at)) || at + 10 > bytes) return 0;
    const uint8_t *row = message + at;
    size_t length = (size_t)(row[8] << 8 | row[9]);
    at += 10 + length;
    if (at > bytes) return 0;
    if (!row[0] && row[1] == TYPE_A && !row[2] && row[3] == CLASS_IN && length == 4) {
      memcpy(address, row + 10, 4);
      return 1;
    }
  }
  return 0;
}

static int ask_server(uint32_t server, const char *name, const char *domain, size_t domain_bytes,
                      uint32_t *address) {
  static uint8_t question[MESSAGE_BYTES], message[MESSAGE_BYTES];
  struct sockaddr_in place = {AF_INET, __builtin_bswap16(DNS_PORT), {server}, {0}};
  uint16_t id = 0;
  KERNEL(__NR_getrandom, &id, sizeof id, 0, 0);
  size_t bytes = ask(question, id, name, domain, domain_bytes);
  long link = bytes ? KERNEL(__NR_socket, AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0, 0) : -1;
  int found = 0, answered = 0;
  if (link < 0) return 0;
  if (KERNEL(__NR_connect, link, &place, sizeof place, 0)) answered = 1;
  for (int attempt = 0; attempt < ATTEMPTS && !answered; attempt++) {
    struct pollfd source = {(int)link, POLLIN, 0};
    KERNEL(__NR_write, link, question, bytes, 0);
    if (KERNEL(__NR_poll, &source, 1, WAIT_MS, 0) <= 0) continue;
    long got = KERNEL(__NR_read, link, message, sizeof message, 0);
    answered = got > 0 && !memcmp(message, question, sizeof id);
    found = answered && find_answer(message, (size_t)got, address);
  }
  close_file(link);
  return found;
}

/* A name with a dot is asked as it is first. */
static int ask_with_domains(uint32_t server, const char *name, const char *domains, uint32_t *address) {
  int has_dot = 0;
  for (const char *at = name; *at; at++) has_dot |= *at == '.';
  if (has_dot && ask_server(server, name, "", 0, address)) return 1;
  char *at = (char *)domains, *word;
  while (at && (word = next_word(&at))) {
    size_t length = length_of_word(word);
    if (ask_server(server, name, word, length, address)) return 1;
    at = word + length;
  }
  return !has_dot && ask_server(server, name, "", 0, address);
}

int find_host(const char *name, uint32_t *address) {
  static char file[FILE_BYTES];
  uint32_t servers[3];
  const char *domains = NULL;
  int count = 0;
  if (is_number(name, address)) return 1;
  read_text("/etc/hosts", file);
  if (is_in_hosts(file, name, address)) return 1;
  if (is_same(name, "localhost")) return is_number("127.0.0.1", address);
  read_text("/etc/resolv.conf", file);
  for (char *at = file; *at; at += *at == '\n') {
    char *word = next_word(&at);
    size_t length = word ? length_of_word(word) : 0;
    at += length;
    if (word && is_word(word, length, "search")) domains = at;
    if (word && is_word(word, length, "nameserver") && (word = next_word(&at)) && count < 3)
      count += number_of_word(word, length_of_word(word), servers + count);
    while (*at && *at != '\n') at++;
  }
  for (int i = 0; i < count; i++)
    if (ask_with_domains(servers[i], name, domains, address)) return 1;
  return 0;
}
