#include "cli/offer.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* The values of --allow as one. */
static char *join(const struct texts *values) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    for (size_t i = 0; i < values->count; i++) {
        buf_printf(&text, "%s%s", i > 0 ? "," : "", values->items[i]);
    }
    return buf_steal(&text);
}

/* Split the value of --allow into a list that ends with NULL; it borrows from `copy`, whose commas
 * become zeros. */
static const char **split(char *copy) {
    size_t room = 2;
    for (const char *at = copy; *at != '\0'; at++) {
        room += *at == ',';
    }
    const char **names = calloc(room, sizeof *names);
    char *rest = copy;
    for (size_t count = 0; names != NULL && rest != NULL;) {
        char *name = strsep(&rest, ",");
        name += strspn(name, " ");
        if (name[0] != '\0') {
            names[count++] = name;
        }
    }
    return names;
}

/* Which tools are in the basic profile says something only where nobody names them. */
void offer_set_names(struct offer *offer, const struct options *options) {
    offer->options.allow = offer->names;
    offer->options.profile = options->profile;
    if (offer->names == NULL && options->profile == NULL) {
        offer->options.profile = TOOLRACK_PROFILE_BASIC;
    }
}

int offer_read(struct cli *cli, struct offer *ret) {
    *ret = (struct offer){.options = TOOLRACK_EXPORT_OPTIONS_INIT};
    if (cli->options.allow.count > 0) {
        ret->text = join(&cli->options.allow);
        ret->names = ret->text != NULL ? split(ret->text) : NULL;
        if (ret->names == NULL) {
            return cli_oom(cli);
        }
    }
    offer_set_names(ret, &cli->options);
    ret->options.limit = cli->options.limit;
    ret->options.budget = cli->options.budget;
    return 0;
}

void offer_finish(struct offer *offer) {
    free(offer->text);
    free(offer->names);
}
