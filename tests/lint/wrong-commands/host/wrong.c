/* Two commands with a word that is not quoted, and one without its places; the rest is good. */
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
