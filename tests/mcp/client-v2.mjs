// client-v2.mjs - the official TypeScript client, version 2, in both eras.
import {Client, StreamableHTTPClientTransport} from '@modelcontextprotocol/client';
import {StdioClientTransport} from '@modelcontextprotocol/client/stdio';
import {answers, capabilities, run} from './client.mjs';

await run('v2', ['handshake', 'stateless', 'auto'], {
    async connect(era, {url, command, args}) {
        const modes = {handshake: 'legacy', stateless: {pin: '2026-07-28'}, auto: 'auto'};
        const client = new Client({name: 'toolrack-tests', version: '1.0.0'},
                                  {capabilities, versionNegotiation: {mode: modes[era]}});
        client.setRequestHandler('elicitation/create', ({params}) => answers.elicit(params));
        client.setRequestHandler('sampling/createMessage', ({params}) => answers.sample(params));
        client.setRequestHandler('roots/list', () => answers.roots());
        await client.connect(url ? new StreamableHTTPClientTransport(url)
                                 : new StdioClientTransport({command, args, env: process.env, stderr: 'ignore'}));
        const wanted = era === 'handshake' ? 'legacy' : 'modern';
        if (client.getProtocolEra() !== wanted) {
            throw new Error(`the era is ${client.getProtocolEra()}, not ${wanted}`);
        }
        return client;
    },
    call: (client, name, args, options) => client.callTool({name, arguments: args}, options),
    on: (client, name, handle) => client.setNotificationHandler(`notifications/${name}`, handle),
    async subscribe(client, filter) {
        if (client.getProtocolEra() === 'modern') {
            const subscription = await client.listen(filter);
            return () => subscription.close();
        }
        for (const uri of filter.resourceSubscriptions ?? []) {
            await client.subscribeResource({uri});
        }
        return async () => {
            for (const uri of filter.resourceSubscriptions ?? []) {
                await client.unsubscribeResource({uri});
            }
        };
    },
});
