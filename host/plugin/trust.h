/* trust.h - where a plugin is from; gives its default priority, which is also the most it may
 * state. */
#pragma once

#include "toolrack/plugin.h"

enum trust { TRUST_COMMUNITY, TRUST_OFFICIAL, TRUST_BUILTIN };

/** "community", "official" or "builtin". [any-thread] */
static inline const char *trust_name(enum trust trust) {
    switch (trust) {
    case TRUST_BUILTIN: return "builtin";
    case TRUST_OFFICIAL: return "official";
    case TRUST_COMMUNITY: break;
    }
    return "community";
}

/** TR_PRIORITY_COMMUNITY and so on. [any-thread] */
static inline int trust_priority(enum trust trust) {
    switch (trust) {
    case TRUST_BUILTIN: return TR_PRIORITY_BUILTIN;
    case TRUST_OFFICIAL: return TR_PRIORITY_OFFICIAL;
    case TRUST_COMMUNITY: break;
    }
    return TR_PRIORITY_COMMUNITY;
}
