/* type-text.h - types as other languages write them, in one text.
 *
 *   List[int], list<int>, int[]        an array of integers
 *   Dict[str, int], map[string]int     an object whose members are integers
 *   Optional[int], int?, int | null,   an integer or null
 *     Union[int, None]
 *   uint8, int32                       an integer within the bounds of the type */
#pragma once

#include <stdbool.h>
#include <yyjson.h>

/** What is behind a type text that a schema cannot say, or this file does not read. */
enum type_loss {
    TYPE_LOSS_NONE,
    TYPE_LOSS_BRACKETS, /**< of what is in the brackets */
    TYPE_LOSS_SIZES,    /**< of the bounds of several types of numbers */
    TYPE_LOSS_REST      /**< of what follows the name of a type */
};

/** Read the text of a type.
 * @param ret_loss  receives what the schema does not say of it
 * @return a schema, a new object of `doc`: `type`, absent for any value, and perhaps `items`,
 *         `additionalProperties`, `minimum` and `maximum`; NULL: the type is not known, or there
 * was no memory, which `doc` knows. [any-thread] */
yyjson_mut_val *type_text_read(yyjson_mut_doc *doc, const char *text, enum type_loss *ret_loss);

/** What either of two such schemas allows; both are used up. NULL if one is NULL.
 * @param loss  set if what they say of the same values differs, and is left out */
yyjson_mut_val *type_text_join(yyjson_mut_doc *doc, yyjson_mut_val *schema, yyjson_mut_val *other,
                               enum type_loss *loss);
