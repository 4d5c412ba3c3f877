/* parcel.c - a plugin to be packed: VERSION says which version of it. The second one takes a tool
 * away and wants more. */
#include <toolrack/plugin.h>

#ifndef ID
#define ID "org.example.parcel"
#endif

#if VERSION == 1

#define VERSION_TEXT "1.0.0"
#define DESCRIPTION  "Say which version this is"
static int32_t weigh(int32_t grams) {
    return grams;
}
TR_TOOL(weigh, "Weigh a parcel", TR_I32, (TR_I32, grams, "weight"))

#elif VERSION == 2

#define VERSION_TEXT "1.1.0"
#ifndef DESCRIPTION
#define DESCRIPTION "Say which version of it this is"
#endif

#elif VERSION == 5

/* The version of the tool is not that of the plugin, which the build gives with the text. */
#define DESCRIPTION (TEXT, .version = "1.0.0")

#elif VERSION == 4

#define VERSION_TEXT "1.4.0"
#define DESCRIPTION  ("Say which version this is", .permission = TR_CONFIRM)

#else

#define VERSION_TEXT "1.2.0"
#ifdef CHATTY
/* 300 characters and more. */
#define TEN         "0123456789"
#define FIFTY       TEN TEN TEN TEN TEN
#define DESCRIPTION "Say much " FIFTY FIFTY FIFTY FIFTY FIFTY FIFTY "the end"
#else
#define DESCRIPTION "Say which version this is"
#endif

#endif

static const char *parcel(void) {
    return VERSION_TEXT;
}
TR_TOOL(parcel, DESCRIPTION, TR_STRING)

#if VERSION == 1
TR_PLUGIN((ID, .license = "MIT"), VERSION_TEXT, parcel, weigh)
#elif VERSION == 2
TR_PLUGIN((ID, .license = "MIT", TR_CAPABILITIES(TR_CONNECTS("*:443"))), VERSION_TEXT, parcel)
#else
TR_PLUGIN((ID, .license = "MIT"), VERSION_TEXT, parcel)
#endif
