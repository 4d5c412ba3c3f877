// servers.mjs - the MCP reference servers and toolrack with the plugins that have their tools, over stdio.
import {spawn} from 'node:child_process';
import {mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {createInterface} from 'node:readline';

// Long enough for a machine under load: what waits this long is stuck.
const patience = 30_000;
const running = new Set();
process.on('exit', () => running.forEach((child) => child.kill('SIGKILL')));

/** A folder for the test, which goes away with it. Its path has no symbolic links. */
export const scratch = realpathSync(mkdtempSync(join(tmpdir(), 'toolrack-reference-')));
process.on('exit', () => rmSync(scratch, {recursive: true, force: true}));

export function folder(...names) {
    const path = join(scratch, ...names);
    mkdirSync(path, {recursive: true});
    return path;
}

/** A client of one server. Requests may be sent before the answers to others have come. */
export class Server {
    constructor(command, environment = {}) {
        this.child = spawn(command[0], command.slice(1), {
            stdio: ['pipe', 'pipe', 'pipe'], env: {...process.env, TZ: 'UTC', ...environment}});
        running.add(this.child);
        this.ended = new Promise((resolve) => this.child.once('close', (code, signal) => {
            running.delete(this.child);
            this.waiting.forEach(({reject}) => reject(new Error(`${command.join(' ')} ended with ${signal ?? code}: ${this.errors}`)));
            resolve(signal ?? code);
        }));
        this.waiting = new Map();
        this.last = 0;
        this.errors = '';
        this.child.stderr.on('data', (data) => { this.errors = (this.errors + data).slice(-4000); });
        this.lines = createInterface({input: this.child.stdout}).on('line', (line) => this.raw ?? this.take(JSON.parse(line)));
        this.child.stdout.on('data', (data) => this.raw?.(data)); // of who reads bytes, such as a benchmark
    }

    take(message) {
        const asked = this.waiting.get(message.id);
        if (asked && !message.method) {
            this.waiting.delete(message.id);
            clearTimeout(asked.timer);
            message.error ? asked.reject(new Error(JSON.stringify(message.error))) : asked.resolve(message.result);
        }
    }

    send(message) {
        this.child.stdin.write(JSON.stringify({jsonrpc: '2.0', ...message}) + '\n');
    }

    request(method, params) {
        const id = ++this.last;
        return new Promise((resolve, reject) => {
            const timer = setTimeout(() => reject(new Error(`no answer to ${method} ${JSON.stringify(params)}: ${this.errors}`)), patience);
            this.waiting.set(id, {resolve, reject, timer});
            this.send({id, method, params});
        });
    }

    async begin() {
        await this.request('initialize', {protocolVersion: '2025-06-18', capabilities: {}, clientInfo: {name: 'tests', version: '1'}});
        this.send({method: 'notifications/initialized'});
        return this;
    }

    call(name, args) {
        return this.request('tools/call', {name, arguments: args});
    }

    async end() {
        this.child.stdin.end();
        await this.ended;
    }
}

/** A reference server by the name of its package. */
export function reference(name, args = [], environment = {}) {
    const path = join('node_modules/@modelcontextprotocol', name);
    const {bin} = JSON.parse(readFileSync(join(path, 'package.json'), 'utf8'));
    return new Server([process.execPath, join(path, Object.values(bin)[0]), ...args], {DISABLE_THOUGHT_LOGGING: 'true', ...environment}).begin();
}

let states = 0;

/** The command line of toolrack with the bundled plugins and a state of its own. `more` is configuration. */
export function command(more, ...verb) {
    const state = folder(`state-${states++}`);
    const file = join(state, 'config.json');
    writeFileSync(file, JSON.stringify(more));
    return [process.env.REFERENCE_TOOLRACK, '--config', file, '--state', state, '--plugins', process.env.REFERENCE_PLUGINS, ...verb];
}

const writing = ['write_file', 'edit_file', 'create_directory', 'move_file', 'delete_entities', 'delete_observations', 'delete_relations'];

/** The configuration that grants a workspace, `allow` of it to the plugins, and the tools that ask a person. */
export function configuration(workspace, allow = {filesystem: ['read', 'write'], memory: ['write']}) {
    return {
        paths: {workspace}, grants: writing,
        policies: Object.fromEntries(Object.entries(allow).map(([plugin, words]) => [plugin, {allow: words}])),
    };
}

/** `toolrack mcp`, whose plugins have their private folders in the scratch folder. */
export function ours(config) {
    return new Server(command(config, 'mcp'), {HOME: folder('home'), XDG_DATA_HOME: folder('home', 'data')}).begin();
}

// --------------------------------------------------------------------- cases

let count = 0;
let bad = 0;

export async function passes(name, check) {
    let problem;
    try {
        await check();
    } catch (error) {
        problem = error.stack ?? String(error);
        bad++;
    }
    console.log(`${problem ? 'not ok' : 'ok'} ${++count} - ${name.replaceAll('#', '')}`);
    if (problem) {
        console.log(problem.replace(/^/gm, '# '));
    }
}

export function skip(name, reason) {
    console.log(`ok ${++count} - ${name} # SKIP ${reason}`);
}

export function finish() {
    console.log(`1..${count}`);
    process.exit(bad ? 1 : 0);
}
