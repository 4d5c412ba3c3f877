// messages.mjs - the tables in messages/*.json: what a client sends, and exactly what comes back.
//
// messages/README.md describes the tables. Each message of the server is also checked against the
// schema of the revision.
import {copyFileSync, readdirSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import {isDeepStrictEqual} from 'node:util';
import Ajv from 'ajv';
import Ajv2020 from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import {envelope, events, finish, passes, patience, pipe, serve, temporaryFolder} from './lib.mjs';

const source = process.env.MCP_SOURCE;
const plugins = process.env.MCP_CONFORMANCE.split(':');
const stateless = '2026-07-28';

// -------------------------------------------------------------------- schemas

// What the result of a method has to be. Methods of extensions are not in the schemas.
const results = {
    initialize: 'InitializeResult', ping: 'EmptyResult', 'server/discover': 'DiscoverResult',
    'tools/list': 'ListToolsResult', 'tools/call': 'CallToolResult',
    'resources/list': 'ListResourcesResult', 'resources/read': 'ReadResourceResult',
    'resources/templates/list': 'ListResourceTemplatesResult',
    'resources/subscribe': 'EmptyResult', 'resources/unsubscribe': 'EmptyResult',
    'prompts/list': 'ListPromptsResult', 'prompts/get': 'GetPromptResult',
    'completion/complete': 'CompleteResult', 'logging/setLevel': 'EmptyResult',
    'subscriptions/listen': 'SubscriptionsListenResult',
};

const validators = new Map();
function validator(revision, name) {
    if (!validators.has(revision)) {
        const schema = JSON.parse(readFileSync(join(source, 'schema', revision, 'schema.json'), 'utf8'));
        const ajv = new (schema.$defs ? Ajv2020 : Ajv)({strict: false, allErrors: true});
        addFormats(ajv);
        // Spelled in the TypeScript of the specification only.
        ['byte', 'uri-template'].forEach((format) => ajv.addFormat(format, true));
        ajv.addSchema(schema, 'mcp');
        validators.set(revision, {ajv, place: schema.$defs ? '$defs' : 'definitions', names: schema.$defs ?? schema.definitions});
    }
    const {ajv, place, names} = validators.get(revision);
    return name in names && ajv.getSchema(`mcp#/${place}/${name}`);
}

function mustBe(revision, name, value) {
    const check = validator(revision, name);
    if (check && !check(value)) {
        const why = check.errors.slice(0, 5).map((error) => `${error.instancePath} ${error.message}`).join('; ');
        throw new Error(`not a ${name} of ${revision}: ${why}\n${JSON.stringify(value)}`);
    }
}

/** Is a message of the server what the revision allows, as an answer to `method`? */
function checkMessage(revision, message, method) {
    // What has no id to answer: only from 2025-11-25 on there is a form for that.
    if (revision < '2025-11-25' && message.error && !('id' in message)) {
        return;
    }
    mustBe(revision, 'JSONRPCMessage', message);
    if ('method' in message) {
        mustBe(revision, 'id' in message ? 'ServerRequest' : 'ServerNotification', message);
    } else if (message.result?.resultType === 'input_required') {
        mustBe(revision, 'InputRequiredResult', message.result);
    } else if (message.result?.resultType !== 'task' && results[method] && message.result) {
        mustBe(revision, results[method], message.result);
    }
}

// ------------------------------------------------------------------- patterns

// What does not match, or nothing. Values of <set NAME> are kept for <get NAME>.
function differs(pattern, value, kept, path = '') {
    if (typeof pattern === 'string') {
        const word = /^<(\w+)(?: (\w+))?>$/.exec(pattern);
        if (word?.[1] === 'any') {
            return value === undefined ? `${path} is missing` : '';
        } else if (word?.[1] === 'set') {
            kept[word[2]] = value;
            return value === undefined ? `${path} is missing` : '';
        } else if (word?.[1] === 'get') {
            return differs(kept[word[2]], value, kept, path);
        } else if (word && ['string', 'number', 'boolean', 'object'].includes(word[1])) {
            return typeof value === word[1] ? '' : `${path} is no ${word[1]}: ${JSON.stringify(value)}`;
        } else if (/^\/.+\/$/.test(pattern)) {
            return typeof value === 'string' && new RegExp(pattern.slice(1, -1)).test(value)
                ? '' : `${path} does not match ${pattern}: ${JSON.stringify(value)}`;
        }
    }
    if (typeof pattern !== 'object' || pattern === null || typeof value !== 'object' || value === null ||
        Array.isArray(pattern) !== Array.isArray(value)) {
        return isDeepStrictEqual(pattern, value)
            ? '' : `${path} is ${JSON.stringify(value)}, not ${JSON.stringify(pattern)}`;
    }
    if (Array.isArray(pattern)) {
        const open = pattern.at(-1) === '...';
        const wanted = open ? pattern.slice(0, -1) : pattern;
        if (open ? value.length < wanted.length : value.length !== wanted.length) {
            return `${path} has ${value.length} items, not ${wanted.length}: ${JSON.stringify(value)}`;
        }
        return wanted.map((item, i) => differs(item, value[i], kept, `${path}/${i}`)).find(Boolean) ?? '';
    }
    const {'...': open, ...members} = pattern;
    for (const [key, wanted] of Object.entries(members)) {
        const found = wanted === '<none>' ? (key in value ? `${path}/${key} is there` : '')
                                          : differs(wanted, value[key], kept, `${path}/${key}`);
        if (found) {
            return found;
        }
    }
    const more = open === undefined && Object.keys(value).find((key) => !(key in members));
    return more ? `${path}/${more} is not expected: ${JSON.stringify(value[more])}` : '';
}

// A message with the values that were kept.
function filled(value, kept) {
    if (typeof value === 'string') {
        const word = /^<get (\w+)>$/.exec(value);
        return word ? kept[word[1]] : value;
    }
    if (Array.isArray(value)) {
        return value.map((item) => filled(item, kept));
    }
    return value && typeof value === 'object'
        ? Object.fromEntries(Object.entries(value).map(([key, item]) => [key, filled(item, kept)])) : value;
}

// ---------------------------------------------------------------------- inbox

// What came from the server and was not expected yet.
class Inbox {
    #messages = [];
    #wake = () => {};
    broken;

    put(message) {
        this.#messages.push(message);
        this.#wake();
    }

    breaks(error) {
        this.broken ??= error;
        this.#wake();
    }

    /** Wait for a message that matches, and take it. One with the same id that does not is an error. */
    async take(pattern, kept) {
        const end = Date.now() + patience;
        for (;;) {
            for (const [i, message] of this.#messages.entries()) {
                const why = differs(pattern, message, kept);
                if (!why) {
                    this.#messages.splice(i, 1);
                    return;
                }
                if (pattern.id !== undefined && pattern.id === message.id && !('method' in pattern) && !('method' in message)) {
                    throw new Error(`${why}\nin ${JSON.stringify(message)}`);
                }
            }
            if (this.broken) {
                throw this.broken;
            }
            if (Date.now() >= end) {
                throw new Error(`never came: ${JSON.stringify(pattern)}\nthere was ${JSON.stringify(this.#messages)}`);
            }
            await new Promise((resolve) => {
                const timer = setTimeout(resolve, end - Date.now());
                this.#wake = () => { clearTimeout(timer); resolve(); };
            });
        }
    }

    nothingLeft() {
        if (this.broken) {
            throw this.broken;
        }
        if (this.#messages.length) {
            throw new Error(`nobody expected ${this.#messages.map((message) => JSON.stringify(message)).join('\n')}`);
        }
    }
}

// ----------------------------------------------------------------- transports

// Both have: send(text, message, step), later(), close(); what comes goes to the inbox.
class Pipe {
    constructor(inbox, receive, test) {
        this.client = pipe(setUp(test));
        this.reading = (async () => {
            for (let next = 0; this.client.child.exitCode === null || next < this.client.lines.length;) {
                const more = this.client.more();
                while (next < this.client.lines.length) {
                    receive(this.client.lines[next++]);
                }
                await more;
            }
            if (!this.closing) {
                inbox.breaks(new Error(`the process ended: ${this.client.child.errors}`));
            }
        })().catch((error) => inbox.breaks(error));
    }

    async send(text) {
        this.client.write(`${text}\n`);
    }

    abort() {}

    end() {
        this.closing = true;
        this.client.child.stdin.end();
    }

    end() {
        this.closing = true;
        this.client.child.stdin.end();
    }

    async close() {
        this.closing = true;
        const status = await this.client.close();
        await this.reading;
        if (status !== 0) {
            throw new Error(`the process ended with ${status}: ${this.client.child.errors}`);
        }
    }
}

// The headers that the stateless era wants beside a message.
function mirrored(message) {
    const headers = {'Mcp-Method': message.method};
    const name = message.params?.name ?? message.params?.uri ?? message.params?.taskId;
    if (typeof name === 'string') {
        headers['Mcp-Name'] = name;
    }
    return headers;
}

class Http {
    streams = [];

    constructor(inbox, receive, url, revision) {
        Object.assign(this, {inbox, receive, url, revision, session: undefined});
    }

    headers(message, step) {
        const modern = (step.revision ?? this.revision) === stateless;
        const headers = {
            'Content-Type': 'application/json', Accept: 'application/json, text/event-stream',
            ...(this.session && {'Mcp-Session-Id': this.session}),
            ...((this.session || modern) && {'MCP-Protocol-Version': step.revision ?? this.revision}),
            ...(modern && message?.method && mirrored(message)), ...step.headers,
        };
        return Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== null));
    }

    // A request may be answered late: only what it is answered with is waited for.
    async send(text, message, step) {
        const stream = {stop: new AbortController(), id: message?.id, done: false};
        stream.end = this.exchange(text, message, step, stream).catch((error) => {
            stream.done = true;
            if (!stream.stop.signal.aborted) {
                this.inbox.breaks(error);
            }
        });
        this.streams.push(stream);
        if ((step.status && !step.later) || (!(message?.method && 'id' in message) && step.method !== 'GET')) {
            await stream.end;
        }
    }

    async exchange(text, message, step, stream) {
        const method = step.method ?? 'POST';
        const answer = await fetch(this.url, {
            method, headers: this.headers(message, step), signal: stream.stop.signal,
            ...(method === 'POST' && {body: text}),
        });
        const wanted = step.status ?? (message && !('id' in message && 'method' in message) ? 202 : 200);
        if (answer.status !== wanted) {
            throw new Error(`status ${answer.status}, not ${wanted}, for ${text}\n${await answer.text()}`);
        }
        for (const [name, pattern] of Object.entries(step.answerHeaders ?? {})) {
            const why = differs({'...': '', [name]: pattern}, Object.fromEntries(answer.headers), {});
            if (why) {
                throw new Error(why);
            }
        }
        this.session ??= answer.headers.get('mcp-session-id') ?? undefined;
        await this.read(answer, stream);
    }

    async read(answer, stream) {
        if (answer.headers.get('content-type')?.startsWith('text/event-stream')) {
            for await (const event of events(answer.body)) {
                if (event.data) {
                    this.receive(event.data);
                }
            }
        } else {
            const text = await answer.text();
            if (answer.status === 202 && text) {
                throw new Error(`202 with a body: ${text}`);
            }
            if (text && answer.headers.get('content-type')?.startsWith('application/json')) {
                this.receive(text);
            }
        }
        stream.done = true;
    }

    /** The client closes the connection of a request. */
    async abort(id) {
        const stream = this.streams.find((one) => one.id === id && !one.done);
        stream.stop.abort();
        await stream.end;
    }

    async close() {
        for (const stream of this.streams.filter((one) => !one.done)) {
            stream.stop.abort();
            await stream.end;
        }
        if (this.session) {
            await fetch(this.url, {method: 'DELETE', headers: {'Mcp-Session-Id': this.session}});
        }
    }
}

