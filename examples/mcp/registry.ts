import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'

import { openai } from '@ai-sdk/openai'
import { agent, registry } from 'everthread'
import { mcpServer } from 'everthread/mcp'

/** Our own server, a program that each worker starts. Of its three tools, agents may call two, and a person approves one. */
const shed = mcpServer({
  name: 'shed',
  command: process.execPath,
  args: [fileURLToPath(new URL('shed-server.ts', import.meta.url))],
  tools: [
    { name: 'find_item', readOnly: true },
    { name: 'lend_item', needsApproval: true },
  ],
})

/** The example server of the MCP project. Of its many tools, agents may call one, under a name of ours. */
const everything = mcpServer({
  name: 'everything',
  command: process.execPath,
  args: [
    createRequire(import.meta.url).resolve('@modelcontextprotocol/server-everything/dist/index.js'),
    'stdio',
  ],
  tools: [{ name: 'get-sum', as: 'sum', description: 'Adds two numbers.', readOnly: true }],
  prefix: 'math_',
})

const keeper = agent({
  name: 'keeper',
  model: openai('gpt-5-mini'),
  instructions: 'You keep a shed of tools that neighbours borrow. Look before you lend. Be brief.',
  tools: { shed, everything },
})

/** An agent with the tools of two MCP servers. */
export const neighbours = registry({ agents: [keeper] })
