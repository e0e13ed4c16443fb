#define _GNU_SOURCE
#include "kernels.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define KNOWN_EVENTS 4096

static char path[PATH_MAX];
static pid_t owner; /* the process that `path` is the record of */
static int lost;    /* the record is incomplete */
static uint64_t known[KNOWN_EVENTS];
static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;

/* A record that lacks an event says so by its name, as a full disk has room for no more. Nothing
 * more is written to it: its last line may be cut. */
static void lose_event(void) {
  if (lost) return;
  lost = 1;
  char name[PATH_MAX + 8];
  snprintf(name, sizeof name, "%s.lost", path);
  if (rename(path, name) == 0) return;
  int file = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (file >= 0) close(file);
  else perror("trimtab: the GPU code in use cannot be recorded");
}

static void append(const char *text, size_t bytes) {
  if (lost) return;
  int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  int written = file >= 0 && write(file, text, bytes) == (ssize_t)bytes;
  if (file >= 0) close(file);
  if (!written) lose_event();
}

static void start_line(struct event *event, const char *kind) {
  event->text = NULL;
  event->line = open_memstream(&event->text, &event->bytes);
  if (event->line) fputs(kind, event->line);
}

static void finish_line(struct event *event) {
  int whole = event->line && fputc('\n', event->line) != EOF;
  if (event->line) whole &= fclose(event->line) == 0;
  if (whole) append(event->text, event->bytes);
  else lose_event();
  free(event->text);
}

/* The record of this process: a forked child begins another. */
static void own_record(void) {
  const char *folder = getenv(TRIMTAB_RECORD_VARIABLE);
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  snprintf(path, sizeof path, "%s/kernels-%d-%lld.txt", folder ? folder : "/nonexistent", getpid(),
           (long long)time.tv_sec * 1000000000 + time.tv_nsec);
  memset(known, 0, sizeof known);
  lost = 0;
  char executable[PATH_MAX] = "", numbers[64];
  if (readlink("/proc/self/exe", executable, sizeof executable - 1) < 0) *executable = 0;
  snprintf(numbers, sizeof numbers, "process %d %d ", getpid(), getppid());
  struct event event;
  start_line(&event, numbers);
  if (event.line) fputs(TRIMTAB_WAY, event.line);
  add_word(&event, executable);
  finish_line(&event);
}

void begin_event(struct event *event, const char *kind) {
  pthread_mutex_lock(&opening);
  if (owner != getpid()) {
    own_record();
    owner = getpid();
  }
  pthread_mutex_unlock(&opening);
  start_line(event, kind);
}

void add_word(struct event *event, const char *word) {
  if (!event->line) return;
  fputc(' ', event->line);
  for (; *word; word++) {
    unsigned char byte = (unsigned char)*word;
    if (byte > ' ' && byte != '%' && byte != 0x7f) fputc(byte, event->line);
    else fprintf(event->line, "%%%02X", byte);
  }
}

void end_event(struct event *event) { finish_line(event); }

/* FNV-1a over kind and word, to detect a program's repeated lookups. */
static uint64_t hash(const char *kind, const char *word) {
  uint64_t value = 0xcbf29ce484222325;
  for (; *kind; kind++) value = (value ^ (unsigned char)*kind) * 0x100000001b3;
  value = (value ^ ' ') * 0x100000001b3;
  for (; *word; word++) value = (value ^ (unsigned char)*word) * 0x100000001b3;
  return value;
}

void record(const char *kind, const char *word) {
  uint64_t value = hash(kind, word);
  if (owner == getpid() && known[value % KNOWN_EVENTS] == value) return;
  struct event event;
  begin_event(&event, kind);
  add_word(&event, word);
  end_event(&event);
  known[value % KNOWN_EVENTS] = value;
}
