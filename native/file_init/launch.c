#define _GNU_SOURCE
#include "launch.h"

#include <asm/unistd_64.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "../file_fallback/place.h"
#include "filter.h"

enum { NOT_EXECUTABLE = 126, NOT_FOUND = 127 };

/* The engines' default for images without one. */
static const char usual_path[] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

__attribute__((noreturn)) static void end(int status) {
  for (;;) KERNEL(__NR_exit_group, status, 0, 0, 0);
}

/* As execvp(3), but a file that is no program is an error: engines do not run it as a script of
 * sh. */
static long execute(const char *name, char **words, char **variables) {
  const char *folders = variable(variables, "PATH"), *at = name;
  char path[PATH_BYTES];
  long why = -ENOENT;
  while (*at && *at != '/') at++;
  if (*at) return KERNEL(__NR_execve, name, words, variables, 0);
  for (at = folders ? folders : usual_path;; at++) {
    const char *begin = at;
    while (*at && *at != ':') at++;
    struct text text = text_in(path, sizeof path);
    put_part(&text, begin, (size_t)(at - begin));
    put(&text, at == begin ? "./" : "/");
    put(&text, name);
    long result = text.whole ? KERNEL(__NR_execve, path, words, variables, 0) : -ENAMETOOLONG;
    if (result == -EACCES) why = result;
    else if (result != -ENOENT && result != -ENOTDIR) return result;
    if (!*at) return why;
  }
}

void become(char **words, const char *called, char **variables) {
  const char *name = words[0];
  if (called) words[0] = (char *)called;
  long why = called ? KERNEL(__NR_execve, name, words, variables, 0) : execute(name, words, variables);
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
