/* answer-schema.h - what toolrack-select.schema.json, as it is installed, says of an answer. */
#pragma once

#include <stdbool.h>
#include <yyjson.h>

#include "schema/schema.h"

/** Whether it is an answer of toolrack_select() as the schema describes it; `failure` says why not.
 */
bool answer_is_described(yyjson_val *answer, struct schema_failure *failure);

/** Fail the test unless it is one. */
void assert_answer(yyjson_val *answer);

/** Release the schema. */
void answer_schema_finish(void);
