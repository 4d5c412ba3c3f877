/* check.h - the JSON Schema of configurations, toolrack.schema.json, as it is installed. */
#pragma once

/** Its text. */
extern const char config_schema[];
