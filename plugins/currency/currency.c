/* currency - conversion between currencies by a table of rates.
 *
 * open() fills the table, which is constant until close(), so calls may run in parallel and results
 * may point into it. Without a rates_file it is a small built-in table, whose round figures are for
 * testing only.
 *
 * `rate` is rate(to) / rate(from) and `result` is amount * rate, both as IEEE doubles without
 * further rounding: rounding to cents would be wrong for yen and for further calculation. Between
 * currencies other than the base, the quotient may end in digits such as ...9, a rounding error of
 * 1 in 10^16. */
#include <toolrack/plugin.h>

#include "ecb.h"
#include "rates.h"

/* Beyond this a double cannot represent cents. */
#define AMOUNT_MAX 1e15

static struct rates table;

static void use_builtin_rates(void) {
    rates_init(&table, "USD");
    (void)rates_add(&table, "EUR", 0.85);
    (void)rates_add(&table, "GBP", 0.73);
    (void)rates_add(&table, "JPY", 110);
}

static tr_status open_currency(struct tr_host *host) {
    const char *path = tr_host_config(host, "rates_file", NULL);
    if (path == NULL) {
        use_builtin_rates();
        return TR_OK;
    }
    if (path[0] != '/') {
        return tr_host_fail(host, "rates_file must be an absolute path, not \"%s\"", path);
    }
    char message[ECB_MESSAGE_SIZE];
    if (!ecb_read(path, &table, message)) {
        return tr_host_fail(host, "rates_file %s: %s", path, message);
    }
    return TR_OK;
}

static const struct rate *find(struct tr_call *call, const char *field, const char *currency) {
    const struct rate *rate = rates_find(&table, currency);
    if (rate == NULL) {
        char known[RATES_COUNT_MAX * 5 + 1];
        (void)tr_fail(call, TR_INVALID_ARGUMENTS, field, "no rate for \"%.16s\"; known: %s",
                      currency, rates_list(&table, known, sizeof known));
    }
    return rate;
}

struct conversion {
    double amount;
    const char *from_currency;
    const char *to_currency;
    double result;
    double rate;
};
TR_DEFINE_STRUCT(conversion, struct conversion, (TR_F64, amount, "The amount that was given"),
                 (TR_STRING, from_currency, "Its currency"),
                 (TR_STRING, to_currency, "The currency of the result"),
                 (TR_F64, result, "amount times rate, not rounded"),
                 (TR_F64, rate, "How much of to_currency one unit of from_currency is"))

static struct conversion currency_convert(struct tr_call *call, double amount,
                                          const char *from_currency, const char *to_currency) {
    const struct rate *from = find(call, "from_currency", from_currency);
    const struct rate *to = from == NULL ? NULL : find(call, "to_currency", to_currency);
    if (to == NULL) {
        return (struct conversion){0};
    }
    if (!(amount > 0) || amount > AMOUNT_MAX) {
        (void)tr_fail(call, TR_INVALID_ARGUMENTS, "amount", "must be above 0 and at most %g",
                      AMOUNT_MAX);
        return (struct conversion){0};
    }
    double rate = to->rate / from->rate;
    return (struct conversion){amount, from->currency, to->currency, amount * rate, rate};
}

struct listing {
    const char *base;
    const char *date;
    struct tr_array rates;
};
TR_DEFINE_STRUCT(rate, struct rate, (TR_STRING, currency, "ISO 4217 code"),
                 (TR_F64, rate, "How much of it one unit of the base currency is"))
TR_DEFINE_STRUCT(listing, struct listing, (TR_STRING, base, "The currency all rates refer to"),
                 (TR_NULLABLE(TR_STRING), date,
                  "The day the rates are of, YYYY-MM-DD; null for the built-in sample rates"),
                 (TR_ARRAY(TR_STRUCT(rate)), rates, "All known currencies"))

static struct listing currency_rates(void) {
    return (struct listing){.base = table.base,
                            .date = table.date[0] == '\0' ? NULL : table.date,
                            .rates = {table.rates, table.count}};
}

/* clang-format off */
TR_TOOL(currency_convert,
    ("Convert an amount of money from one currency to another. Returns the converted amount (not "
     "rounded) and the rate. Rates are those of a daily table, not live market prices: USD, EUR, "
     "GBP and JPY are always known; ask currency_rates for all and for the date.",
     .title = "Convert currency", .category = "finance", .tags = "currency,money,exchange,forex",
     .flags = TR_READ_ONLY | TR_IDEMPOTENT,
     /* The table may change every day: only results that do not depend on it are stated. */
     TR_EXAMPLES(
         TR_EXAMPLE(TR_SCHEMA({"amount": 100, "from_currency": "USD", "to_currency": "EUR"}), NULL),
         TR_EXAMPLE(TR_SCHEMA({"amount": 12.34, "from_currency": "EUR", "to_currency": "EUR"}),
                    TR_SCHEMA({"amount": 12.34, "from_currency": "EUR", "to_currency": "EUR",
                               "result": 12.34, "rate": 1})))),
    TR_STRUCT(conversion), TR_CALL,
    (TR_F64, amount, "The amount of money, in units of from_currency",
     TR_EXCLUSIVE_MINIMUM(0), TR_MAXIMUM(1e15)),
    (TR_STRING, from_currency, "Currency of the amount: ISO 4217 code in capitals, such as USD",
     .pattern = "^[A-Z]{3}$"),
    (TR_STRING, to_currency, "Currency to convert to: ISO 4217 code in capitals, such as EUR",
     .pattern = "^[A-Z]{3}$"))

TR_TOOL(currency_rates,
    ("List the currencies that currency_convert knows, with their rates against one base currency "
     "and the day of the rates. Use it to see whether a currency is known and how old the rates are.",
     .title = "List exchange rates", .category = "finance", .tags = "currency,money,exchange,forex",
     .flags = TR_READ_ONLY | TR_IDEMPOTENT, TR_EXAMPLES(TR_EXAMPLE("{}", NULL))),
    TR_STRUCT(listing))

TR_PLUGIN(("currency", .description = "Converts currencies by a table of rates",
           .vendor = "toolrack", .license = "MIT", .flags = TR_THREAD_SAFE, .open = open_currency,
           TR_CAPABILITIES(TR_MAY_READ(CURRENCY_DATA_DIR),
                           TR_MAY_READ("${setting:rates_file}"))),
          "1.0.0", currency_convert, currency_rates)
