/* A static program that does what each of its words says and tells what came of it: "VERB PATH [PATH]". */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

static char first[5000], second[5000];

static void say(long result) {
  printf(" %s\n", result < 0 ? strerrorname_np(errno) : "done");
}

static void cat(int file) {
  char text[65536];
  ssize_t got = file < 0 ? -1 : read(file, text, sizeof text);
  if (got < 0) return say(-1);
  printf(" %zd %.20s\n", got, got ? text : "");
  close(file);
}

static void tell(int result, const struct stat *status) {
  if (result) return say(-1);
  printf(" %o %u:%u %lld %ld.%ld\n", status->st_mode, status->st_uid, status->st_gid,
         S_ISDIR(status->st_mode) ? 0ll : (long long)status->st_size,
         S_ISDIR(status->st_mode) ? 0 : status->st_mtim.tv_sec, S_ISDIR(status->st_mode) ? 0 : status->st_mtim.tv_nsec);
}

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* Twice, from the beginning each time. */
static void list(const char *path) {
  DIR *folder = opendir(path);
  if (!folder) return say(-1);
  for (int round = 0; round < 2; round++, rewinddir(folder)) {
    char *names[3000];
    int count = 0;
    for (struct dirent *each; (each = readdir(folder)) && count < 3000;)
      names[count] = malloc(strlen(each->d_name) + 3), sprintf(names[count++], "%s:%d", each->d_name, each->d_type);
    qsort(names, count, sizeof *names, by_name);
    for (int i = 0; i < count; i++) printf(" %s", names[i]);
    printf(" (%d)\n", count);
  }
  closedir(folder);
}

/* Remove what it lists, while it lists. */
static void sweep(const char *path) {
  char entries[2048];
  int folder = open(path, O_RDONLY | O_DIRECTORY), count = 0;
  long got;
  while ((got = syscall(SYS_getdents64, folder, entries, sizeof entries)) > 0)
    for (long at = 0; at < got; at += ((struct dirent64 *)(entries + at))->d_reclen)
      count += !unlinkat(folder, ((struct dirent64 *)(entries + at))->d_name, 0);
  printf(" %d\n", count);
  close(folder);
}

static void execute(const char *path) {
  fflush(stdout);
  pid_t child = fork();
  if (!child) {
    execl(path, path, "stat /srv/text", NULL);
    say(-1), fflush(stdout), _exit(9);
  }
  int status;
  waitpid(child, &status, 0);
  printf(" ended %x\n", status);
}

static void *read_all(void *folder) {
  long total = 0;
  for (int i = 0; i < 40; i++) {
    char path[5000], text[64];
    sprintf(path, "%s/%d", (char *)folder, i);
    int file = open(path, O_RDONLY);
    if (file >= 0) total += read(file, text, sizeof text), close(file);
  }
  return (void *)total;
}

static void by_many(char *folder) {
  pthread_t threads[8];
  long total = 0;
  for (int i = 0; i < 4; i++)
    if (!fork()) _exit(read_all(folder) != (void *)(40 * 6));
  for (int i = 0; i < 8; i++) pthread_create(&threads[i], NULL, read_all, folder);
  for (int i = 0; i < 8; i++) {
    void *each;
    pthread_join(threads[i], &each), total += (long)each;
  }
  for (int status; wait(&status) > 0;) total += status;
  printf(" %ld\n", total);
}

/* Paths that the kernel refuses. */
static void hostile(void) {
  char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  munmap(pages + 4096, 4096);
  memset(pages, 'x', 4096);
  say(open(pages, O_RDONLY));       /* no end before what is not there */
  say(open((char *)8, O_RDONLY));   /* not there */
  strcpy(pages + 4096 - 10, "/srv/text");
  say(open(pages + 4096 - 10, O_RDONLY)); /* up to the last byte */
  memcpy(pages + 4096 - 9, "/srv/text", 9);
  say(open(pages + 4096 - 9, O_RDONLY));
  memset(first, 'a', 4999), memcpy(first, "/srv/", 5), first[4999] = 0;
  say(open(first, O_RDONLY)); /* too long */
  say(syscall(SYS_newfstatat, AT_FDCWD, "/srv/looked", (void *)8, 0));
  say(syscall(SYS_statx, AT_FDCWD, "/srv/looked", 0, STATX_ALL, (void *)8));
  say(syscall(SYS_getdents64, 77, pages, 4096));
  say(syscall(SYS_openat, 77, "text", O_RDONLY));
}

