// client-v1.mjs - the official TypeScript client, version 1, which knows the handshake era only.
import {Client} from '@modelcontextprotocol/sdk/client/index.js';
import {StdioClientTransport} from '@modelcontextprotocol/sdk/client/stdio.js';
import {StreamableHTTPClientTransport} from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
    CreateMessageRequestSchema, ElicitRequestSchema, ListRootsRequestSchema, ResourceUpdatedNotificationSchema,
    ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import {answers, capabilities, run} from './client.mjs';

const notifications = {
    'resources/updated': ResourceUpdatedNotificationSchema, 'tools/list_changed': ToolListChangedNotificationSchema,
};

await run('v1', ['handshake'], {
    async connect(era, {url, command, args}) {
        const client = new Client({name: 'toolrack-tests', version: '1.0.0'}, {capabilities});
        client.setRequestHandler(ElicitRequestSchema, ({params}) => answers.elicit(params));
        client.setRequestHandler(CreateMessageRequestSchema, ({params}) => answers.sample(params));
        client.setRequestHandler(ListRootsRequestSchema, () => answers.roots());
        await client.connect(url ? new StreamableHTTPClientTransport(url)
                                 : new StdioClientTransport({command, args, env: process.env, stderr: 'ignore'}));
        return client;
    },
    call: (client, name, args, options) => client.callTool({name, arguments: args}, undefined, options),
    on: (client, name, handle) => client.setNotificationHandler(notifications[name], handle),
    async subscribe(client, {resourceSubscriptions = []}) {
        for (const uri of resourceSubscriptions) {
            await client.subscribeResource({uri});
        }
        return async () => {
            for (const uri of resourceSubscriptions) {
                await client.unsubscribeResource({uri});
            }
        };
    },
});
