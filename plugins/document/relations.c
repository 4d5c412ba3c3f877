#include "relations.h"

#include <stdio.h>
#include <stdlib.h>

#include "xml.h"

static bool add(struct sink *sink, struct xml *xml, struct relations *ret) {
    if (ret->count == PARTS_COUNT_MAX) {
        return sink_fail(sink, true, "it has more than %u slides or sheets", PARTS_COUNT_MAX);
    }
    if (ret->items == NULL) {
        ret->items = calloc(PARTS_COUNT_MAX, sizeof *ret->items);
    }
    if (ret->items == NULL) {
        return sink_fail(sink, false, "out of memory");
    }
    struct relation *one = &ret->items[ret->count++];
    xml_attribute(xml, "name", one->title, sizeof one->title);
    xml_relation(xml, one->id, sizeof one->id);
    return true;
}

static bool read_main(struct sink *sink, const struct part *part, const char *element,
                      struct relations *ret) {
    struct xml xml;
    enum xml_event event = XML_OTHER;
    bool goes_on = xml_init(&xml, sink, part);
    while (goes_on && (event = xml_next(&xml)) != XML_END) {
        goes_on = event != XML_OPEN || !xml_is(&xml, element) || add(sink, &xml, ret);
    }
    xml_finish(&xml);
    return sink_goes_on(sink);
}

/* A target is relative to the folder of the main part, or begins with a slash. */
static const struct part *find_target(const struct parts *parts, const char *folder,
                                      const char *target) {
    char path[400];
    int length = target[0] == '/' ? snprintf(path, sizeof path, "%s", target + 1)
                                  : snprintf(path, sizeof path, "%s%s", folder, target);
    return length < (int)sizeof path ? parts_find(parts, path) : NULL;
}

static void link_one(const struct parts *parts, struct xml *xml, const char *folder,
                     struct relations *ret) {
    char id[64];
    char target[300];
    xml_attribute(xml, "Id", id, sizeof id);
    xml_attribute(xml, "Target", target, sizeof target);
    for (size_t i = 0; i < ret->count; i++) {
        if (id[0] != '\0' && strcmp(ret->items[i].id, id) == 0) {
            ret->items[i].part = find_target(parts, folder, target);
        }
    }
}

bool relations_read(struct sink *sink, const struct parts *parts, const char *main,
                    const char *links, const char *folder, const char *element,
                    struct relations *ret) {
    const struct part *main_part = parts_find(parts, main);
    const struct part *links_part = parts_find(parts, links);
    *ret = (struct relations){0};
    if (main_part == NULL || links_part == NULL) {
        return sink_fail(sink, false, "it is damaged: it has no part %s",
                         main_part == NULL ? main : links);
    }
    if (!read_main(sink, main_part, element, ret)) {
        return false;
    }
    struct xml xml;
    enum xml_event event;
    if (xml_init(&xml, sink, links_part)) {
        while ((event = xml_next(&xml)) != XML_END) {
            if (event == XML_OPEN && xml_is(&xml, "Relationship")) {
                link_one(parts, &xml, folder, ret);
            }
        }
    }
    xml_finish(&xml);
    return sink_goes_on(sink);
}

void relations_finish(struct relations *relations) {
    free(relations->items);
    *relations = (struct relations){0};
}
