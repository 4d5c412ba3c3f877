/* microhttpd.h - libmicrohttpd, loaded when a server starts.
 *
 * With GnuTLS and what that depends on it takes longer to load than all other work of a short verb;
 * only one verb needs it. */
#pragma once

#include <microhttpd.h>

#include "base/error.h"

/** X(name), for MHD_<name>. */
#define MHD_FUNCTIONS(X)             \
    X(add_response_header)           \
    X(create_response_from_buffer)   \
    X(create_response_from_callback) \
    X(destroy_response)              \
    X(get_connection_info)           \
    X(get_connection_values_n)       \
    X(get_daemon_info)               \
    X(get_timeout)                   \
    X(get_version)                   \
    X(is_feature_supported)          \
    X(queue_response)                \
    X(resume_connection)             \
    X(run_wait)                      \
    X(start_daemon)                  \
    X(stop_daemon)                   \
    X(suspend_connection)

struct microhttpd {
#define MHD_MEMBER(name) __typeof__(&MHD_##name) name;
    MHD_FUNCTIONS(MHD_MEMBER)
#undef MHD_MEMBER
};

/** The functions of libmicrohttpd, valid after microhttpd_load(). */
extern struct microhttpd mhd;

/** Load it, unless it is loaded already. Call this before there are other threads.
 * @return 0; TOOLRACK_E_IO: the message names what is missing. */
int microhttpd_load(struct toolrack_error *err);
