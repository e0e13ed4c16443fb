/* Check that the original environment of a slim one is unchanged, if it is needed: IDENTITY_FILE,
 * written by src/trimtab/debloating/original_identity.py. All numbers are little-endian and paths
 * absolute. Texts end with a zero and are given by their offset in the file.
 *
 * The header is followed by `watched` rows, their texts and the header's, the texts of packages,
 * and at the file's end `packages` rows. Everything before the texts of packages is in the first
 * IDENTITY_HEAD_BYTES. If the watched files are unchanged, nothing was installed or removed.
 * Otherwise the records of packages that lost something are checked: a package is unchanged if its
 * record is, which has the digests of its files. */
#ifndef TRIMTAB_ORIGINAL_IDENTITY_H
#define TRIMTAB_ORIGINAL_IDENTITY_H

#include <stddef.h>
#include <stdint.h>

#define IDENTITY_MAGIC "TRIMTABI"
#define IDENTITY_FILE "trimtab/original.identity"
#define TOLD_VARIABLE "TRIMTAB_ORIGINAL_TOLD" /* for programs started by the one that reported it */
enum { IDENTITY_HEAD_BYTES = 8192, RECORD_DIGEST_BYTES = 16 };

struct identity_header {
  char magic[8];
  uint32_t file_bytes, watched, packages, location;
};

/* A file or folder, with data from stat(2). */
struct watched {
  uint64_t file;
  int64_t modified_s;
  uint32_t modified_ns, path;
};

/* A package by its installer's record, and the first bytes of the record's SHA-256. */
struct package {
  uint64_t file, bytes;
  int64_t modified_s;
  uint32_t modified_ns, path, name, unused;
  uint8_t digest[RECORD_DIGEST_BYTES];
};

/* The problem with the original, in words; NULL if there is none, or it is unknown. Makes only
 * calls that signal handlers may make. */
const char *original_problem(const char *environment);

/* Report it on standard error at the start of a program, once for it and its descendants. */
void check_original(const char *environment);

#endif
