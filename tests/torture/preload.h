/* preload.h - what the driver and the preloaded library share: one page of memory. */
#ifndef TORTURE_PRELOAD_H
#define TORTURE_PRELOAD_H

#include <stdatomic.h>
#include <stdbool.h>

enum { PAGE_FILE = 200, PAGE_BYTES = 4096 }; /* the descriptor that the command inherits */

typedef struct page {
    atomic_long count; /* allocations asked for since main began */
    long fail_at;      /* the first one to fail, 0 for none */
    bool fail_on;      /* all later ones fail, too */
    bool has_plugins;  /* dlopen works */
    bool has_clock;    /* the clock goes, and memory is used */
    atomic_long calls; /* the same of calls to the system, where those are watched */
    long call_fails_at;
    int call_error; /* errno of it; 0: it writes or reads half of what it could */
} page;

/* In the preloaded library: NULL outside of main. */
page *preload_page(void);

#endif
