#define _GNU_SOURCE
#include "launch.h"

#include <asm/unistd_64.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "../file_fallback/place.h"
#include "../file_fallback/program.h"
#include "filter.h"

enum { NOT_EXECUTABLE = 126, NOT_FOUND = 127, MAY_WRITE = 2 };

/* The engines' default for images without one. */
static const char usual_path[] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

__attribute__((noreturn)) static void end(int status) {
  for (;;) KERNEL(__NR_exit_group, status, 0, 0, 0);
}

typedef long executing(const char *path, char **words, char **variables);

/* Not by KERNEL: the init has to be asked. */
static long execute_there(const char *path, char **words, char **variables) {
  return kernel(__NR_execve, (long)path, (long)words, (long)variables, 0, 0, 0);
}

/* As execvp(3), but a file that is no program is an error: engines do not run it as a script of
 * sh. */
static long execute(executing *execute_at, char **words, char **variables) {
  const char *name = words[0], *folders = variable(variables, "PATH"), *at = name;
  char path[PATH_BYTES];
  long why = -ENOENT;
  while (*at && *at != '/') at++;
  if (*at) return execute_at(name, words, variables);
  for (at = folders ? folders : usual_path;; at++) {
    const char *begin = at;
    while (*at && *at != ':') at++;
    struct text text = text_in(path, sizeof path);
    put_part(&text, begin, (size_t)(at - begin));
    put(&text, at == begin ? "./" : "/");
    put(&text, name);
    long result = text.whole ? execute_at(path, words, variables) : -ENAMETOOLONG;
    if (result == -EACCES) why = result;
    else if (result != -ENOENT && result != -ENOTDIR) return result;
    if (!*at) return why;
  }
}

/* Execute the program, restored if it was removed, with what our library in it needs; returns
 * -ENOEXEC for one that does not load it. */
static long execute_restored(const char *path, char **words, char **variables) {
  static struct walk walk;
  static struct start start;
  static char place[PATH_BYTES];
  int in_overlay;
  forget_walk(&walk);
  forget_start(&start);
  if (!walk_along(&walk, AT_FDCWD, path, 1)) return -ENOENT;
  const char *below = path_below(walk.here, &in_overlay);
  if (!below || !path_of(place, walk.in_overlay, below)) return -ENOENT;
  const char *called = path, *program = walk.detour ? place : path;
  char *const *new_words = words, *const *new_variables = variables;
  prepare_start(&start, &walk, AT_FDCWD, program, 0, words, variables);
  if (start.by_init) return -ENOEXEC;
  uint8_t *room = new_memory(start_bytes(&start, program, called));
  if (!room) return -ENOMEM;
  lay_out(&start, room, called, &program, &new_words, &new_variables);
  return execute_there(program, (char **)new_words, (char **)new_variables);
}

void become_served(char **words, char **variables) {
  if (!KERNEL(__NR_faccessat, AT_FDCWD, "/", MAY_WRITE, 0)) return;
  find_init();
  execute(execute_restored, words, variables);
}

void become(char **words, const char *called, char **variables) {
  const char *name = words[0];
  if (called) words[0] = (char *)called;
  long why = called ? execute_there(name, words, variables) : execute(execute_there, words, variables);
  if (why == -ENOENT) say(name, ": command not found", "", "", "");
  else say(name, why == -EACCES ? ": may not be executed" : ": cannot be executed", "", "", "");
  end(why == -ENOENT ? NOT_FOUND : NOT_EXECUTABLE);
}

/* A message with a number and, if that is one, an open descriptor. */
union control {
  struct cmsghdr head;
  uint8_t room[CMSG_SPACE(sizeof(int))];
};

static void send_listener(long to, long found) {
  union control control;
  int descriptor = (int)found;
  struct iovec number = {&found, sizeof found};
  struct msghdr message = {.msg_iov = &number, .msg_iovlen = 1};
  memset(&control, 0, sizeof control);
  if (found >= 0) {
    control.head = (struct cmsghdr){CMSG_LEN(sizeof descriptor), SOL_SOCKET, SCM_RIGHTS};
    memcpy(CMSG_DATA(&control.head), &descriptor, sizeof descriptor);
    message.msg_control = &control;
    message.msg_controllen = sizeof control;
  }
  KERNEL(__NR_sendmsg, to, &message, 0, 0);
}

/* Our own descriptor of it; -errno if the child has none, or ended before it could send it. */
static long receive_listener(long from) {
  union control control;
  long found = -ESRCH;
  int descriptor;
  struct iovec number = {&found, sizeof found};
  struct msghdr message = {.msg_iov = &number, .msg_iovlen = 1, .msg_control = &control,
                           .msg_controllen = sizeof control};
  if (KERNEL(__NR_recvmsg, from, &message, MSG_CMSG_CLOEXEC, 0) <= 0) return -ESRCH;
  if (found < 0) return found;
  if (message.msg_controllen < CMSG_LEN(sizeof descriptor) || message.msg_flags & MSG_CTRUNC) return -EMFILE;
  memcpy(&descriptor, CMSG_DATA(&control.head), sizeof descriptor);
  return descriptor;
}

long launch(char **words, const char *called, char **variables, unsigned long signals, int must_be_served,
            long *listener) {
  int ends[2];
  /* By a socket, as containers lack other ways to pass a descriptor: pidfd_getfd(2), and unshare(2)
   * for a child that shared our descriptors. */
  if (KERNEL(__NR_socketpair, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends)) return -EMFILE;
  long child = kernel(__NR_clone, SIGCHLD, 0, 0, 0, 0, 0);
  if (child == 0) {
    KERNEL(__NR_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0);
    close_file(ends[0]);
    long found = install_filter();
    send_listener(ends[1], found);
    if (found < 0 && must_be_served) end(STATUS_REMOVED);
    KERNEL(__NR_rt_sigprocmask, SIG_SETMASK, &signals, NULL, sizeof signals);
    become(words, called, variables);
  }
  close_file(ends[1]);
  if (child > 0) *listener = receive_listener(ends[0]);
  close_file(ends[0]);
  return child;
}
