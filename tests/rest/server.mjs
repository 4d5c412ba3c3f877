// server.mjs - `toolrack serve` with a state of its own, and a client that sends what no browser would.
import {execFileSync, spawn} from 'node:child_process';
import {appendFileSync, copyFileSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync} from 'node:fs';
import http from 'node:http';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {createInterface} from 'node:readline';

const patience = 30_000;
let count = 0;
let bad = 0;

/** A case: it passes if it does not throw. */
export async function passes(name, check) {
    count++;
    try {
        await check();
        console.log(`ok ${count} - ${name}`);
    } catch (error) {
        bad++;
        console.log(`not ok ${count} - ${name}\n${String(error.stack ?? error).replace(/^/gm, '# ')}`);
    }
}

/** A case that cannot be shown here. */
export function skips(name, why) {
    console.log(`ok ${++count} - ${name} # SKIP ${why}`);
}

const folder = mkdtempSync(join(tmpdir(), 'toolrack-rest-'));
let child;
const others = new Set();
process.on('exit', () => [child, ...others].forEach((one) => one?.kill('SIGKILL')));

export async function finish() {
    terminate();
    await ended();
    rmSync(folder, {recursive: true, force: true});
    console.log(`1..${count}`);
    process.exit(bad ? 1 : 0);
}

