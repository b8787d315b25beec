/* A disk of TRIMILL_DISK_RATE bytes a second, for programs that are started with this library in LD_PRELOAD: all reads and writes of files
   together are held to that rate, as if nothing were in the page cache. Calls wait until their bytes would have passed. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* When the disk is free again, in nanoseconds of the monotonic clock. */
static _Atomic long long disk_is_free;

static long long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static ssize_t pass(int file, ssize_t bytes) {
    static _Atomic double rate;
    struct stat status;
    if (bytes <= 0 || fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) return bytes;
    if (rate == 0) {
        const char *text = getenv("TRIMILL_DISK_RATE");
        rate = text ? atof(text) : 1e18;
    }
    long long cost = (long long)((double)bytes / rate * 1e9), before = disk_is_free, begin, time = now();
    do begin = before > time ? before : time;
    while (!atomic_compare_exchange_weak(&disk_is_free, &before, begin + cost));
    struct timespec until = {(begin + cost) / 1000000000LL, (begin + cost) % 1000000000LL};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) != 0) {}
    return bytes;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t read(int file, void *into, size_t bytes) { return pass(file, REAL(read)(file, into, bytes)); }
ssize_t write(int file, const void *from, size_t bytes) { return pass(file, REAL(write)(file, from, bytes)); }
ssize_t pread(int file, void *into, size_t bytes, off_t at) { return pass(file, REAL(pread)(file, into, bytes, at)); }
ssize_t pwrite(int file, const void *from, size_t bytes, off_t at) { return pass(file, REAL(pwrite)(file, from, bytes, at)); }
ssize_t pread64(int file, void *into, size_t bytes, off64_t at) { return pass(file, REAL(pread64)(file, into, bytes, at)); }
ssize_t pwrite64(int file, const void *from, size_t bytes, off64_t at) { return pass(file, REAL(pwrite64)(file, from, bytes, at)); }
