/* capability.h - what the value of a capability means, and which values can be granted.
 *
 * A value is granted exactly or not at all. The kernel's rules for the network know TCP ports and
 * no hosts, and there are none for UDP; so a declaration may name a host, for people to read, and
 * what is granted never does:
 *
 *     *             every TCP port of every host
 *     *:443, 443    one TCP port of every host
 *     HOST:443      the same; but it is granted only where an allowance says "*:443" or more
 *     udp           UDP, to every port of every host
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/** "read", "write", "network", "spawn" or "env"; "unknown" for any other number. [any-thread] */
const char *capability_kind_name(uint32_t kind);

struct capability_network {
    bool is_udp;
    bool names_host;
    uint16_t port; /* 0: every port */
};

/** Why a value cannot be granted, and what to write; static strings. */
struct capability_fault {
    const char *cause;
    const char *fix;
    bool is_harmless; /* it would grant nothing: a warning for its author is enough */
};

/** Read the value of a TR_CAP_NETWORK. False: it is none, and `ret_fault` says why. [any-thread] */
bool capability_read_network(const char *value, struct capability_network *ret,
                             struct capability_fault *ret_fault);

/** Whether a declared value can be granted. [any-thread] */
bool capability_check(uint32_t kind, const char *value, struct capability_fault *ret_fault);

/** The first byte of a path or program that hardly any file has in its name, and a shell or a
 * pattern gives a meaning; NULL: there is none. Placeholders are passed over. [any-thread] */
const char *capability_find_odd(uint32_t kind, const char *value);

/** Whether an item of "allow" can be: "*", "network", "network:*:443" ... Its kind is known to be
 * one. [any-thread] */
bool capability_check_allowance(const char *allowance, struct capability_fault *ret_fault);

/** Whether an item of "allow" grants a declared capability, both of which can be granted. A
 * declaration that names a host of the network is not granted by its kind alone. [any-thread] */
bool capability_is_allowed(const char *allowance, uint32_t kind, const char *value);
