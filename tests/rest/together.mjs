// together.mjs - all who use one state folder at once: a daemon with the page, MCP clients at its address and at a pipe, a
// command that runs as a host of its own, commands that the daemon runs, and an app that embeds the library. What one of
// them switches, the others see.
import assert from 'node:assert/strict';
import {existsSync} from 'node:fs';
import {Client, StreamableHTTPClientTransport} from '@modelcontextprotocol/client';
import {StdioClientTransport} from '@modelcontextprotocol/client/stdio';
import {chromium} from 'playwright-core';
import {ask, beside, command, environment, files, finish, passes, port, prepare, soon, start, words} from './server.mjs';

const browserProgram = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'].find(existsSync);
if (!browserProgram) {
    console.log('1..0 # SKIP there is no Chromium (Debian packages chromium-headless-shell, chromium)');
    process.exit(0);
}

const toolrack = process.env.REST_TOOLRACK;
const switched = 'listens';
prepare({}, ['says']);
const boss = command('token', 'add', 'boss', '--admin').trim();
await start();

// ------------------------------------------------------------------ who looks

/** One who looks at the tool: what it knows of it, and who waits for that to change. */
class Sight {
    #enabled;
    #waiting = [];

    constructor(name) {
        this.name = name;
    }

    learn(enabled) {
        this.#enabled = enabled;
        this.#waiting = this.#waiting.filter((one) => one.enabled !== enabled || one.resolve(performance.now()));
    }

    /** When it was seen to be so: at once, if that is known. */
    until(enabled) {
        return soon(this.#enabled === enabled ? performance.now() : new Promise((resolve) => this.#waiting.push({enabled, resolve})),
            `${this.name} sees ${switched} ${enabled ? 'enabled' : 'disabled'}`);
    }
}

/** A program that tells of changes; `ready` is the line by which it says that it does, and `textOf` gives of a line what the
 * tool is now ("disabled, priority 10"), or undefined. */
async function program(name, path, arguments_, ready, textOf) {
    const sight = new Sight(name);
    let begin;
    const begun = new Promise((resolve) => { begin = resolve; });
    const begins = (line) => line === ready && begin();
    sight.process = beside(path, arguments_, (line) => {
        begins(line);
        const text = textOf(line);
        if (text !== undefined) {
            sight.learn(!text.startsWith('disabled'));
        }
    }, begins);
    await soon(begun, `the start of ${name}`);
    return sight;
}

async function mcpClient(name, transport, mode) {
    const sight = new Sight(name);
    const client = new Client({name: 'toolrack-tests', version: '1.0.0'}, {capabilities: {}, versionNegotiation: {mode}});
    const look = async () => {
        const {tools} = await client.listTools();
        sight.learn(tools.some((tool) => tool.name === switched));
    };
    client.setNotificationHandler('notifications/tools/list_changed', look);
    await soon(client.connect(transport), `the connection of ${name}`);
    if (client.getProtocolEra() === 'modern') {
        await client.listen({toolsListChanged: true});
    }
    await look();
    sight.close = () => client.close();
    return sight;
}

const browser = await chromium.launch({executablePath: browserProgram, args: process.getuid() === 0 ? ['--no-sandbox'] : []});
const page = await browser.newPage({reducedMotion: 'reduce'});
page.setDefaultTimeout(20_000);
await page.goto(`http://127.0.0.1:${port}`);
await page.getByLabel('Token of an administrator').fill(boss);
await page.getByRole('button', {name: 'Log in'}).click();
const row = page.locator('.tool', {has: page.locator('.name', {hasText: new RegExp(`^${switched}$`)})});
await row.waitFor();

const watching = await program('a command as a host of its own (watch)', toolrack, words('watch', '--json'),
    'toolrack: watching the plugin folders; Ctrl-C ends',
    (line) => { const {event, tool, message} = JSON.parse(line); return event === 'changed' && tool === switched ? message : undefined; });
const app = await program('an app', process.env.REST_APP, [files.config, files.state, files.plugins], 'open',
    (line) => line.startsWith(`${switched} `) ? line.slice(switched.length + 1) : undefined);
const clients = [
    await mcpClient('an MCP client over HTTP', new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${port}/mcp`)), {pin: '2026-07-28'}),
    await mcpClient('an MCP client at a pipe', new StdioClientTransport({command: toolrack, args: words('mcp'), env: environment, stderr: 'ignore'}), 'legacy'),
];

/** A command that the daemon runs: it lists the tools that are enabled, and is there for as long as that takes. */
const listing = {name: 'a command (list)', until: async (enabled) => {
    for (;;) {
        const tools = JSON.parse(await output('list', '--json'));
        if (tools.some((tool) => tool.name === switched) === enabled) {
            return performance.now();
        }
    }
}};
const shown = {name: 'the page', until: async (enabled) => {
    await page.waitForFunction(([name, on]) => [...document.querySelectorAll('.tool')].some((one) =>
        one.querySelector('.name').textContent === name && one.querySelector('.switch').checked === on), [switched, enabled]);
    return performance.now();
}};
const all = [listing, watching, shown, ...clients, app];

async function output(...more) {
    const lines = [];
    assert.equal(await beside(toolrack, words(...more), (line) => lines.push(line)).end(), 0, more.join(' '));
    return lines.join('\n');
}

// -------------------------------------------------------------- who switches it

const verb = (enabled) => enabled ? 'enable' : 'disable';
const ways = [
    ['a command', (enabled) => output(verb(enabled), switched)],
    ['a command without the daemon', (enabled) => output('--no-daemon', verb(enabled), switched)],
    ['a click in the page', (enabled) => row.getByRole('switch').setChecked(enabled)],
    ['an app that embeds the library', (enabled) => app.process.write(`${verb(enabled)} ${switched}\n`)],
    ['PATCH', async (enabled) => {
        const answer = await ask('PATCH', `/api/tools/${switched}`, {token: boss, body: {enabled}});
        assert.equal(answer.status, 200, answer.text);
    }],
];

await passes('commands are those of the daemon, and the others are there beside it', async () => {
    const status = JSON.parse(await output('status', '--json'));
    assert.ok(status.daemon, JSON.stringify(status));
    await Promise.all(all.map((one) => one === listing || one === shown || clients.includes(one) ? one.until(true) : undefined));
});

for (const [name, set] of ways) {
    await passes(`what ${name} switches is seen by all`, async () => {
        const times = all.map(() => 0);
        for (const enabled of [false, true]) {
            const began = performance.now();
            await Promise.all([set(enabled), ...all.map(async (one, i) => {
                times[i] = Math.max(times[i], await one.until(enabled) - began);
            })]);
        }
        console.log(`# by ${name}: ${all.map((one, i) => `${one.name} ${Math.round(times[i])} ms`).join(', ')}`);
    });
}

await passes('each of them ends as it should', async () => {
    assert.equal(await app.process.end(), 0);
    assert.equal(await watching.process.stop(), 0);
    await soon(Promise.all(clients.map((client) => client.close())), 'the end of the MCP clients');
    await soon(browser.close(), 'the end of the browser');
});
await finish();
