// The page and its back end on http://localhost:3000; a worker with the agent `support` runs beside it.
import { randomBytes } from 'node:crypto'

import { serve } from '@hono/node-server'
import { ThreadClient } from 'everthread/client'
import { rolldown } from 'rolldown'

import { createChatApp } from './chat-app.ts'

const bundle = await rolldown({
  input: new URL('page.tsx', import.meta.url).pathname,
  platform: 'browser',
  transform: { define: { 'process.env.NODE_ENV': '"production"' } },
})
const { output } = await bundle.generate({ format: 'esm' })

const app = createChatApp({
  threads: new ThreadClient(),
  agent: 'support',
  secret: process.env['COOKIE_SECRET'] ?? randomBytes(32).toString('hex'),
  // Yours looks a hash up.
  isPassword: (user, password) => ['ann', 'ben'].includes(user) && password === 'tent',
})
app.get('/page.js', ({ body }) => body(output[0].code, 200, { 'content-type': 'text/javascript' }))
app.get('/', ({ html }) =>
  html(
    '<!doctype html><title>Chat</title><div id="root"></div><script type="module" src="/page.js"></script>',
  ),
)
serve({ fetch: app.fetch, port: 3000, hostname: '127.0.0.1' })
console.log('http://localhost:3000: log in as ann or ben, with the password tent')