export function soon(promise, what) {
    let timer;
    const late = new Promise((resolve, reject) => {
        timer = setTimeout(() => reject(new Error(`waited in vain: ${what}`)), patience);
    });
    return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/** Arguments of the command with the state of the server. */
export const words = (...more) => [`--config=${files.config}`, '--state', files.state, ...plugins, ...more];
export const environment = {...process.env, HOME: folder};

/** The command with the state of the server; its output. */
export function command(...more) {
    return execFileSync(process.env.REST_TOOLRACK, words(...more), {encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'], env: environment});
}

/** A program that runs beside the server; `told` gets each line that it prints, and `noted` those for standard error. */
export function beside(program, arguments_, told, noted = (line) => console.log(`# ${line}`)) {
    const other = spawn(program, arguments_, {stdio: ['pipe', 'pipe', 'pipe'], env: environment});
    others.add(other);
    createInterface({input: other.stdout}).on('line', told);
    createInterface({input: other.stderr}).on('line', noted);
    const ended = new Promise((resolve) => other.once('close', (code, signal) => { others.delete(other); resolve(signal ?? code); }));
    return {write: (text) => other.stdin.write(text),
        end: () => { other.stdin.end(); return soon(ended, `the end of ${program}`); },
        stop: () => { other.kill('SIGTERM'); return soon(ended, `the end of ${program}`); }};
}

let plugins = [];
export let port;
export const socket = join(folder, 'socket');
export const files = {config: join(folder, 'config.json'), state: join(folder, 'state'), plugins: join(folder, 'plugins')};
export const database = join(files.state, 'toolrack.db');

/** The error that the command prints with --json. */
export function failure(...words) {
    try {
        command(...words);
    } catch (error) {
        return JSON.parse(error.stdout).error;
    }
    throw new Error(`${words.join(' ')} succeeds`);
}

/** What the server and the command have: a configuration, plugins of the tests by their names, and files in two folders that
 * are no plugins. */
export function prepare(config, names, broken = []) {
    writeFileSync(files.config, JSON.stringify(config));
    mkdirSync(files.plugins);
    names.forEach((name) => copyFileSync(join(process.env.REST_PLUGINS, `${name}.so`), join(files.plugins, `${name}.so`)));
    plugins = ['--plugins', files.plugins];
    if (broken.length > 0) {
        mkdirSync(join(folder, 'more'));
        broken.forEach((name) => ['plugins', 'more'].forEach((where) => writeFileSync(join(folder, where, `${name}.so`), 'no plugin')));
        plugins.push('--plugins', join(folder, 'more'));
    }
}

/** Give the file of a plugin another content that does the same. */
export const append = (name) => appendFileSync(join(files.plugins, `${name}.so`), '\0');

/** What the next server is configured with. */
export const configure = (config) => writeFileSync(join(folder, 'config.json'), JSON.stringify(config));

/** Give the file of a plugin the content of another one. */
export function exchange(name, other) {
    copyFileSync(join(process.env.REST_PLUGINS, `${other}.so`), join(folder, 'new'));
    renameSync(join(folder, 'new'), join(folder, 'plugins', `${name}.so`));
}

/** Ask it to end, and wait until it has ended. */
export const terminate = () => child.kill('SIGTERM');
export const ended = () => soon(new Promise((resolve) => child.exitCode !== null ? resolve() : child.once('exit', resolve)), 'the end of the server');

/** End it at once, as kill -9 does; start() may follow. */
export async function stop() {
    child.kill('SIGKILL');
    await soon(new Promise((resolve) => child.once('exit', resolve)), 'the end of the server');
}

/** Start the server at a port and a socket. */
export async function start() {
    child = spawn(process.env.REST_TOOLRACK, words('serve', '--listen', '127.0.0.1:0', '--socket', socket),
        {stdio: ['ignore', 'pipe', 'inherit'], env: environment});
    const lines = createInterface({input: child.stdout});
    let seen = 0;
    await soon(new Promise((resolve, reject) => {
        lines.on('line', (line) => {
            port = Number(/http:\/\/127\.0\.0\.1:(\d+)/.exec(line)?.[1] ?? port);
            if (++seen === 2) {
                resolve();
            }
        });
        child.once('exit', (code) => reject(new Error(`serve ended with ${code}`)));
    }), 'the lines that tell the addresses');
}

/** Send a request; `body` is sent as JSON unless it is a string. What comes back has status, headers, text and json. */
export function ask(method, path, {headers = {}, body, token, peer} = {}) {
    const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
    const all = {...(token ? {authorization: `Bearer ${token}`} : {}),
                 ...(text !== undefined ? {'content-type': 'application/json', 'content-length': Buffer.byteLength(text)} : {}), ...headers};
    for (const name of Object.keys(all).filter((one) => all[one] === undefined)) {
        delete all[name];
    }
    const where = peer ? {socketPath: socket} : {host: '127.0.0.1', port};
    return soon(new Promise((resolve, reject) => {
        const request = http.request({...where, method, path, headers: all, agent: false}, (response) => {
            const parts = [];
            response.on('data', (part) => parts.push(part));
            response.on('end', () => {
                const text = Buffer.concat(parts).toString();
                let json;
                try {
                    json = JSON.parse(text);
                } catch { /* none */ }
                resolve({status: response.statusCode, headers: response.headers, text, json});
            });
            response.on('error', reject);
        });
        request.on('error', reject);
        request.end(text);
    }), `${method} ${path}`);
}

/** An event stream: `next()` gives the next event with its id and data, or null at its end; `close()` leaves. */
export function listen(method, path, {headers = {}, token, peer, body} = {}) {
    const text = body === undefined ? undefined : JSON.stringify(body);
    const where = peer ? {socketPath: socket} : {host: '127.0.0.1', port};
    const waiting = [];
    const events = [];
    let ended = false;
    const wake = () => waiting.splice(0).forEach((one) => one());
    const request = http.request({...where, method, path, agent: false, headers: {accept: 'text/event-stream',
        ...(token ? {authorization: `Bearer ${token}`} : {}),
        ...(text !== undefined ? {'content-type': 'application/json', 'content-length': Buffer.byteLength(text)} : {}), ...headers}});
    const opened = new Promise((resolve, reject) => {
        request.on('error', (error) => ended ? null : reject(error));
        request.on('response', (response) => {
            let left = '';
            response.on('data', (part) => {
                left += part;
                for (let end; (end = left.indexOf('\n\n')) >= 0; left = left.slice(end + 2)) {
                    const event = {};
                    for (const line of left.slice(0, end).split('\n')) {
                        const [, key, value] = /^([^:]*):? ?(.*)$/.exec(line);
                        event[key] = value;
                    }
                    if (event.id !== undefined || event.data) {
                        events.push({...event, json: event.data ? JSON.parse(event.data) : undefined});
                    }
                }
                wake();
            });
            response.on('close', () => { ended = true; wake(); });
            response.on('error', () => { ended = true; wake(); });
            resolve(response);
        });
    });
    request.end(text);
    return {
        opened: () => soon(opened, `${method} ${path}`),
        next: async () => {
            await soon(opened, `${method} ${path}`);
            while (events.length === 0 && !ended) {
                await soon(new Promise((resolve) => waiting.push(resolve)), `an event of ${path}`);
            }
            return events.shift() ?? null;
        },
        close: () => { ended = true; request.destroy(); },
    };
}
