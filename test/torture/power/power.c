/*
 * Stands between a process and libc. Records, in one order for all processes, every write and sync of the database's
 * files, with the bytes; and lets syncs fail the way Linux does: the pages count as clean afterwards, and every
 * descriptor that was open at the time reports the error once.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { WRITE = 1, TRUNCATE = 2, SYNCED = 3, FAILED = 4, MARK = 5 };
enum { NONE = -1, DATABASE = 0, LOG = 1 };
enum { FDS_MAX = 4096 };

struct record {
  uint32_t kind, file;
  uint64_t at, length;
};

/* In a file that all processes map. */
struct shared {
  uint32_t syncs, errors[2];
  /* Set by a test: 1 + the file whose next sync fails. */
  uint32_t fails_next;
  /* Where the last record ends. A process that is killed may leave a part of one behind it. */
  uint64_t end;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct shared *shared;
static int out = -1, lock_fd = -1;
static uint32_t seen[FDS_MAX];
static char database[512], wal[520];
static uint32_t seed, one_in, database_one_in, drops;

/* What was written to the log since its last sync, as it was before: for kernels that drop it when a sync fails. */
struct old {
  struct old *next;
  int fd;
  uint64_t at, length;
  char bytes[];
};
static struct old *olds;

#define REAL(name, type) ((type)dlsym(RTLD_NEXT, name))
typedef ssize_t (*WriteAt)(int, const void *, size_t, off64_t);
typedef ssize_t (*WriteVectorAt)(int, const struct iovec *, int, off64_t);
typedef int (*Sync)(int);
typedef int (*Truncate)(int, off64_t);
typedef int (*Open)(const char *, int, ...);

static int is_on(void) {
  static int state = -1;
  if (state != -1) return state;
  const char *folder = getenv("GLEANER_POWER");
  if (folder == NULL) return state = 0;
  char name[600];
  snprintf(database, sizeof database, "%s/app.db", folder);
  snprintf(wal, sizeof wal, "%s-wal", database);
  Open really_open = REAL("open64", Open);
  snprintf(name, sizeof name, "%s/records", folder);
  out = really_open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  snprintf(name, sizeof name, "%s/shared", folder);
  lock_fd = really_open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (out < 0 || lock_fd < 0 || REAL("ftruncate64", Truncate)(lock_fd, sizeof(struct shared)) != 0) abort();
  shared = mmap(NULL, sizeof(struct shared), PROT_READ | PROT_WRITE, MAP_SHARED, lock_fd, 0);
  const char *text = getenv("GLEANER_POWER_SEED");
  seed = text ? (uint32_t)atoi(text) : 0;
  text = getenv("GLEANER_POWER_ONE_IN");
  one_in = text ? (uint32_t)atoi(text) : 0;
  text = getenv("GLEANER_POWER_DATABASE_ONE_IN");
  database_one_in = text ? (uint32_t)atoi(text) : one_in;
  drops = getenv("GLEANER_POWER_DROPS") != NULL;
  return state = 1;
}

static void begin(void) {
  pthread_mutex_lock(&mutex);
  flock(lock_fd, LOCK_EX);
  struct stat so_far;
  if (fstat(out, &so_far) == 0 && (uint64_t)so_far.st_size > shared->end) REAL("ftruncate64", Truncate)(out, (off64_t)shared->end);
}

static void end(void) {
  flock(lock_fd, LOCK_UN);
  pthread_mutex_unlock(&mutex);
}

static int file_of(const char *path) {
  if (strcmp(path, database) == 0) return DATABASE;
  return strcmp(path, wal) == 0 ? LOG : NONE;
}

static int file_at(int fd, int *is_mark) {
  char link[64], path[600];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t size = readlink(link, path, sizeof path - 1);
  if (size < 0) return NONE;
  path[size] = 0;
  if (is_mark) *is_mark = strcmp(path, "/dev/null") == 0;
  return file_of(path);
}

static void note(uint32_t kind, int file, uint64_t at, const void *bytes, uint64_t length) {
  struct record record = { kind, (uint32_t)(file < 0 ? 0 : file), at, length };
  struct iovec parts[2] = { { &record, sizeof record }, { (void *)bytes, bytes ? length : 0 } };
  long written = syscall(SYS_writev, out, parts, 2);
  if (written == (long)(sizeof record + parts[1].iov_len)) shared->end += (uint64_t)written;
}

static void keep_old(int fd, uint64_t at, uint64_t length) {
  struct old *old = calloc(1, sizeof *old + length);
  old->fd = fd, old->at = at, old->length = length, old->next = olds;
  syscall(SYS_pread64, fd, old->bytes, length, at);
  olds = old;
}

static void forget_old(int restore) {
  while (olds) {
    struct old *old = olds;
    if (restore) REAL("pwrite64", WriteAt)(old->fd, old->bytes, old->length, (off64_t)old->at);
    olds = old->next;
    free(old);
  }
}

static ssize_t write_at(int fd, const void *bytes, size_t length, off64_t at) {
  WriteAt really_write = REAL("pwrite64", WriteAt);
  int file = is_on() ? file_at(fd, NULL) : NONE;
  if (file == NONE) return really_write(fd, bytes, length, at);
  begin();
  if (drops && file == LOG) keep_old(fd, (uint64_t)at, length);
  ssize_t written = really_write(fd, bytes, length, at);
  if (written > 0) note(WRITE, file, (uint64_t)at, bytes, (uint64_t)written);
  end();
  return written;
}

ssize_t pwrite(int fd, const void *bytes, size_t length, off_t at) { return write_at(fd, bytes, length, at); }
ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t at) { return write_at(fd, bytes, length, at); }

ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t at) {
  if (!is_on() || file_at(fd, NULL) == NONE)
    return REAL("pwritev", WriteVectorAt)(fd, parts, count, at);
  ssize_t all = 0;
  for (int i = 0; i < count; i++) {
    ssize_t written = write_at(fd, parts[i].iov_base, parts[i].iov_len, at + all);
    if (written < 0) return all > 0 ? all : -1;
    all += written;
  }
  return all;
}

