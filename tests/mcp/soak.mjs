// soak.mjs - many clients of both eras over both transports, while plugins are reloaded, crash and are
// toggled: each request is answered once, and the server does not grow.
//
// MCP_SOAK_S says how long; ./dev soak runs it for half an hour.
import assert from 'node:assert/strict';
import {copyFileSync, renameSync} from 'node:fs';
import {join} from 'node:path';
import {setTimeout as sleep} from 'node:timers/promises';
import {
    commandLine, descriptors, envelope, events, finish, memoryKiB, note, passes, pipe, run, serve, soon, temporaryFolder, threads,
} from './lib.mjs';

const seconds = Number(process.env.MCP_SOAK_S || 20);
const [conformance] = process.env.MCP_CONFORMANCE.split(':');
const builds = process.env.MCP_BUILDS;
const changing = temporaryFolder();
const state = temporaryFolder();
const plugins = [conformance, changing];
const config = {serve: {limits: {requests_per_minute: 0}}};

// A file appears at once, as an installer writes it.
function install(build) {
    copyFileSync(join(builds, build), join(changing, '.new'));
    renameSync(join(changing, '.new'), join(changing, 'claim.so'));
}

install('claim.so');
const server = await serve({plugins, state, config});
const end = Date.now() + seconds * 1000;
const active = () => Date.now() < end;
const counts = {};
const problems = [];
const count = (what) => { counts[what] = (counts[what] ?? 0) + 1; };

// ------------------------------------------------------------------- requests

let serial = 0;
const short = (value) => (JSON.stringify(value) ?? 'nothing').slice(0, 400);
const choices = [
    () => ['tools/call', {name: 'pair', arguments: {a: 1, b: 2}}],
    () => ['tools/call', {name: 'greet', arguments: {name: 'you'}}], // is toggled
    () => ['tools/call', {name: 'calc', arguments: {}}],            // is reloaded
    () => ['tools/call', {name: 'measure', arguments: {text: 'x'.repeat(20000)}}],
    () => ['tools/call', {name: 'letters', arguments: {count: 30000}}],
    () => ['tools/call', {name: 'test_tool_with_progress', arguments: {}, _meta: {progressToken: `p${serial}`}}],
    () => ['tools/list', {}],
    () => ['tools/call', {name: 'no_such_tool', arguments: {}}],
];

function request(stateless) {
    const id = ++serial;
    const [method, params] = choices[id % choices.length]();
    const meta = stateless ? envelope({}, params._meta) : params._meta;
    return {jsonrpc: '2.0', id, method, params: {...params, ...(meta && {_meta: meta})}};
}

// What an answer may be: a result, or the refusal of a tool that is disabled just now, or has crashed.
function judge(message, answer) {
    const name = message.params.name ?? message.method;
    if (answer?.id !== message.id || !('result' in answer || 'error' in answer)) {
        problems.push(`no answer to ${short(message)}: ${short(answer)}`);
    } else if (answer.error && !['greet', 'no_such_tool', 'calc'].includes(name)) {
        problems.push(`${name}: ${short(answer)}`);
    } else if (answer.result?.isError && !['pair', 'measure', 'letters', 'crash', 'calc'].includes(name)) {
        problems.push(`${name}: ${short(answer)}`);
    }
    if (name === 'calc' && answer?.result) {
        count(answer.result.content[0].text);
    }
}

// -------------------------------------------------------------------- clients

// A session may be told to come back for its answer: then the stream ends early, and its last event has an id.
async function post(headers, message, signal) {
    const named = message.params?.name && {'Mcp-Name': message.params.name};
    let answer = await fetch(server.url, {
        method: 'POST', signal, body: JSON.stringify(message),
        headers: {'Content-Type': 'application/json', Accept: 'application/json, text/event-stream',
                  ...(headers['MCP-Protocol-Version'] === '2026-07-28' && {'Mcp-Method': message.method, ...named}), ...headers},
    });
    const {status, headers: first} = answer;
    const messages = [];
    const answers = () => messages.filter((one) => one.id === message.id && !one.method);
    while (answer.ok && answer.headers.get('content-type')?.startsWith('text/event-stream')) {
        let last;
        let retry = 0;
        for await (const event of events(answer.body)) {
            last = event.id ?? last;
            retry = Number(event.retry ?? retry);
            messages.push(...(event.data ? [JSON.parse(event.data)] : []));
        }
        if (answers().length > 0 || !last) {
            return {answers: answers(), messages, headers: first, status};
        }
        count('answers that were fetched');
        await sleep(retry);
        answer = await fetch(server.url, {signal, headers: {...headers, Accept: 'text/event-stream', 'Last-Event-ID': last}});
    }
    const text = await answer.text();
    messages.push(...(text ? [JSON.parse(text)] : []));
    return {answers: answers(), messages, headers: first, status: answer.status};
}

async function ask(headers, stateless, kind) {
    const message = request(stateless);
    const {answers, messages, status} = await soon(post(headers, message), `the answer to ${short(message)}`);
    if (answers.length !== 1) {
        problems.push(`${answers.length} answers to ${short(message)}, but status ${status} and ${short(messages)}`);
    } else {
        judge(message, answers[0]);
    }
    count(kind);
}

async function statelessClient() {
    while (active()) {
        await ask({'MCP-Protocol-Version': '2026-07-28'}, true, 'stateless requests over HTTP');
    }
}

