import { pathToFileURL } from 'node:url'

import { createOpenAICompatible } from '@ai-sdk/openai-compatible'

import { defineAgent, defineModel, definePrompt, registry } from '../../../src/index.js'
import { mcpServer } from '../../../src/mcp/index.js'
import type { WorkerPlace } from './run-worker.js'

const EVERYTHING = pathToFileURL('node_modules/@modelcontextprotocol/server-everything/dist/index.js').href

/** A clerk with the tools of two MCP servers: one of the test's own process, and a program that writes down its process ids. */
export function mcpDesk({ modelUrl, effects, mcpUrl = '', mcpRedirectUrl: redirectUrl }: WorkerPlace) {
  const provider = createOpenAICompatible({ name: 'mock', baseURL: modelUrl, apiKey: 'none' })
  const code = `require('node:fs').appendFileSync(${JSON.stringify(`${effects}.pids`)}, process.pid + '\\n'); void import('${EVERYTHING}')`
  const web = mcpServer({
    ...{ name: 'web', url: mcpUrl },
    ...(redirectUrl !== undefined && { oauth: { redirectUrl, allow: ['127.0.0.1'] } }),
    tools: ['book', { name: 'charge', idempotent: true }, 'cut', 'bake'],
  })
  const program = mcpServer({
    ...{ name: 'program', command: process.execPath, args: ['-e', code, '--', 'server', 'stdio'] },
    tools: ['trigger-long-running-operation'],
    prefix: 'demo_',
  })
  return registry({
    models: [defineModel({ name: 'chat', provider, model: 'mock' })],
    prompts: [
      definePrompt({
        name: 'clerk',
        toolDescription: 'Answers people',
        prompt: 'You are the clerk.',
        model: 'chat',
        includeChat: true,
        includePastTools: true,
        toolSources: [web, program],
      }),
    ],
    agents: [defineAgent({ name: 'clerk', sideA: { prompt: 'clerk' } })],
  })
}
