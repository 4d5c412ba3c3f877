#include "plugin/capability.h"

#include <string.h>

#include "base/cleanup.h"
#include "toolrack/plugin.h"

static const char *const kind_names[] = {
        [TR_CAP_READ] = "read",   [TR_CAP_WRITE] = "write", [TR_CAP_NETWORK] = "network",
        [TR_CAP_SPAWN] = "spawn", [TR_CAP_ENV] = "env",
};

const char *capability_kind_name(uint32_t kind) {
    return kind >= TR_CAP_READ && kind < ARRAY_LENGTH(kind_names) ? kind_names[kind] : "unknown";
}

static bool fault(struct capability_fault *ret, const char *cause, const char *fix) {
    *ret = (struct capability_fault){.cause = cause, .fix = fix};
    return false;
}

/* ----------------------------------------------------------------- network */

#define NETWORK_FIX "write *:PORT with a number from 1 to 65535, * for every TCP port, or udp"

/* Digits only: strtoul() would take spaces, signs and a number with something behind it. */
static bool read_port(const char *text, uint16_t *ret) {
    unsigned long port = 0;
    size_t length = strlen(text);
    if (length == 0 || length > 5 || strspn(text, "0123456789") != length || text[0] == '0') {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        port = port * 10 + (unsigned long)(text[i] - '0');
    }
    *ret = (uint16_t)port;
    return port <= UINT16_MAX;
}

/* A name or an address; one of IPv6 in brackets, as its colons are no ports. */
static bool is_host(const char *text, size_t length) {
    bool has_brackets = length > 2 && text[0] == '[' && text[length - 1] == ']';
    return length > 0 && (has_brackets || memchr(text, ':', length) == NULL) &&
           strcspn(text, " \t*/@") >= length;
}

bool capability_read_network(const char *value, struct capability_network *ret,
                             struct capability_fault *ret_fault) {
    *ret = (struct capability_network){0};
    if (strcmp(value, "*") == 0 || read_port(value, &ret->port)) {
        return true;
    }
    if (strncmp(value, "udp", 3) == 0 && (value[3] == '\0' || value[3] == ':')) {
        ret->is_udp = true;
        return value[3] == '\0' ||
               fault(ret_fault, "the kernel has no rules for hosts and ports of UDP",
                     "write udp, which allows every port of every host");
    }
    const char *colon = strrchr(value, ':');
    if (colon == NULL) {
        return fault(ret_fault, "it has no port, or one that is no number from 1 to 65535",
                     NETWORK_FIX);
    }
    size_t length = (size_t)(colon - value);
    ret->names_host = length != 1 || value[0] != '*';
    if (ret->names_host && !is_host(value, length)) {
        return fault(ret_fault, "what stands before the port is no host", NETWORK_FIX);
    }
    return strcmp(colon, ":*") == 0 || read_port(colon + 1, &ret->port) ||
           fault(ret_fault, "its port is no number from 1 to 65535", NETWORK_FIX);
}

/* ------------------------------------------------------------- environment */

/* What changes the loader or the C library of a program, and so its code: those that glibc ignores
 * in programs that run with more rights than their caller (its list of unsafe variables), and the
 * families of names that others belong to. A star stands for any ending. */
static const char *const unsafe_variables[] = {
        "LD_*",        "GLIBC_*",    "MALLOC_*",         "GCONV_PATH", "GETCONF_DIR",
        "HOSTALIASES", "LOCPATH",    "LOCALDOMAIN",      "NIS_PATH",   "NLSPATH",
        "RES_OPTIONS", "TMPDIR",     "RESOLV_HOST_CONF", "TZDIR",      "RESOLV_*",
        "MEMUSAGE*",   "PCPROFILE*", "SOTRUSS*",         "SEGFAULT_*",
};

/* Of the names that shells can set. */
#define VARIABLE_BYTES "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"

static bool is_unsafe(const char *name) {
    for (size_t i = 0; i < ARRAY_LENGTH(unsafe_variables); i++) {
        const char *unsafe = unsafe_variables[i];
        size_t length = strcspn(unsafe, "*");
        if (strncmp(name, unsafe, length) == 0 && (unsafe[length] == '*' || name[length] == '\0')) {
            return true;
        }
    }
    return false;
}

static bool check_variable(const char *name, struct capability_fault *ret_fault) {
    if (strchr(name, '=') != NULL) {
        return fault(ret_fault, "the name of a variable has no '='", "write the name only");
    }
    if (is_unsafe(name)) {
        return fault(ret_fault,
                     "this variable changes the loader or the C library of a worker, and is never "
                     "passed to one",
                     "remove it; pass a value that the plugin needs as a setting of the plugin");
    }
    bool is_name = name[0] != '\0' && strspn(name, VARIABLE_BYTES) == strlen(name) &&
                   (name[0] < '0' || name[0] > '9');
    if (!is_name) {
        (void)fault(ret_fault, "it is not the name of one variable",
                    "write the whole name of each variable: letters, digits and '_'");
        ret_fault->is_harmless = true;
    }
    return is_name;
}

