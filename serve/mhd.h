/* mhd.h - what is called of libmicrohttpd, which is opened at run time. */
#ifndef SERVE_MHD_H
#define SERVE_MHD_H

#include <microhttpd.h>

#define MHD_CALLS(X)                                                                               \
    X(start_daemon)                                                                                \
    X(stop_daemon)                                                                                 \
    X(add_connection)                                                                              \
    X(get_connection_info)                                                                         \
    X(lookup_connection_value)                                                                     \
    X(get_connection_values_n)                                                                     \
    X(create_response_from_buffer)                                                                 \
    X(add_response_header)                                                                         \
    X(queue_response)                                                                              \
    X(destroy_response)                                                                            \
    X(suspend_connection)                                                                          \
    X(resume_connection)

typedef struct mhd {
    void *library;
#define X(name) __typeof__(MHD_##name) *name;
    MHD_CALLS(X)
#undef X
} mhd;

/* NULL, or why it cannot be had.  mhd_close in either case. */
const char *mhd_open(mhd *out);
void mhd_close(mhd *m);

#endif
