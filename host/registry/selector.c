#include "registry/selector.h"

#include <fnmatch.h>

#include "base/name.h"
#include "base/semver.h"

bool selector_has_name(const struct selector *selector, const char *name, size_t length) {
    return selector->name_length == length && memcmp(selector->name, name, length) == 0;
}

bool selector_is_range(const struct selector *selector) {
    struct semver_range range;
    return selector->version != NULL && !semver_valid(selector->version) &&
           semver_range_parse(selector->version, &range);
}

bool selector_is_pattern(const char *text) {
    static const char characters[] =
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-*?";
    const struct selector selector = selector_parse(text);
    struct semver_range range;
    return selector.name_length > 0 && selector.name_length <= NAME_LENGTH_MAX &&
           strspn(text, characters) == selector.name_length &&
           (selector.version == NULL || semver_range_parse(selector.version, &range));
}

bool selector_pattern_fits(const char *pattern, const char *name, const char *version) {
    const struct selector selector = selector_parse(pattern);
    char of_name[NAME_LENGTH_MAX + 1];
    struct semver_range range;
    if (!selector_is_pattern(pattern)) {
        return false;
    }
    memcpy(of_name, pattern, selector.name_length);
    of_name[selector.name_length] = '\0';
    return fnmatch(of_name, name, FNM_NOESCAPE) == 0 &&
           (selector.version == NULL ||
            (semver_range_parse(selector.version, &range) && semver_range_has(&range, version)));
}
