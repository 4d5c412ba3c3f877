/* meta.h - the bundled metaschemas of draft 2020-12 and draft 7. */
#pragma once

/** The text of the metaschema or vocabulary with this URI (without fragment), or NULL. Static. */
const char *meta_find(const char *uri);
