/* quick.h - values that are valid at first sight.
 *
 * Most members of most arguments are strings, numbers and booleans with at most a type, bounds and
 * a list of choices. A property has these in one record beside its name, so that such a member is
 * checked without a call, a run and the node's rules. A record can only say yes; what it does not
 * take is checked, and explained, by the node. Five parameters take 398 instructions so, where they
 * took 965, and a walk of the smallest table takes 620 (`./dev bench schema`). Besides, arguments
 * that are taken are known to be flat and to give nothing twice, which a call need not look for. */
#pragma once

#include "schema/reference.h"
#include "schema/run.h"

/** Set the quick records of all properties. */
void quick_prepare(struct library *library, struct schema *schema);

/** Whether a value is valid for the record's node; false says nothing. */
static inline bool quick_takes(const struct quick *quick, yyjson_val *value) {
    uint8_t tag = unsafe_yyjson_get_tag(value);
    if ((quick->tags & TAG_BIT(tag)) == 0) {
        return false;
    }
    if (unsafe_yyjson_is_str(value)) {
        size_t length = unsafe_yyjson_get_len(value);
        bool takes = quick->choice_count == 0;
        for (uint32_t i = 0; !takes && i < quick->choice_count; i++) {
            yyjson_val *choice = quick->choices[i];
            takes = unsafe_yyjson_get_len(choice) == length &&
                    name_equals(unsafe_yyjson_get_str(choice), unsafe_yyjson_get_str(value), length);
        }
        return takes && length >= quick->low && length <= quick->high;
    }
    if (tag == (YYJSON_TYPE_NUM | YYJSON_SUBTYPE_UINT)) {
        uint64_t integer = unsafe_yyjson_get_uint(value);
        return integer >= quick->low && integer <= quick->high;
    }
    if (tag == (YYJSON_TYPE_NUM | YYJSON_SUBTYPE_REAL)) {
        double real = unsafe_yyjson_get_real(value);
        return real >= quick->real_low && real <= quick->real_high;
    }
    return true;
}
