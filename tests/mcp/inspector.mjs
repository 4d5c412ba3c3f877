// inspector.mjs - the official inspector, without its window: it lists and calls the bundled plugins in
// both eras over both transports, and finds nothing in their schemas that other providers reject.
import assert from 'node:assert/strict';
import {chmodSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {commandLine, finish, passes, run, serve, temporaryFolder} from './lib.mjs';

const inspector = new URL('../node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js', import.meta.url);
const plugins = process.env.MCP_BUNDLED.split(':');

// The inspector reads the options of a command as its own, and gives it no environment: a script needs none.
function script() {
    const file = join(temporaryFolder(), 'toolrack-mcp');
    const words = commandLine({plugins}, 'mcp').map((word) => `'${word}'`);
    writeFileSync(file, `#!/bin/sh\nTOOLRACK_WORKER='${process.env.TOOLRACK_WORKER}' exec ${words.join(' ')}\n`);
    chmodSync(file, 0o755);
    return file;
}

async function inspect(target, era, ...options) {
    const {status, output, errors} = await run([process.execPath, inspector.pathname, '--cli', ...target, '--protocol-era', era,
                                                '--format', 'json', ...options]);
    assert.equal(status, 0, `exit status ${status}\n${errors}\n${output}`);
    return JSON.parse(output);
}

const server = await serve({plugins});
for (const [transport, target] of [['stdio', [script()]], ['HTTP', ['--server-url', server.url, '--transport', 'http']]]) {
    for (const era of ['legacy', 'modern']) {
        await passes(`${transport}, ${era}: tools/list --strict`, async () => {
            const {result} = await inspect(target, era, '--method', 'tools/list', '--strict');
            const names = result.tools.map(({name}) => name);
            for (const name of ['calculator', 'currency_convert', 'get_current_time', 'sequentialthinking', 'text_search']) {
                assert.ok(names.includes(name), `no ${name} in ${names}`);
            }
        });
        await passes(`${transport}, ${era}: tools/call`, async () => {
            const {result} = await inspect(target, era, '--method', 'tools/call', '--tool-name', 'calculator',
                                           '--tool-args-json', '{"expression": "6 * 7"}');
            assert.equal(result.isError ?? false, false);
            assert.match(JSON.stringify(result), /42/);
        });
    }
}
await finish();
