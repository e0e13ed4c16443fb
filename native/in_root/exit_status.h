#ifndef EXIT_STATUS_H
#define EXIT_STATUS_H

/* As in shells and `chroot`. */
enum exit_status { CANNOT_ENTER = 125, NOT_EXECUTABLE = 126, NOT_FOUND = 127 };

#endif