// -------------------------------------------------------------------- servers

const servers = new Map();
const folders = new Map();

// The plugins of the case if it names some, each in a folder of its own.
function setUp({config, plugins: named}) {
    const own = named?.map((name) => {
        if (!folders.has(name)) {
            folders.set(name, temporaryFolder());
            copyFileSync(join(process.env.MCP_BUILDS, name), join(folders.get(name), name));
        }
        return folders.get(name);
    });
    return {plugins: own ?? plugins, config};
}

// One server for all cases that have the same plugins and configuration.
function serverFor({config, plugins: named}) {
    const key = JSON.stringify([config, named]);
    if (!servers.has(key)) {
        servers.set(key, serve(setUp({config, plugins: named})));
    }
    return servers.get(key);
}

// ---------------------------------------------------------------------- cases

const handshake = (revision, capabilities) => ({
    jsonrpc: '2.0', id: 'handshake', method: 'initialize',
    params: {protocolVersion: revision, capabilities, clientInfo: {name: 'toolrack-tests', version: '1.0.0'}},
});

async function run(test, revision, transport) {
    const requests = new Map(); // id: method and revision
    const kept = {revision};
    const inbox = new Inbox();
    const receive = (text) => {
        try {
            if (text.includes('\n')) {
                throw new Error(`a message in several lines: ${text}`);
            }
            const message = JSON.parse(text);
            const request = 'method' in message ? undefined : requests.get(message.id);
            checkMessage(request?.revision ?? revision, message, request?.method);
            inbox.put(message);
        } catch (error) {
            inbox.breaks(error);
        }
    };
    const way = transport === 'stdio' ? new Pipe(inbox, receive, test) : new Http(inbox, receive, (await serverFor(test)).url, revision);
    const send = async (step) => {
        let message = step.send && filled({jsonrpc: '2.0', ...step.send}, kept);
        if (message?.method && 'id' in message) {
            const era = step.revision ?? revision;
            requests.set(message.id, {method: message.method, revision: era});
            if (era === stateless && step.envelope !== false) {
                const meta = envelope(step.capabilities ?? test.capabilities, message.params?._meta);
                message = {...message, params: {...message.params, _meta: meta}};
            }
        }
        await way.send(step.raw ?? (message && JSON.stringify(message)), message, step);
    };
    try {
        if (revision !== stateless && test.handshake !== false) {
            await send({send: handshake(revision, test.capabilities ?? {})});
            await inbox.take({jsonrpc: '2.0', id: 'handshake', result: '<any>'}, kept);
            await send({send: {method: 'notifications/initialized'}});
        }
        for (const step of test.steps.filter((one) => !one.only || one.only === transport)) {
            if (step.send || step.raw !== undefined || step.method) {
                await send(step);
            }
            if (step.abort !== undefined) {
                await way.abort(step.abort);
            }
            if (step.end) {
                way.end();
            }
            if (step.end) {
                way.end();
            }
            for (const pattern of step.expect ?? []) {
                await inbox.take({jsonrpc: '2.0', ...pattern}, kept);
            }
        }
    } finally {
        await way.close();
    }
    if (!test.more) {
        inbox.nothingLeft();
    }
}