// Sessions begin, have a stream, and end.
async function sessionClient() {
    while (active()) {
        const {headers} = await post({}, {
            jsonrpc: '2.0', id: ++serial, method: 'initialize',
            params: {protocolVersion: '2025-11-25', capabilities: {}, clientInfo: {name: 'soak', version: '1'}},
        });
        const own = {'Mcp-Session-Id': headers.get('mcp-session-id'), 'MCP-Protocol-Version': '2025-11-25'};
        await post(own, {jsonrpc: '2.0', method: 'notifications/initialized'});
        const stop = new AbortController();
        const stream = fetch(server.url, {headers: {...own, Accept: 'text/event-stream'}, signal: stop.signal})
            .then(async (answer) => { for await (const event of events(answer.body)) { count(event.data ? 'messages of sessions' : 'other events'); } })
            .catch(() => {});
        for (let i = 0; i < 20 && active(); i++) {
            await ask(own, false, 'requests in sessions');
        }
        await fetch(server.url, {method: 'DELETE', headers: own});
        stop.abort();
        await stream;
        count('sessions');
    }
}

// Clients that leave while their call runs.
async function leavingClient() {
    while (active()) {
        const message = {jsonrpc: '2.0', id: ++serial, method: 'tools/call',
                         params: {name: 'slow_compute', arguments: {seconds: 30}, _meta: envelope()}};
        await post({'MCP-Protocol-Version': '2026-07-28'}, message, AbortSignal.timeout(100)).catch(() => {});
        count('clients that left');
    }
}

async function pipeClient() {
    while (active()) {
        const client = pipe({plugins, state, config});
        client.send({jsonrpc: '2.0', id: 'i', method: 'initialize',
                     params: {protocolVersion: '2025-11-25', capabilities: {}, clientInfo: {name: 'soak', version: '1'}}});
        client.send({jsonrpc: '2.0', method: 'notifications/initialized'});
        const sent = new Map();
        for (let i = 0; i < 24; i++) {
            const message = request(i % 2 === 0);
            sent.set(message.id, message);
            client.send(message);
        }
        const status = await client.close();
        for (const line of client.lines) {
            const answer = JSON.parse(line);
            if (!answer.method && answer.id !== 'i') {
                if (!sent.has(answer.id)) {
                    problems.push(`a second answer, or one to nothing: ${line}`);
                } else {
                    judge(sent.get(answer.id), answer);
                    sent.delete(answer.id);
                }
            }
        }
        if (status !== 0 || sent.size > 0) {
            problems.push(`stdio ended with ${status}, ${sent.size} requests without an answer\n${client.child.errors}`);
        }
        count('processes over stdio');
    }
}

// -------------------------------------------------------------- what disturbs

async function disturbance() {
    const toolrack = async (...verb) => {
        const {status, errors} = await run(commandLine({plugins, state, config}, ...verb));
        if (status !== 0 && !errors.includes('is neither in quarantine')) {
            problems.push(`${verb.join(' ')}: ${errors}`);
        }
    };
    for (let round = 0; active(); round++) {
        await toolrack(round % 2 ? 'enable' : 'disable', 'greet');
        install(round % 2 ? 'claim-next.so' : 'claim.so');
        if (round % 8 === 3) {
            await post({'MCP-Protocol-Version': '2026-07-28'}, {
                jsonrpc: '2.0', id: ++serial, method: 'tools/call', params: {name: 'crash', arguments: {}, _meta: envelope()},
            });
            await toolrack('release', 'beyond');
            count('crashes');
        }
        count('disturbances');
        await sleep(500);
    }
    await toolrack('enable', 'greet');
}

const usage = () => ({memoryKiB: memoryKiB(server.child.pid), descriptors: descriptors(server.child.pid), threads: threads(server.child.pid)});

const idle = usage();
const clients = [disturbance(), leavingClient(), ...Array.from({length: 4}, statelessClient), ...Array.from({length: 3}, sessionClient),
                 pipeClient(), pipeClient()];
const finished = Promise.all(clients);
finished.catch(() => {}); // told below
let early;
await passes('every request is answered once', async () => {
    await Promise.race([finished, sleep(seconds * 1000 / 3)]);
    early = usage();
    await finished;
    assert.equal(problems.length, 0, problems.slice(0, 10).join('\n'));
});
const late = usage();
await passes('the server runs on', async () => {
    assert.equal(server.child.exitCode, null);
    assert.ok(counts['stateless requests over HTTP'] > 10 && counts['requests in sessions'] > 10 && counts['processes over stdio'] > 1,
              JSON.stringify(counts));
});
await passes('both builds of a plugin served', async () => {
    assert.ok(counts['claim 1'] > 0 && counts['claim 2'] > 0, JSON.stringify(counts));
});
await passes('descriptors and threads do not grow', async () => {
    // The clients keep some connections that they do not use.
    assert.ok(late.descriptors <= early.descriptors + 64, JSON.stringify({idle, early, late}));
    assert.ok(late.threads <= early.threads + 16, JSON.stringify({idle, early, late}));
});
await passes('memory does not grow', async () => {
    assert.ok(late.memoryKiB <= early.memoryKiB * 1.15 + 4096, JSON.stringify({idle, early, late}));
});
await passes('memory of large requests is given back', async () => {
    const text = 'x'.repeat(4 << 20);
    await Promise.all(Array.from({length: 64}, () => post({'MCP-Protocol-Version': '2026-07-28'}, {
        jsonrpc: '2.0', id: ++serial, method: 'tools/call', params: {name: 'measure', arguments: {text}, _meta: envelope()},
    })));
    const now = usage();
    note(`after large requests: ${now.memoryKiB} KiB`);
    assert.ok(now.memoryKiB <= late.memoryKiB + (96 << 10), JSON.stringify({late, now}));
});
await passes('the server ends at SIGTERM', async () => {
    assert.equal(await server.stop(), 0, server.child.errors);
});
note(JSON.stringify({seconds, counts, idle, early, late}, null, 1));
await finish();
