/* What a snapshot claims of the start that it is of. */
#ifndef TRIMTAB_SNAPSHOT_GUARDS_H
#define TRIMTAB_SNAPSHOT_GUARDS_H

/* This start, as far as it was compared. */
struct claimed {
  char **variables;
  const char *word, *command_end; /* the next word of the command */
  unsigned steering;              /* variables that were found */
};

/* Whether one guard holds: a letter that says what it is, and its text. */
int holds(struct claimed *start, const char *guard);

/* Whether a variable is set. */
int has_name(char **variables, const char *name);

#endif
