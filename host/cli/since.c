/* The moments that --since and --expires name. */
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "cli/cli.h"

#define MS_PER_S 1000

/* Read a day, or a moment, in local time; with a Z at the end in UTC. */
static bool read_time(const char *text, int64_t *ret_ms) {
    static const char *const forms[] = {"%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M",
                                        "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S"};
    for (size_t i = 0; i < ARRAY_LENGTH(forms); i++) {
        struct tm parts = {.tm_isdst = -1};
        const char *end = strptime(text, forms[i], &parts);
        bool utc = end != NULL && strcmp(end, "Z") == 0;
        if (end != NULL && (utc || *end == '\0')) {
            *ret_ms = (int64_t)(utc ? timegm(&parts) : mktime(&parts)) * MS_PER_S;
            return true;
        }
    }
    return false;
}

int cli_since(struct cli *cli, int64_t *ret_ms) {
    const char *text = cli->options.since;
    uint32_t seconds;
    if (text == NULL || read_time(text, ret_ms)) {
        return 0;
    }
    if (!options_duration(text, &seconds)) {
        return cli_error(cli, TOOLRACK_E_INVALID,
                         "--since takes a duration such as 30s, 10m, 2h or 7d, or a time such as "
                         "2026-01-31 or 2026-01-31T18:00, not \"%s\"",
                         text);
    }
    *ret_ms = (clock_wall_s() - seconds) * MS_PER_S;
    return 0;
}

int cli_expires(struct cli *cli, int64_t *ret_s) {
    const char *text = cli->options.expires;
    uint32_t seconds;
    int64_t ms;
    *ret_s = 0;
    if (text == NULL) {
        return 0;
    }
    if (read_time(text, &ms)) {
        *ret_s = ms / MS_PER_S;
    } else if (options_duration(text, &seconds)) {
        *ret_s = clock_wall_s() + seconds;
    } else {
        return cli_error(cli, TOOLRACK_E_INVALID,
                         "--expires takes a duration such as 12h, 30d or 365d, or a time such as "
                         "2027-01-31 or 2027-01-31T18:00, not \"%s\"",
                         text);
    }
    return 0;
}
