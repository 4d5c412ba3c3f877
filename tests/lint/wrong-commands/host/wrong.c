/* Two commands with a word that is not quoted, one without its places, and one in quotes of the
 * sentence; the rest is good, also what a comment says: "grant it: toolrack grant %s". A single
 * quote " of one does not hide what follows. */
void wrong(const char *name) {
    say("approve it: toolrack " /* "one command" */
        "grant %s",             // with a "comment"
        name);
    say('"', "/*", "//");
    say("'toolrack default %s --reset'", name);
    say("list them: toolrack approvals");
    say("'toolrack list --all' shows %s", name);
    say("'toolrack help %s' describes it", name);
    say("usage: toolrack call %s", name);
    say("approve it: %s", COMMAND("grant", name));
}