/* ------------------------------------------------------------------- paths */

/* Quotes, and what a shell or a pattern reads in its own way. */
#define ODD_BYTES "\"'`\\$;&|<>{}[]*?!"

static bool check_path(const char *path, struct capability_fault *ret_fault) {
    return path[0] == '/' || strncmp(path, "${", 2) == 0 ||
           fault(ret_fault, "the path is neither absolute nor begins with a placeholder",
                 "begin it with / or a placeholder; ~ is written ${home}");
}

static bool check_program(const char *program, struct capability_fault *ret_fault) {
    return program[0] == '/' || strncmp(program, "${", 2) == 0 || strchr(program, '/') == NULL ||
           fault(ret_fault, "the program is neither an absolute path nor a name without a folder",
                 "write its absolute path, its name alone, a placeholder, or * for every program");
}

const char *capability_find_odd(uint32_t kind, const char *value) {
    bool is_path = kind == TR_CAP_READ || kind == TR_CAP_WRITE || kind == TR_CAP_SPAWN;
    if (!is_path || (kind == TR_CAP_SPAWN && strcmp(value, "*") == 0)) {
        return NULL;
    }
    for (const char *at = value; *at != '\0'; at++) {
        const char *end = strncmp(at, "${", 2) == 0 ? strchr(at, '}') : NULL;
        if (end != NULL && strcspn(at + 2, ODD_BYTES) == (size_t)(end - at - 2)) {
            at = end;
        } else if (strchr(ODD_BYTES, *at) != NULL) {
            return at;
        }
    }
    return NULL;
}

/* -------------------------------------------------------------------- both */

bool capability_check(uint32_t kind, const char *value, struct capability_fault *ret_fault) {
    struct capability_network network;
    bool is_good = true;
    switch (kind) {
    case TR_CAP_NETWORK: return capability_read_network(value, &network, ret_fault);
    case TR_CAP_ENV: return check_variable(value, ret_fault);
    case TR_CAP_SPAWN: is_good = check_program(value, ret_fault); break;
    case TR_CAP_READ:
    case TR_CAP_WRITE: is_good = check_path(value, ret_fault); break;
    default: break;
    }
    ret_fault->is_harmless = !is_good;
    return is_good;
}

/* The kind that an item of "allow" names, and what follows its colon; NULL: nothing. */
static uint32_t read_allowance(const char *allowance, const char **ret_value) {
    size_t length = strcspn(allowance, ":");
    *ret_value = allowance[length] == ':' ? allowance + length + 1 : NULL;
    for (uint32_t kind = TR_CAP_READ; kind < ARRAY_LENGTH(kind_names); kind++) {
        if (strlen(kind_names[kind]) == length &&
            memcmp(kind_names[kind], allowance, length) == 0) {
            return kind;
        }
    }
    return 0;
}

bool capability_check_allowance(const char *allowance, struct capability_fault *ret_fault) {
    const char *value;
    struct capability_network network;
    uint32_t kind = read_allowance(allowance, &value);
    if (value == NULL) {
        return true;
    }
    if (value[0] == '\0') {
        return fault(ret_fault, "nothing follows the colon",
                     "write what is allowed, or the word without a colon for all that is declared");
    }
    if (!capability_check(kind, value, ret_fault)) {
        return false;
    }
    return kind != TR_CAP_NETWORK || !capability_read_network(value, &network, ret_fault) ||
           !network.names_host ||
           fault(ret_fault, "a host cannot be held to: the kernel's rules know only ports",
                 "write network:*:PORT, which allows that port of every host");
}

static bool covers(const char *allowed, const char *declared) {
    struct capability_fault unused;
    struct capability_network more;
    struct capability_network less;
    return capability_read_network(allowed, &more, &unused) &&
           capability_read_network(declared, &less, &unused) && !more.names_host &&
           more.is_udp == less.is_udp && (more.port == 0 || more.port == less.port);
}

bool capability_is_allowed(const char *allowance, uint32_t kind, const char *value) {
    const char *allowed;
    struct capability_fault unused;
    struct capability_network network;
    bool is_all = strcmp(allowance, "*") == 0;
    if (!is_all && read_allowance(allowance, &allowed) != kind) {
        return false;
    }
    if (is_all || allowed == NULL) {
        return kind != TR_CAP_NETWORK ||
               (capability_read_network(value, &network, &unused) && !network.names_host);
    }
    return kind == TR_CAP_NETWORK ? covers(allowed, value) : strcmp(allowed, value) == 0;
}
