// lib.mjs - what the tests of MCP share: cases in TAP, servers with a state of their own, JSON-RPC
// as it is on the wire.
import {spawn} from 'node:child_process';
import {existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {createInterface} from 'node:readline';

// Long enough for a machine under load: what waits this long is stuck.
export const patience = 30_000;

// --------------------------------------------------------------------- cases

let count = 0;
let bad = 0;
const comment = (text) => String(text).replace(/^/gm, '# ');

// The rows of a table beside the tests that begin with a word, without it.
export function rows(file, word) {
    const lines = readFileSync(join(process.env.MCP_SOURCE, file), 'utf8').split('\n');
    return lines.filter((line) => line.trim() && line[0] !== '#').map((line) => line.trim().split(/\s+/))
                .filter((row) => row[0] === word).map((row) => row.slice(1));
}

// ---------------------------------------------------------- the conformance suite

const words = (check) => `${check.status} ${check.id}: ${check.errorMessage ?? check.description}`;

/** What is wrong with a scenario, in the words of its checks; nothing if it is as expected. */
export function judge(checks, count, skips, allowed) {
    if (!checks) {
        return 'the suite has no such scenario any more, or did not get that far';
    }
    const skipped = checks.filter((check) => check.status === 'SKIPPED');
    const failing = checks.filter((check) => ['FAILURE', 'WARNING'].includes(check.status));
    failing.push(...(skipped.length === skips ? [] : skipped));
    const counted = checks.filter((check) => ['SUCCESS', 'FAILURE'].includes(check.status));
    const problems = failing.filter((check) => !allowed.includes(check.id)).map(words);
    problems.push(...allowed.filter((id) => !failing.some((check) => check.id === id))
                            .map((id) => `${id} is in the list of failures, but does not fail`));
    if (skipped.length < skips) {
        problems.push(`${skipped.length} checks were skipped, not ${skips}`);
    }
    if (allowed.length === 0 && counted.length !== count) {
        problems.push(`${counted.length} checks ran, not ${count}`);
    }
    return problems.join('\n');
}

let known = [];
/** Cases whose names end so are known to fail: they pass if they fail. */
export function knownToFail(names) {
    known = names;
}

export function report(name, problem) {
    if (known.some((one) => name.endsWith(`: ${one}`))) {
        problem = problem ? '' : 'this is in the list of failures, but does not fail';
    }
    count++;
    bad += problem ? 1 : 0;
    console.log(`${problem ? 'not ok' : 'ok'} ${count} - ${name.replaceAll('#', '')}`);
    if (problem) {
        console.log(comment(problem));
    }
}

/** Run a case: it passes if it does not throw. */
export async function passes(name, check) {
    try {
        await check();
        report(name);
    } catch (error) {
        report(name, error.stack ?? error);
    }
}

/** Print the plan and end. */
export async function finish() {
    for (const undo of undos.reverse()) {
        await undo();
    }
    console.log(`1..${count}`);
    process.exit(bad ? 1 : 0);
}

export function note(text) {
    console.log(comment(text));
}

/** A promise that fails when it takes too long. */
export function soon(promise, what, ms = patience) {
    let timer;
    const late = new Promise((resolve, reject) => {
        timer = setTimeout(() => reject(new Error(`waited ${ms} ms in vain: ${what}`)), ms);
    });
    return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

// ------------------------------------------------------------------- servers

const undos = [];
const running = new Set();
// No server outlives the test, whatever ends it.
process.on('exit', () => running.forEach((child) => child.kill('SIGKILL')));

/** A folder that goes away with the test. */
export function temporaryFolder() {
    const folder = mkdtempSync(join(tmpdir(), 'toolrack-mcp-'));
    undos.push(() => rmSync(folder, {recursive: true, force: true}));
    return folder;
}

// Programs that write into their home have one.
const environment = {...process.env, HOME: temporaryFolder()};

/** The command line of toolrack with these plugins, a state of its own and the configuration. */
export function commandLine({plugins, config = {}, state = temporaryFolder()}, ...verb) {
    const file = join(state, 'config.json');
    if (!existsSync(file)) { // others of the same state may be reading
        writeFileSync(file, JSON.stringify(config));
    }
    const folders = plugins.flatMap((folder) => ['--plugins', folder]);
    return [process.env.MCP_TOOLRACK, `--config=${file}`, '--state', state, ...folders, ...verb];
}

function start(command, stdio) {
    const child = spawn(command[0], command.slice(1), {stdio, env: environment});
    running.add(child);
    // "exit" may come before what the process wrote was read.
    child.ended = new Promise((resolve) => child.once('close', (code, signal) => {
        running.delete(child);
        resolve(signal ?? code);
    }));
    child.errors = '';
    child.stderr?.on('data', (data) => { child.errors += data; });
    return child;
}

/** Run a command to its end. */
export async function run(command) {
    const child = start(command, ['ignore', 'pipe', 'pipe']);
    let output = '';
    child.stdout.on('data', (data) => { output += data; });
    const status = await soon(new Promise((resolve) => child.once('close', () => resolve(child.exitCode))), command.join(' '));
    return {status, output, errors: child.errors};
}

/** `toolrack serve` on a free port; its URL says localhost, which the suite demands. */
export async function serve(options) {
    const child = start(commandLine(options, 'serve', '--listen', '127.0.0.1:0',
                                    ...(options.serve ?? [])), ['ignore', 'pipe', 'pipe']);
    const lines = createInterface({input: child.stdout});
    const ready = new Promise((resolve, reject) => {
        lines.once('line', resolve);
        child.ended.then((end) => reject(new Error(`serve ended with ${end}: ${child.errors}`)));
    });
    const line = await soon(ready, 'the line that tells the address');
    const address = /^listening on http:\/\/127\.0\.0\.1:(\d+)$/.exec(line);
    if (!address) {
        throw new Error(`serve printed "${line}"`);
    }
    const stop = async () => {
        child.kill('SIGTERM');
        return soon(child.ended, 'the end of the server');
    };
    undos.push(() => child.exitCode ?? child.signalCode ?? stop());
    return {child, port: Number(address[1]), url: `http://localhost:${address[1]}/mcp`, stop};
}


// ------------------------------------------------------- numbers of a process

const statusLine = (pid, name) =>
    Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]);
