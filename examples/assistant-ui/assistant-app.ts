// The back end of examples/plain-page, with a page of assistant-ui: it is bundled once, with the packages of its own folder.
import { Hono } from 'hono'
import { rolldown } from 'rolldown'

import { createPageApp } from '../plain-page/page-app.ts'

// The composer stays where it is: a button that moves with the text is hard to hit.
const PAGE =
  '<!doctype html><html lang="en"><meta charset="utf-8" /><title>Chat</title><link rel="icon" href="data:," /><style>body { margin-bottom: 5rem } form:has([aria-label=Message]) { position: fixed; bottom: 0; padding: 1rem 0; background: #fff }</style><div id="root"></div><script type="module" src="/page.js"></script></html>'

export async function createAssistantApp(options: Parameters<typeof createPageApp>[0]) {
  const bundle = await rolldown({
    input: new URL('page/page.tsx', import.meta.url).pathname,
    platform: 'browser',
    // "use client", which means nothing here.
    onLog: (level, log, handler) => log.code === 'MODULE_LEVEL_DIRECTIVE' || handler(level, log),
    transform: { define: { 'process.env.NODE_ENV': '"production"' } },
  })
  const { output } = await bundle.generate({ format: 'esm' })
  const app = new Hono()
  app.get('/', ({ html }) => html(PAGE))
  app.get('/page.js', ({ body }) => body(output[0].code, 200, { 'content-type': 'text/javascript' }))
  // Visitors, and the routes of their threads.
  return app.route('/', createPageApp(options))
}