static int is(const char *verb, const char *name) { return !strcmp(verb, name); }

static void act(const char *words) {
  char verb[32] = "";
  struct stat status;
  *first = *second = 0;
  sscanf(words, "%31s %4999s %4999s", verb, first, second);
  printf("%s", words);
  if (is(verb, "cat")) cat(open(first, O_RDONLY));
  else if (is(verb, "write")) cat(open(first, O_WRONLY | O_CREAT | O_EXCL, 0600));
  else if (is(verb, "append")) {
    int file = open(first, O_WRONLY | O_APPEND);
    say(file < 0 ? -1 : write(file, "more\n", 5));
  } else if (is(verb, "in")) {
    int folder = open(first, O_PATH | O_DIRECTORY);
    cat(openat(folder, second, O_RDONLY)), close(folder);
  } else if (is(verb, "cd")) say(chdir(first));
  else if (is(verb, "stat")) tell(stat(first, &status), &status);
  else if (is(verb, "lstat")) tell(lstat(first, &status), &status);
  else if (is(verb, "same")) {
    struct stat after;
    int before = stat(first, &status), file = open(first, O_RDONLY);
    say(before || fstat(file, &after) || status.st_ino != after.st_ino || status.st_dev != after.st_dev ? -1 : 0);
  } else if (is(verb, "access")) say(access(first, R_OK));
  else if (is(verb, "statfs")) say(statfs(first, &(struct statfs){0}));
  else if (is(verb, "attributes")) say(listxattr(first, NULL, 0));
  else if (is(verb, "readlink")) {
    ssize_t got = readlink(first, second, sizeof second);
    printf(got < 0 ? "" : " %.*s", (int)got, second), say(got);
  } else if (is(verb, "ls")) list(first);
  else if (is(verb, "sweep")) sweep(first);
  else if (is(verb, "mkdir")) say(mkdir(first, 0755));
  else if (is(verb, "rmdir")) say(rmdir(first));
  else if (is(verb, "unlink")) say(unlink(first));
  else if (is(verb, "rename")) say(rename(first, second));
  else if (is(verb, "link")) say(link(first, second));
  else if (is(verb, "exec")) execute(first);
  else if (is(verb, "many")) by_many(first);
  else if (is(verb, "hostile")) hostile();
  else if (is(verb, "orphan")) {
    if (!fork()) {
      if (!fork()) {
        while (getppid() != (pid_t)atoi(second) && kill(atoi(second), 0) == 0) usleep(1000);
        cat(open(first, O_RDONLY)), fflush(stdout), _exit(0);
      }
      _exit(0);
    }
    say(wait(NULL));
  } else if (is(verb, "user")) say(setresuid(65534, 65534, 65534));
  else if (is(verb, "again")) execl("/probe", "probe", "cat /srv/deep/inner", NULL), say(-1);
  else if (is(verb, "exit")) fflush(stdout), _exit(atoi(first));
  else if (is(verb, "kill")) fflush(stdout), kill(getpid(), atoi(first));
  else if (is(verb, "wait")) fflush(stdout), pause();
  else printf(" no such verb\n");
  fflush(stdout);
}

static void heard(int signal) {
  static const char text[] = "terminated\n";
  _exit(write(1, text, sizeof text - 1) > 0 ? signal : 1);
}

int main(int count, char **words) {
  signal(SIGTERM, heard);
  for (int i = 1; i < count; i++) act(words[i]);
  return 0;
}
