// mount-https.mjs - MCP servers of the web, mounted: another toolrack, one with TLS whose authority only the
// configuration names, and what they learn of the caller.
import {execFileSync} from 'node:child_process';
import {readFileSync} from 'node:fs';
import {createServer} from 'node:https';
import {join} from 'node:path';
import {commandLine, finish, passes, run, serve, temporaryFolder} from './lib.mjs';

const folder = temporaryFolder();
const file = (name) => join(folder, name);
const openssl = (...words) => execFileSync('openssl', words, {stdio: 'ignore'});
openssl('req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-subj', '/CN=A test', '-days', '2', '-keyout', file('ca.key'), '-out', file('ca.pem'));
openssl('req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-subj', '/CN=localhost', '-days', '2', '-addext', 'subjectAltName=DNS:localhost',
        '-addext', 'basicConstraints=critical,CA:FALSE', '-CA', file('ca.pem'), '-CAkey', file('ca.key'), '-keyout', file('key.pem'), '-out', file('cert.pem'));

const seen = [];
const results = {
    'server/discover': {supportedVersions: ['2026-07-28'], capabilities: {tools: {}}},
    'tools/list': {tools: [{name: 'hello', description: 'Say hello', inputSchema: {type: 'object'}}]},
    'tools/call': {content: [{type: 'text', text: 'hello'}]},
};
const secure = createServer({key: readFileSync(file('key.pem')), cert: readFileSync(file('cert.pem'))}, async (request, response) => {
    let body = '';
    for await (const piece of request) {
        body += piece;
    }
    const {id, method} = JSON.parse(body);
    seen.push(JSON.stringify(request.headers) + body);
    response.setHeader('Content-Type', 'application/json');
    response.end(JSON.stringify({jsonrpc: '2.0', id, result: {resultType: 'complete', ...results[method]}}));
});
await new Promise((resolve) => secure.listen(0, '127.0.0.1', resolve));
const block = {url: `https://localhost:${secure.address().port}/mcp`, permission: 'safe'};

function expect(holds, what) {
    if (!holds) {
        throw new Error(typeof what === 'string' ? what : JSON.stringify(what));
    }
}

await passes('a toolrack is mounted by another one', async () => {
    const far = await serve({plugins: process.env.MCP_CONFORMANCE.split(':')});
    const config = {mcpServers: {far: {url: far.url, permission: 'safe'}}};
    const made = await run(commandLine({plugins: [], config}, 'call', 'far_test_simple_text'));
    expect(made.status === 0 && made.output.includes('simple text response'), made);
});
await passes('TLS is verified by the certificates that are named', async () => {
    const made = await run(commandLine({plugins: [], config: {mcpServers: {s: {...block, ca: file('ca.pem')}}}}, 'call', 's_hello'));
    expect(made.status === 0 && made.output === 'hello\n', made);
});
await passes('TLS of an unknown authority is refused', async () => {
    const before = seen.length;
    const made = await run(commandLine({plugins: [], config: {mcpServers: {s: block}}}, 'list', '--all'));
    expect(made.output.includes('can be named as "ca"') && seen.length === before, made);
});
await passes('the token of the caller is not passed on', async () => {
    const options = {plugins: [], config: {mcpServers: {s: {...block, ca: file('ca.pem')}}}, state: temporaryFolder()};
    const token = (await run(commandLine(options, 'token', 'add', 'ann'))).output.trim();
    expect(/^trk_\w/.test(token), token);
    const front = await serve(options);
    const before = seen.length;
    const response = await fetch(front.url, {
        method: 'POST',
        headers: {'Authorization': `Bearer ${token}`, 'Content-Type': 'application/json', 'Mcp-Method': 'tools/call', 'Mcp-Name': 's_hello',
                  'Accept': 'application/json, text/event-stream', 'MCP-Protocol-Version': '2026-07-28', 'Cookie': 'of-the-caller'},
        body: JSON.stringify({jsonrpc: '2.0', id: 1, method: 'tools/call', params: {name: 's_hello', arguments: {}, _meta: {
            'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {},
        }}}),
    });
    const text = await response.text();
    expect(text.includes('hello') && seen.length > before, text);
    expect(!seen.some((one) => one.includes(token) || one.includes('of-the-caller')), seen);
});
secure.closeAllConnections();
secure.close();
await finish();