// Without arguments all; arguments choose files and transports.
const chosen = process.argv.slice(2);
const files = readdirSync(join(source, 'messages')).filter((name) => name.endsWith('.json')).map((name) => name.replace('.json', '')).sort();
const isChosen = (name, all) => !all.some((one) => chosen.includes(one)) || chosen.includes(name);
const transports = ['stdio', 'http'].filter((name) => isChosen(name, ['stdio', 'http']));
const cases = files.filter((name) => isChosen(name, files)).flatMap((file) => {
    const tests = JSON.parse(readFileSync(join(source, 'messages', `${file}.json`), 'utf8'));
    return tests.flatMap((test) => test.revisions.flatMap((revision) =>
        (test.transports ?? transports).map((transport) => ({file, test, revision, transport}))));
}).filter(({transport}) => transports.includes(transport));
const check = ({file, test, revision, transport}) =>
    passes(`${file}: ${test.name} (${revision}, ${transport})`, () => run(test, revision, transport));

// Each client over stdio has a process of its own: several at once. Those over HTTP have one server, one
// after the other, since some change what others see.
const queue = cases.filter(({transport}) => transport === 'stdio');
await Promise.all([1, 2, 3, 4].map(async () => {
    while (queue.length) {
        await check(queue.shift());
    }
}));
for (const one of cases.filter(({transport}) => transport === 'http')) {
    await check(one);
}
for (const one of servers.values()) {
    await passes('the server ends at SIGTERM', async () => {
        const server = await one;
        if (await server.stop() !== 0) {
            throw new Error(server.child.errors);
        }
    });
}
await finish();
