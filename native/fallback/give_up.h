/* End a program that cannot continue. */
#ifndef TRIMTAB_GIVE_UP_H
#define TRIMTAB_GIVE_UP_H

/* Keep a container's log open, for a program that may become another user. */
void keep_log(void);

/* Print the reason on standard error, and end the program with status 70. */
__attribute__((noreturn, format(printf, 1, 2))) void give_up(const char *format, ...);

#endif
