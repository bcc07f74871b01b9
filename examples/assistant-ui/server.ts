// The page and its back end on http://localhost:3000; a worker with the agent `support` runs beside it.
import { randomBytes } from 'node:crypto'

import { serve } from '@hono/node-server'
import { ThreadClient } from 'everthread/client'

import { createAssistantApp } from './assistant-app.ts'

const { fetch } = await createAssistantApp({
  threads: new ThreadClient(),
  agent: 'support',
  // A new one at each start ends the threads of all visitors' cookies: keep yours.
  secret: process.env['PAGE_SECRET'] ?? randomBytes(32).toString('hex'),
})
serve({ fetch, port: 3000, hostname: '127.0.0.1' })
console.log('http://localhost:3000')
