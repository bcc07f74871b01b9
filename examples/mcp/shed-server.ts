// A small MCP server of ours: a shed that lends its tools. `npx node examples/mcp/shed-server.ts` speaks MCP on its standard streams.
import { acceptedContent, inputRequired, McpServer } from '@modelcontextprotocol/server'
import type { CallToolResult } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { z } from 'zod'

const shelf = new Map([
  ['drill', 3],
  ['ladder', 2],
])

const days = { type: 'integer' as const, minimum: 1, maximum: 14, title: 'Days' }

function says(text: string, isError = false): CallToolResult {
  return { content: [{ type: 'text', text }], isError }
}

function makeServer(): McpServer {
  const server = new McpServer({ name: 'shed', version: '1' }, { capabilities: { tools: {} } })
  server.registerTool(
    'find_item',
    { description: 'Says how many of an item are in the shed.', inputSchema: z.object({ item: z.string() }) },
    ({ item }) => says(`There are ${shelf.get(item) ?? 0} of "${item}".`),
  )
  server.registerTool(
    'lend_item',
    { description: 'Lends an item to the person.', inputSchema: z.object({ item: z.string() }) },
    ({ item }, context) => {
      const left = shelf.get(item) ?? 0
      if (left === 0) return says(`There is no "${item}" left.`, true)
      const responses = context.mcpReq.inputResponses
      // The call goes on when a person has answered, which may be tomorrow.
      if (responses === undefined)
        return inputRequired({
          inputRequests: {
            loan: inputRequired.elicit({
              message: `For how many days do you need the ${item}?`,
              requestedSchema: { type: 'object', properties: { days }, required: ['days'] },
            }),
          },
        })
      const loan = acceptedContent<{ days: number }>(responses, 'loan')
      if (loan === undefined) return says('Nothing was lent.')
      shelf.set(item, left - 1)
      return says(`The ${item} is lent for ${loan.days} days.`)
    },
  )
  // Agents do not get this one: it is not in the list of the registry.
  server.registerTool('empty_shed', { description: 'Throws everything away.' }, () => {
    shelf.clear()
    return says('The shed is empty.')
  })
  return server
}

serveStdio(makeServer)
