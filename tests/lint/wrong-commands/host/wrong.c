/* Two commands with a word that is not quoted, one without its places, and one in quotes of the
 * sentence; the rest is good. */
void wrong(const char *name) {
    say("approve it: toolrack "
        "grant %s",
        name);
    say("'toolrack default %s --reset'", name);
    say("list them: toolrack approvals");
    say("'toolrack list --all' shows %s", name);
    say("'toolrack help %s' describes it", name);
    say("usage: toolrack call %s", name);
    say("approve it: %s", COMMAND("grant", name));
}