export const memoryKiB = (pid) => statusLine(pid, 'VmRSS');
export const threads = (pid) => statusLine(pid, 'Threads');
export const descriptors = (pid) => readdirSync(`/proc/${pid}/fd`).length;

// -------------------------------------------------------------------- JSON-RPC

/** The members of `_meta` that each request of 2026-07-28 has. */
export const envelope = (capabilities = {}, more = {}) => ({
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': capabilities,
    'io.modelcontextprotocol/clientInfo': {name: 'toolrack-tests', version: '1.0.0'},
    ...more,
});

/** The data of an event stream, one event after the other. */
export async function* events(body) {
    const decoder = new TextDecoder();
    let text = '';
    for await (const chunk of body) {
        text += decoder.decode(chunk, {stream: true});
        for (let end; (end = text.indexOf('\n\n')) >= 0; text = text.slice(end + 2)) {
            const event = {data: '', comment: false};
            for (const line of text.slice(0, end).split('\n')) {
                const [, key, value] = /^([^:]*):? ?(.*)$/.exec(line);
                if (key === '') {
                    event.comment = true;
                } else if (key === 'data') {
                    event.data += value;
                } else {
                    event[key] = value;
                }
            }
            yield event;
        }
    }
}

/** A client at the pipe of `toolrack mcp` that sends and receives lines. */
export function pipe(options) {
    const child = start(commandLine(options, 'mcp', ...(options.mcp ?? [])), ['pipe', 'pipe', 'pipe']);
    const lines = [];
    let wake = () => {};
    createInterface({input: child.stdout}).on('line', (line) => {
        lines.push(line);
        wake();
    });
    child.ended.then(() => wake());
    child.stdin.on('error', () => {}); // the end of the process tells more
    return {
        child, lines,
        write: (text) => child.stdin.write(text),
        send: (message) => child.stdin.write(`${JSON.stringify(message)}\n`),
        /** Resolves when there is another line, or the process has ended. */
        more: () => new Promise((resolve) => { wake = resolve; }),
        /** End of input: the exit status. */
        close: () => {
            child.stdin.end();
            return soon(child.ended, 'the end of the process at end of input');
        },
    };
}
