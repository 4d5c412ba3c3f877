// The tool `echo` on the official TypeScript SDK, version 2: stdio, or http, where it prints its address.
import {createServer} from 'node:http';
import {toNodeHandler} from '@modelcontextprotocol/node';
import {createMcpHandler, McpServer} from '@modelcontextprotocol/server';
import {serveStdio} from '@modelcontextprotocol/server/stdio';
import {z} from 'zod';

function make() {
    const server = new McpServer({name: 'bench', version: '1.0.0'}, {capabilities: {tools: {}}});
    server.registerTool('echo', {description: 'Give back the message', inputSchema: z.object({message: z.string()})},
                        async ({message}) => ({content: [{type: 'text', text: message}]}));
    return server;
}

if (process.argv[2] === 'http') {
    const server = createServer(toNodeHandler(createMcpHandler(make)));
    server.listen(0, '127.0.0.1', () => console.log(`listening on http://127.0.0.1:${server.address().port}`));
} else {
    serveStdio(make);
}
