/* Whether the original environment is the one that a slim environment was made of, which depends on it:
 * IDENTITY_FILE, written by src/trimtab/debloating/original_identity.py. All numbers are little-endian,
 * paths are absolute, and texts are ended by a zero and named by where they begin in the file.
 *
 * The header is followed by `watched` rows, the texts of these and of the header, those of packages, and at
 * the file's end `packages` rows. What comes before the texts of packages lies in the first
 * IDENTITY_HEAD_BYTES. Where what is watched is as it was, nothing was installed or removed. Else the
 * records of packages of which something was removed are looked at: a package is the same whose record
 * is, as that has the digests of its files. */
#ifndef TRIMTAB_ORIGINAL_IDENTITY_H
#define TRIMTAB_ORIGINAL_IDENTITY_H

#include <stddef.h>
#include <stdint.h>

#define IDENTITY_MAGIC "TRIMTABI"
#define IDENTITY_FILE "trimtab/original.identity"
#define TOLD_VARIABLE "TRIMTAB_ORIGINAL_TOLD" /* of programs below the one that told it */
enum { IDENTITY_HEAD_BYTES = 8192, RECORD_DIGEST_BYTES = 16 };

struct identity_header {
  char magic[8];
  uint32_t file_bytes, watched, packages, location;
};

/* A file or folder, as stat(2) told of it. */
struct watched {
  uint64_t file;
  int64_t modified_s;
  uint32_t modified_ns, path;
};

/* A package by the record that its installer wrote, and the first bytes of its SHA-256. */
struct package {
  uint64_t file, bytes;
  int64_t modified_s;
  uint32_t modified_ns, path, name, unused;
  uint8_t digest[RECORD_DIGEST_BYTES];
};

/* What is wrong with the original, in words; NULL where nothing is, or nothing is known of it. Makes only
 * calls that signal handlers may make. */
const char *original_problem(const char *environment);

/* Tell it on standard error at the start of a program, once for it and those that it starts. */
void check_original(const char *environment);

#endif
