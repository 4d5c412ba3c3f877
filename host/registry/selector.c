#include "registry/selector.h"

#include "base/semver.h"

bool selector_has_name(const struct selector *selector, const char *name, size_t length) {
    return selector->name_length == length && memcmp(selector->name, name, length) == 0;
}

bool selector_is_range(const struct selector *selector) {
    struct semver_range range;
    return selector->version != NULL && !semver_valid(selector->version) &&
           semver_range_parse(selector->version, &range);
}