ssize_t write(int fd, const void *bytes, size_t length) {
  int is_mark = 0;
  if (is_on() && file_at(fd, &is_mark) != NONE)
    abort(); /* SQLite and Node write to these files at a place. */
  if (is_mark) {
    begin();
    note(MARK, 0, 0, bytes, length);
    end();
    return (ssize_t)length;
  }
  return syscall(SYS_write, fd, bytes, length);
}

int ftruncate64(int fd, off64_t length) {
  Truncate really_truncate = REAL("ftruncate64", Truncate);
  int file = is_on() ? file_at(fd, NULL) : NONE;
  if (file == NONE) return really_truncate(fd, length);
  begin();
  int answer = really_truncate(fd, length);
  if (answer == 0) note(TRUNCATE, file, (uint64_t)length, NULL, 0);
  end();
  return answer;
}
int ftruncate(int fd, off_t length) { return ftruncate64(fd, length); }

static uint32_t mixed(uint32_t x) {
  x = (x ^ (x >> 16)) * 0x7feb352dU;
  x = (x ^ (x >> 15)) * 0x846ca68bU;
  return x ^ (x >> 16);
}

/* Nothing is really synced: what of it is on the disk is decided by whoever reads the records. */
static int synced(int fd, const char *name) {
  int file = is_on() ? file_at(fd, NULL) : NONE;
  if (file == NONE) return REAL(name, Sync)(fd);
  begin();
  uint32_t count = ++shared->syncs;
  uint32_t rate = file == DATABASE ? database_one_in : one_in;
  int is_asked = shared->fails_next == 1 + (uint32_t)file;
  int is_lost = is_asked || (rate > 0 && mixed(seed * 7919 + count) % rate == 0);
  if (is_asked) shared->fails_next = 0;
  if (is_lost) shared->errors[file] += 1;
  /* A sync that only reports an error of the past has written what was there to write. */
  int fails = fd < FDS_MAX && seen[fd] != shared->errors[file];
  if (fails) seen[fd] = shared->errors[file];
  if (file == LOG) forget_old(drops && is_lost);
  note(is_lost ? FAILED : SYNCED, file, 0, NULL, 0);
  end();
  if (fails) errno = EIO;
  return fails ? -1 : 0;
}

int fsync(int fd) { return synced(fd, "fsync"); }
int fdatasync(int fd) { return synced(fd, "fdatasync"); }

/* An error from before it was opened is not reported to a descriptor. */
static int opened(const char *path, int flags, mode_t mode) {
  int fd = REAL("open64", Open)(path, flags, mode);
  int file = fd >= 0 && fd < FDS_MAX && is_on() ? file_of(path) : NONE;
  if (file != NONE) seen[fd] = shared->errors[file];
  return fd;
}

#define MODE_OF(flags)                                \
  mode_t mode = 0;                                    \
  if (flags & (O_CREAT | O_TMPFILE)) {                \
    va_list rest;                                     \
    va_start(rest, flags);                            \
    mode = va_arg(rest, mode_t);                      \
    va_end(rest);                                     \
  }

int open(const char *path, int flags, ...) {
  MODE_OF(flags)
  return opened(path, flags, mode);
}

int open64(const char *path, int flags, ...) {
  MODE_OF(flags)
  return opened(path, flags, mode);
}
