// mount-npm.mjs - the official servers from npm as plugins of toolrack: listed, called with all that a call
// can bring, killed, upgraded, ended when they are idle.
import assert from 'node:assert/strict';
import {cpSync, existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, symlinkSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {Client} from '@modelcontextprotocol/sdk/client/index.js';
import {StdioClientTransport} from '@modelcontextprotocol/sdk/client/stdio.js';
import {CreateMessageRequestSchema, ElicitRequestSchema} from '@modelcontextprotocol/sdk/types.js';
import {commandLine, finish, note, passes, patience, run, soon, temporaryFolder} from './lib.mjs';

const modules = realpathSync(join(process.env.NPM_BUILD, 'node_modules'));
const node = realpathSync(process.execPath);
const home = temporaryFolder();
const shared = join(home, 'shared');
const state = join(home, 'state');
mkdirSync(shared);
mkdirSync(state);

const reads = [`read:${modules}`, `read:${node}`];
const server = (file, ...args) => ({command: node, args: [file, ...args], permission: 'safe', allow: reads});
const official = (name, ...args) => server(join(modules, '@modelcontextprotocol', name, 'dist/index.js'), ...args);
const writing = (one) => ({...one, allow: [...reads, `read:${copy}`, `write:${shared}`]});

// A copy of the server for memory, which is upgraded later.
const copy = join(home, 'upgraded');
cpSync(join(modules, '@modelcontextprotocol/server-memory'), copy, {recursive: true});
if (!existsSync(join(copy, 'node_modules'))) {
    symlinkSync(modules, join(copy, 'node_modules'));
}

// A server that needs nothing but the interpreter, and starts a thread for each call.
const python = '/usr/bin/python3';
const threaded = join(home, 'threaded.py');
writeFileSync(threaded, `
import json, sys, threading
lock = threading.Lock()
def answer(id, **more):
    with lock:
        print(json.dumps({"jsonrpc": "2.0", "id": id, **more}), flush=True)
def call(id):
    answer(id, result={"content": [{"type": "text", "text": threading.current_thread().name}]})
for line in sys.stdin:
    request = json.loads(line)
    id, method = request.get("id"), request.get("method")
    if method == "initialize":
        answer(id, result={"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                           "serverInfo": {"name": "threaded", "version": "1.0.0"}})
    elif method == "tools/list":
        answer(id, result={"tools": [{"name": "who", "description": "Say which thread", "inputSchema": {"type": "object"}}]})
    elif method == "tools/call":
        threading.Thread(target=call, args=(id,), name="thread of a call").start()
    elif id is not None:
        answer(id, error={"code": -32601, "message": "unknown method"})
`);

const options = {plugins: [], state, config: {mcpServers: {
    everything: {...official('server-everything'), idle_ms: 1000},
    files: writing(official('server-filesystem', shared)),
    memory: {...writing(server(join(copy, 'dist/index.js'))), permission: 'confirm',
             env: {MEMORY_FILE_PATH: join(shared, 'memory.json')}},
    ...(existsSync(python) ? {python: {command: python, args: [threaded], permission: 'safe', allow: [`read:${threaded}`]}} : {}),
}}};

const asked = [];
const client = new Client({name: 'toolrack-tests', version: '1.0.0'}, {capabilities: {elicitation: {form: {}, url: {}}, sampling: {}}});
client.setRequestHandler(ElicitRequestSchema, ({params}) => {
    asked.push(params.message);
    return {action: 'accept', content: {name: 'Ann'}};
});
client.setRequestHandler(CreateMessageRequestSchema, () => (
    {role: 'assistant', model: 'test', stopReason: 'endTurn', content: {type: 'text', text: 'a word of the model'}}));
const [command, ...args] = commandLine(options, 'mcp');
const transport = new StdioClientTransport({command, args, env: process.env, stderr: 'ignore'});
await soon(client.connect(transport), 'the connection');

const is = (name, check) => passes(name, () => soon(check(), name));
const call = (name, given = {}, more = {}) => client.callTool({name, arguments: given}, undefined, more);
const text = ({content}) => content[0].text;
const toolrack = (...verb) => run(commandLine(options, ...verb));

/** The processes of a server, by a part of their command line. */
function processes(part) {
    return readdirSync('/proc').filter((pid) => /^\d+$/.test(pid)).filter((pid) => {
        try {
            return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ')[1] === String(transport.pid) &&
                   readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(part);
        } catch {
            return false; // it has ended meanwhile
        }
    });
}

// ---------------------------------------------------------------- everything

let tools = new Map();
await is('tools of all servers are listed', async () => {
    for (let cursor, first = true; first || cursor; first = false) {
        const page = await client.listTools(cursor ? {cursor} : {});
        page.tools.forEach((tool) => tools.set(tool.name, tool));
        cursor = page.nextCursor;
    }
    for (const name of ['everything_echo', 'files_read_text_file', 'memory_read_graph']) {
        assert.ok(tools.has(name), [...tools.keys()].join(' '));
    }
    assert.equal(tools.get('files_read_text_file').annotations.readOnlyHint, true);
    assert.equal(tools.get('files_write_file').annotations.destructiveHint, true);
});

const calls = {
    echo: [{message: 'hi'}, (result) => assert.equal(text(result), 'Echo: hi')],
    'get-annotated-message': [{messageType: 'error', includeImage: true}, ({content}) => {
        assert.deepEqual(content[0].annotations, {audience: ['user', 'assistant'], priority: 1});
        assert.equal(content[1].type, 'image');
    }],
    'get-env': [{}, (result) => assert.deepEqual(Object.keys(JSON.parse(text(result))).sort(), ['HOME', 'LANG', 'PATH'])],
    'get-resource-links': [{count: 2}, ({content}) => assert.equal(content[2].type, 'resource_link')],
    'get-resource-reference': [{resourceType: 'Text', resourceId: 1}, ({content}) =>
        assert.equal(content[1].resource.uri, 'demo://resource/dynamic/text/1')],
    'get-structured-content': [{location: 'New York'}, ({structuredContent}) =>
        assert.deepEqual(structuredContent, {temperature: 33, conditions: 'Cloudy', humidity: 82})],
    'get-sum': [{a: 1, b: 2}, (result) => assert.equal(text(result), 'The sum of 1 and 2 is 3.')],
    'get-tiny-image': [{}, ({content}) => assert.equal(content[1].mimeType, 'image/png')],
    'gzip-file-as-resource': [{name: 'x.gz', data: 'data:text/plain,hello'}, ({content}) =>
        assert.equal(content[0].mimeType, 'application/gzip')],
    'toggle-simulated-logging': [{}, (result) => assert.match(text(result), /^Started/)],
    'toggle-subscriber-updates': [{}, (result) => assert.match(text(result), /^Started/)],
    'trigger-elicitation-request': [{}, ({content}) => {
        assert.match(asked.at(-1), /^MCP server 'everything' asks: /);
        assert.match(content.map((block) => block.text).join(' '), /"name": "Ann"/);
    }],
    'trigger-sampling-request': [{prompt: 'say'}, (result) => assert.match(text(result), /a word of the model/)],
    'trigger-long-running-operation': [{duration: 0.2, steps: 2}, (result, seen) => {
        assert.match(text(result), /completed/);
        assert.deepEqual(seen[0], [1, 2]);
    }],
    'trigger-url-elicitation': [{url: 'https://example.com/'}, () =>
        assert.equal(asked.at(-1), "MCP server 'everything' asks: Please open the link to complete this action.")],
};
await is('each tool of everything is called here', async () => {
    const names = [...tools.keys()].filter((name) => name.startsWith('everything_')).map((name) => name.slice(11));
    assert.deepEqual(names.sort(), Object.keys(calls).sort());
});
for (const [name, [given, check]] of Object.entries(calls)) {
    await is(`everything: ${name}`, async () => {
        const seen = [];
        check(await call(`everything_${name}`, given, {onprogress: ({progress, total}) => seen.push([progress, total])}), seen);
    });
}

await is('everything: resources and prompts', async () => {
    const {resources} = await client.listResources();
    const {resourceTemplates} = await client.listResourceTemplates();
    const {prompts} = await client.listPrompts();
    assert.ok(resourceTemplates.some(({uriTemplate}) => uriTemplate === 'demo://resource/dynamic/text/{resourceId}'));
    assert.match((await client.readResource({uri: resources[0].uri})).contents[0].text, /Everything/);
    assert.match((await client.readResource({uri: 'demo://resource/dynamic/text/7'})).contents[0].text, /^Resource 7/);
    assert.ok(prompts.some(({name}) => name === 'everything_args-prompt'));
    const {messages} = await client.getPrompt({name: 'everything_args-prompt', arguments: {city: 'Rome'}});
    assert.match(messages[0].content.text, /Rome/);
    const {completion} = await client.complete({ref: {type: 'ref/prompt', name: 'everything_completable-prompt'},
                                                argument: {name: 'department', value: 'E'}});
    assert.deepEqual(completion.values, ['Engineering']);
});

await is('one that is killed fails its call, and the next call starts it again', async () => {
    const progress = {};
    const begun = new Promise((resolve) => { progress.onprogress = resolve; });
    const failing = call('everything_trigger-long-running-operation', {duration: 30, steps: 600}, progress);
    await begun;
    const [pid] = processes('server-everything');
    process.kill(Number(pid), 'SIGKILL');
    const result = await failing;
    assert.equal(result.isError, true);
    assert.match(text(result), /MCP server 'everything' was killed by signal 9/);
    assert.equal(text(await call('everything_echo', {message: 'again'})), 'Echo: again');
});

// ------------------------------------------------------------ files and memory

await is('filesystem: what it is allowed to, and no more', async () => {
    const path = join(shared, 'a.txt');
    await call('files_write_file', {path, content: 'hello'});
    assert.deepEqual((await call('files_read_text_file', {path})).structuredContent, {content: 'hello'});
    assert.match(text(await call('files_list_directory', {path: shared})), /a\.txt/);
    assert.equal((await call('files_read_text_file', {path: '/etc/passwd'})).isError, true);
});

if (tools.has('python_who')) {
    await is('a server in Python that starts threads', async () => {
        assert.equal(text(await call('python_who')), 'thread of a call');
    });
} else {
    note(`no server in Python was tried: there is no ${python}`);
}

await is('memory: a tool that says something else is held until it is approved', async () => {
    assert.equal((await toolrack('grant', 'memory_read_graph')).status, 0);
    assert.equal((await toolrack('call', 'memory_read_graph')).status, 0);
    const file = join(copy, 'dist/index.js');
    writeFileSync(file, readFileSync(file, 'utf8').replaceAll('Read the entire knowledge graph', 'Send the entire graph'));
    const reloaded = await toolrack('reload', 'mcp.memory');
    assert.equal(reloaded.status, 0, reloaded.errors);
    const held = await toolrack('call', 'memory_read_graph');
    assert.notEqual(held.status, 0);
    assert.match(held.errors, /description changed/);
    assert.equal((await toolrack('grant', 'memory_read_graph')).status, 0);
    const again = await toolrack('call', 'memory_read_graph');
    assert.equal(again.status, 0, again.errors);
});

await is('one that is idle ends, and the next call starts it', async () => {
    for (let i = 0; processes('server-everything').length > 0; i++) {
        assert.ok(i * 50 < patience, 'it runs on');
        await new Promise((resolve) => { setTimeout(resolve, 50); });
    }
    assert.equal(text(await call('everything_echo', {message: 'awake'})), 'Echo: awake');
});

await client.close();
await is('no server outlives toolrack', async () => {
    for (let i = 0; readdirSync('/proc').some((pid) => {
        try {
            return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(home);
        } catch {
            return false;
        }
    }); i++) {
        assert.ok(i * 50 < patience, 'one does');
        await new Promise((resolve) => { setTimeout(resolve, 50); });
    }
});
await finish();
