/* weather.c - one tool in three versions, one plugin each: VERSION says which. */
#include <toolrack/plugin.h>

#define VERSION_1_0   1
#define VERSION_1_2   2
#define VERSION_2_0RC 3

#if VERSION == VERSION_1_0

#define VERSION_TEXT "1.0.0"
static const char *weather(const char *city, const char *unit) {
    (void)city;
    (void)unit;
    return VERSION_TEXT;
}
TR_TOOL(weather,
        ("Tell the weather", .deprecated = "use version 1.2", .purpose = "Know what to wear",
         .scenarios = "planning a trip, small talk"),
        TR_STRING, (TR_STRING, city, "where"), (TR_STRING, unit, "C or F", TR_DEFAULT("C")))

#elif VERSION == VERSION_1_2

#define VERSION_TEXT "1.2.0"
static const char *weather(const char *city, int32_t days) {
    (void)city;
    (void)days;
    return VERSION_TEXT;
}
TR_TOOL(weather, ("Tell the weather of some days", .purpose = "Know what to wear and when"),
        TR_STRING, (TR_STRING, city, "where"), (TR_I32, days, "how many"))

#else

#define VERSION_TEXT "2.0.0-rc.1"
static tr_status weather(struct tr_call *call) {
    const char *conversation = tr_context(call, TR_CONTEXT_CONVERSATION);
    const char *trace = tr_context(call, TR_CONTEXT_TRACE);
    return tr_reply_textf(call, VERSION_TEXT " %s %s %s %s", tr_context(call, TR_CONTEXT_CALLER),
                          tr_context(call, TR_CONTEXT_CHANNEL),
                          conversation != NULL ? conversation : "alone",
                          trace != NULL ? trace : "untraced");
}
TR_JSON_TOOL(weather, ("Tell the weather to come", .permission = TR_CONFIRM),
             TR_SCHEMA({"type" : "object", "properties" : {"city" : {"type" : "string"}}}))

#endif

TR_PLUGIN(("weather." VERSION_TEXT, .license = "MIT"), VERSION_TEXT, weather)
